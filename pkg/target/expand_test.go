package target_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/target"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func accountScope() ref.Scope { return ref.Scope{Account: "acme"} }

func project() ref.Scope { return ref.Scope{Account: "acme", Org: "o", Project: "p"} }

// saved is a store with documents.
func saved(t *testing.T, documents string) store.Store {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for doc := range strings.SplitSeq(documents, "---\n") {
		saveIn(t, s.Store, project(), doc)
	}
	return s.Store
}

func saveIn(t *testing.T, s store.Store, scope ref.Scope, doc string) {
	t.Helper()
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	c := catalog.New(catalog.Config{Store: s, Secret: secret.New(key, s, time.Now), Options: builtin.Options(ref.Scope{}), Now: time.Now})
	d := catalog.Draft{Scope: scope, YAML: []byte(doc), Version: catalog.AnyVersion}
	if _, err := c.Save(t.Context(), d, audit.Author{Actor: "me"}); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
}

// pipelineOf is a pipeline's document below its root key, decoded.
func pipelineOf(t *testing.T, doc string) *entity.Pipeline {
	t.Helper()
	return entity.DecodePart(ref.Pipeline, parsed(t, doc), yamldoc.NewReport(""), entity.Options{Scope: project(), Types: builtin.Types()}).Pipeline
}

// deploying is what a Deployment stage's spec says.
func deploying(t *testing.T, spec string) *entity.Deployment {
	t.Helper()
	return pipelineOf(t, "{stages: [{stage: {identifier: s, name: S, type: Deployment, spec: "+spec+"}}]}").Stages.Items[0].Stage.Deployment
}

func parsed(t *testing.T, doc string) *yamldoc.Node {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte(doc))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return docs[0]
}

// town has two services, and two infrastructures in one environment.
const town = `service: {identifier: a, name: a, serviceDefinition: {type: Kubernetes, spec: {}}}
---
service: {identifier: b, name: b, tags: {tier: gold}, serviceDefinition: {type: Kubernetes, spec: {}}}
---
environment: {identifier: e, name: e, type: Production, tags: {where: west}}
---
environment: {identifier: f, name: f, type: Production}
---
environmentGroup: {identifier: g, name: The group, envIdentifiers: [e]}
---
infrastructureDefinition: {identifier: x, name: x, environmentRef: e, deploymentType: Kubernetes, type: KubernetesDirect, tags: {tier: gold, region: eu}, spec: {connectorRef: c, namespace: n, releaseName: r}}
---
infrastructureDefinition: {identifier: y, name: y, environmentRef: e, deploymentType: Kubernetes, type: KubernetesDirect, tags: {tier: gold}, scopedServices: [a], spec: {connectorRef: c, namespace: n, releaseName: r}}
---
infrastructureDefinition: {identifier: z, name: z, environmentRef: e, deploymentType: NativeHelm, type: KubernetesDirect, spec: {connectorRef: c, namespace: n, releaseName: r}}
`

// expand makes the plan of a stage and expands it.
func expand(ctx context.Context, t *testing.T, s store.Store, spec string) (plan.Iterations, error) {
	t.Helper()
	return expandAs(ctx, t, s, "Kubernetes", spec)
}

// expandAs does it for a deployment type.
func expandAs(ctx context.Context, t *testing.T, s store.Store, typ, spec string) (plan.Iterations, error) {
	t.Helper()
	doc := pipelineOf(t, fmt.Sprintf("{identifier: p, name: p, stages: [{stage: {identifier: s, name: S, type: Deployment, spec: {deploymentType: %s, %s, execution: {steps: []}}}}]}", typ, spec))
	r := target.Reader{Types: builtin.Types(), Entities: s, Scope: project()}
	d, err := r.Plan(ctx, doc.Stages.Items[0].Stage.Deployment, nil)
	if err != nil {
		return plan.Iterations{}, err
	}
	p, err := planning.Build(planning.Source{Pipeline: doc, Deployments: map[string]*plan.Deployment{"s": d}})
	if err != nil {
		t.Fatal(err)
	}
	loop := p.Root.Children[0]
	if loop.Kind != plan.KindLoop {
		t.Fatalf("the stage isn't repeated: %+v", loop)
	}
	return expanded(ctx, resolve.Config{
		Types: builtin.Types(), Context: ctx, Plan: p, Node: loop, Entities: s, Execution: store.Execution{Scope: project()},
		State: func(plan.NodeID) plan.State { return plan.State{} }, Now: time.Unix(0, 0),
	})
}

// semantics/entities §5.2 and §5.3: which deployments a stage has, in which
// order and in which waves.
func TestExpand(t *testing.T) {
	t.Parallel()
	s := saved(t, town)
	const services = "services: {metadata: {parallel: %v}, values: [{serviceRef: a}, {serviceRef: b}]}"
	const places = "environments: {metadata: {parallel: %v}, values: [{environmentRef: e, infrastructureDefinitions: [{identifier: x}, {identifier: y}]}]}"
	filter := func(spec string) string {
		return "service: {serviceRef: b}, environment: {environmentRef: e, filters: [{identifier: f, entities: [infrastructures], " + spec + "}]}"
	}
	tests := []struct{ name, spec, want string }{
		{"all at once", fmt.Sprintf(services+", "+places, true, true), "0 a-x, 0 b-x, 0 a-y, 0 b-y"},
		{"for each infrastructure, all services at once", fmt.Sprintf(services+", "+places, true, false), "0 a-x, 0 b-x, 1 a-y, 1 b-y"},
		{"for each service, all infrastructures at once", fmt.Sprintf(services+", "+places, false, true), "lined 0 a-x, 0 a-y, 1 b-x, 1 b-y"},
		{"one after the other", fmt.Sprintf(services+", "+places, false, false), "lined 0 a-x, 1 b-x, 2 a-y, 3 b-y"},
		{"RunAll stops nothing", fmt.Sprintf(services+", "+places, false, false) + ", multiDeploymentConfig: {onFailure: RunAll, maxConcurrency: 3}", "3 at a time 0 a-x, 1 b-x, 2 a-y, 3 b-y"},
		{"its condition is false", fmt.Sprintf(services+", "+places, true, true) + ", multiDeploymentConfig: {when: '1 == 2'}", ""},
		{"all of the stage's type that take the service", fmt.Sprintf(services, true) + ", environment: {environmentRef: e, deployToAll: true}", "0 a-x, 0 b-x, 1 a-y"},
		{"a group", "service: {serviceRef: a}, environmentGroup: {envGroupRef: g, deployToAll: true}", "lined 0 a-x, 1 a-y"},
		{"some of a group", "service: {serviceRef: a}, environmentGroup: {envGroupRef: g, environments: [{environmentRef: e, infrastructureDefinitions: [{identifier: y}]}]}", "lined 0 a-y"},
		{"environments by their tags", "service: {serviceRef: a}, environments: {filters: [{identifier: f, type: tags, entities: [environments], spec: {matchType: all, tags: {where: ''}}}]}", "lined 0 a-x, 1 a-y"},
		{"all tags", filter("type: tags, spec: {matchType: all, tags: {tier: gold, region: eu}}"), "lined 0 b-x"},
		{"any tag", strings.Replace(filter("type: tags, spec: {matchType: any, tags: {tier: gold, region: eu}}"), "{serviceRef: b}", "{serviceRef: a}", 1), "lined 0 a-x, 1 a-y"},
		{"the service's tags", filter("type: tags, spec: {matchType: All, tags: <+service.tags>}"), "lined 0 b-x"},
		{"no filter", filter("type: all"), "lined 0 b-x"},
		{"nothing matches", filter("type: tags, spec: {matchType: any, tags: {tier: silver}}"), "! no infrastructure matched"},
		{"nothing is there", "service: {serviceRef: a}, environment: {environmentRef: f, deployToAll: true}", "! no infrastructure matched"},
		{"one that isn't in the group", "service: {serviceRef: a}, environmentGroup: {envGroupRef: g, environments: [{environmentRef: f, deployToAll: true}]}", "! environment f isn't in the environment group g"},
		{"an unknown group", "service: {serviceRef: a}, environmentGroup: {envGroupRef: h, deployToAll: true}", `! there is no environmentGroup "h" in acme/o/p`},
		{"an unknown service", "services: {values: [{serviceRef: c}]}, environment: {environmentRef: e, deployToAll: true}", `! there is no service "c" in acme/o/p`},
		{"an unknown infrastructure", "service: {serviceRef: a}, environments: {values: [{environmentRef: e, infrastructureDefinitions: [{identifier: w}]}]}", `! there is no infrastructureDefinition "w" in environment e of acme/o/p`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			its, err := expand(t.Context(), t, s, tt.spec)
			if err != nil {
				if want, ok := strings.CutPrefix(tt.want, "! "); !ok || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %q; want %s", err, tt.want)
				}
				return
			}
			if diff := cmp.Diff(tt.want, describe(its)); diff != "" {
				t.Errorf("deployments (-want +got):\n%s", diff)
			}
		})
	}
}

func describe(its plan.Iterations) string {
	var list []string
	for _, it := range its.List {
		list = append(list, fmt.Sprintf("%d %s-%s", it.Wave, it.Choice.Service.Ref, it.Choice.Infrastructure.Ref))
	}
	text := strings.Join(list, ", ")
	if its.MaxConcurrency > 0 {
		text = fmt.Sprintf("%d at a time %s", its.MaxConcurrency, text)
	}
	if its.Lined {
		text = "lined " + text
	}
	return text
}

// expanded finds the deployments of a stage as the engine has it.
func expanded(ctx context.Context, cfg resolve.Config) (plan.Iterations, error) {
	stage := engine.Choosing(resolve.New(cfg))
	return stage.Expand(ctx)
}
