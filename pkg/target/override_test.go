package target_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/target"
)

// layered has overrides of every type and scope, each with a variable that is
// called as it is, and one that all have.
const layered = `service: {identifier: web, name: w, serviceDefinition: {type: Kubernetes, spec: {variables: [{name: all, type: String, value: service}]}}}
---
environment: {identifier: dev, name: d, type: Production}
---
infrastructureDefinition: {identifier: eu, name: e, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: c, namespace: n, releaseName: r}}
---
overrides: {type: ENV_GLOBAL_OVERRIDE, environmentRef: dev, spec: {variables: [{name: all, type: String, value: env}]}}
---
serviceOverrides: {environmentRef: dev, serviceRef: web, variableOverrides: [{name: all, type: String, value: old}]}
---
overrides: {identifier: dev_web, type: ENV_SERVICE_OVERRIDE, environmentRef: dev, serviceRef: web, variables: [{name: all, type: String, value: <+input>}]}
---
overrides: {type: INFRA_GLOBAL_OVERRIDE, environmentRef: dev, infraIdentifier: eu, spec: {variables: [{name: all, type: String, value: infra}]}}
---
overrides: {type: INFRA_SERVICE_OVERRIDE, environmentRef: dev, serviceRef: web, infraIdentifier: eu, spec: {variables: [{name: all, type: String, value: both}]}}
---
overrides: {type: INFRA_SERVICE_OVERRIDE, environmentRef: dev, serviceRef: other, infraIdentifier: eu, spec: {variables: [{name: all, type: String, value: other}]}}
`

// semantics/entities §8: the order of overrides, by type and by scope.
func TestOverridesAreLayered(t *testing.T) {
	t.Parallel()
	s := saved(t, layered)
	for doc := range strings.SplitSeq(strings.ReplaceAll(layered, "name: all", "name: wide"), "---\n") {
		saveIn(t, s, accountScope(), doc)
	}
	for _, doc := range []string{
		"overrides: {type: ENV_SERVICE_OVERRIDE, environmentRef: account.dev, serviceRef: account.web, variables: [{name: wide, type: String, value: project}]}",
		"overrides: {type: ENV_SERVICE_OVERRIDE, environmentRef: account.dev, serviceRef: web, variables: [{name: wide, type: String, value: mixed}]}",
	} {
		saveIn(t, s, project(), doc)
	}
	given := parsed(t, "{variables: [{name: all, type: String, value: given}, {name: wide, type: String, value: wide given}]}")
	tests := []struct{ name, prefix, service, want string }{
		{"of the project", "", "web", "service, ENV_GLOBAL_OVERRIDE env, ENV_SERVICE_OVERRIDE old, ENV_SERVICE_OVERRIDE given, INFRA_GLOBAL_OVERRIDE infra, INFRA_SERVICE_OVERRIDE both"},
		{"of the account and then of the project", "account.", "account.web", "service, ENV_GLOBAL_OVERRIDE env, ENV_SERVICE_OVERRIDE old, ENV_SERVICE_OVERRIDE wide given, ENV_SERVICE_OVERRIDE project, INFRA_GLOBAL_OVERRIDE infra, INFRA_SERVICE_OVERRIDE both"},
		{"of the account's environment and the project's service", "account.", "web", "service, ENV_GLOBAL_OVERRIDE env, ENV_SERVICE_OVERRIDE mixed, INFRA_GLOBAL_OVERRIDE infra"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := target.Reader{Types: builtin.Types(), Entities: s, Scope: project()}
			d, err := r.Deployment(t.Context(), plan.Choice{
				Type: "Kubernetes", Service: plan.Pick{Ref: tt.service}, Environment: plan.Pick{Ref: tt.prefix + "dev"},
				Infrastructure: plan.Pick{Ref: "eu"}, Overrides: given,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := []string{"service"}
			for _, o := range d.Overrides {
				got = append(got, o.Type+" "+o.Doc.Get("variables").Items[0].Get("value").Value)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("layers (-want +got):\n%s", diff)
			}
		})
	}
}

// semantics/entities §8 and §17.16: values files are laid over each other,
// variables and config files replaced by name.
func TestOverridesReachSteps(t *testing.T) {
	t.Parallel()
	values := func(id string) string {
		return "{manifest: {identifier: " + id + ", type: Values, spec: {store: {type: Inline, spec: {content: x}}}}}"
	}
	file := func(id, content string) string {
		return "{configFile: {identifier: " + id + ", spec: {store: {type: Inline, spec: {content: '" + content + "'}}}}}"
	}
	s := saved(t, `connector: {identifier: c, name: The cluster, type: K8sCluster, spec: {credential: {type: InheritFromDelegate}, delegateSelectors: [x]}}
---
service: {identifier: web, name: w, serviceDefinition: {type: Kubernetes, spec: {variables: [{name: a, type: String, value: "1"}, {name: b, type: String, value: "1"}, {name: c, type: String, value: "1"}], manifests: [`+values("service")+`], configFiles: [`+file("one", "service")+", "+file("two", "is <+serviceVariables.c>")+`]}}}
---
environment: {identifier: dev, name: d, type: Production, variables: [{name: b, type: String, value: "2"}], overrides: {manifests: [`+values("env")+`], configFiles: [`+file("one", "env")+`]}}
---
infrastructureDefinition: {identifier: eu, name: e, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: c, namespace: n, releaseName: r}}
---
overrides: {type: INFRA_SERVICE_OVERRIDE, environmentRef: dev, serviceRef: web, infraIdentifier: eu, spec: {variables: [{name: c, type: String, value: "4"}], manifests: [`+values("both")+`]}}
---
overrides: {type: ENV_GLOBAL_OVERRIDE, environmentRef: dev, spec: {variables: [{name: c, type: String, value: "3"}, {name: d, type: String, value: "3"}], manifests: [`+values("global")+`], configFiles: [`+file("three", "new")+`]}}
`)
	doc := pipelineOf(t, "{identifier: p, name: p, stages: [{stage: {identifier: s, name: S, type: Deployment, spec: {deploymentType: Kubernetes, service: {serviceRef: web}, environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: eu}]}, execution: {steps: [{step: {identifier: x, name: x, type: Wait}}]}}}}]}")
	r := target.Reader{Types: builtin.Types(), Entities: s, Scope: project()}
	d, err := r.Plan(t.Context(), doc.Stages.Items[0].Stage.Deployment, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := planning.Build(planning.Source{Pipeline: doc, Deployments: map[string]*plan.Deployment{"s": d}})
	if err != nil {
		t.Fatal(err)
	}
	scope := resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Root.Children[0].Children[0], Entities: s, Execution: store.Execution{Scope: project()},
		State: func(plan.NodeID) plan.State { return plan.State{} }, Now: time.Unix(0, 0),
	})
	for text, want := range map[string]string{
		"<+serviceVariables.a> <+serviceVariables.b> <+serviceVariables.c> <+serviceVariables.d>":              "1 2 4 3",
		"<+env.variables.b> <+env.variables.c> <+infra.connector> <+infra.connector.name>":                     "2 3 c The cluster",
		`<+configFile.getAsString("one")> <+configFile.getAsString("two")> <+configFile.getAsBase64("three")>`: "env is 4 bmV3",
	} {
		if got, err := scope.Text(text); err != nil || got != want {
			t.Errorf("%s is %q (%v); want %q", text, got, err, want)
		}
	}
	out, err := scope.Deployment()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	of, err := step.TargetOf[*kubernetes.Target](step.In{Deployment: out})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range of.Values {
		got = append(got, v.ID)
	}
	if diff := cmp.Diff([]string{"service", "env", "global", "both"}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// semantics/entities §1 and §17.1: what a document of the account names
// without a scope is the account's, also where a project that has the same
// names uses it.
func TestNamesAreOfTheirDocumentsScope(t *testing.T) {
	t.Parallel()
	cluster := func(url, secret string) string {
		return "connector: {identifier: c, name: c, type: K8sCluster, spec: {credential: {type: ManualConfig, spec: {masterUrl: '" + url +
			"', auth: {type: ServiceAccount, spec: {serviceAccountTokenRef: " + secret + "}}}}}}"
	}
	s := saved(t, cluster("https://wrong", "token"))
	for _, id := range []string{"token", "other"} {
		for _, scope := range []ref.Scope{project(), accountScope()} {
			e := store.Entity{Key: store.EntityKey{Scope: scope, Kind: ref.Secret, ID: id}, Name: id, YAML: []byte("secret: {identifier: " + id + ", name: s, type: SecretText, spec: {}}")}
			if _, err := s.SaveEntity(t.Context(), e, audit.Record{Scope: scope}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, doc := range []string{
		cluster("https://right", "token"),
		`service: {identifier: web, name: w, serviceDefinition: {type: Kubernetes, spec: {variables: [{name: a, type: Secret, value: token}, {name: b, type: String, value: '<+secrets.getValue("other")>'}]}}}`,
		"environment: {identifier: dev, name: d, type: Production}",
		"infrastructureDefinition: {identifier: eu, name: e, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: c, namespace: n, releaseName: r}}",
	} {
		saveIn(t, s, accountScope(), doc)
	}
	doc := pipelineOf(t, "{identifier: p, name: p, stages: [{stage: {identifier: s, name: S, type: Deployment, spec: {deploymentType: Kubernetes, service: {serviceRef: account.web}, environment: {environmentRef: account.dev, infrastructureDefinitions: [{identifier: eu}]}, execution: {steps: [{step: {identifier: x, name: x, type: Wait}}]}}}}]}")
	r := target.Reader{Types: builtin.Types(), Entities: s, Scope: project()}
	d, err := r.Plan(t.Context(), doc.Stages.Items[0].Stage.Deployment, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := planning.Build(planning.Source{Pipeline: doc, Deployments: map[string]*plan.Deployment{"s": d}})
	if err != nil {
		t.Fatal(err)
	}
	scope := resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Root.Children[0].Children[0], Entities: s, Execution: store.Execution{Scope: project()},
		State: func(plan.NodeID) plan.State { return plan.State{} }, Now: time.Unix(0, 0),
	})
	out, err := scope.Deployment()
	if err != nil {
		t.Fatal(err)
	}
	a, err := scope.Text("<+serviceVariables.a>")
	if err != nil {
		t.Fatal(err)
	}
	b, err := scope.Text("<+serviceVariables.b>")
	if err != nil {
		t.Fatal(err)
	}
	of, err := step.TargetOf[*kubernetes.Target](step.In{Deployment: out})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{of.Cluster.URL, scope.Secrets()[of.Cluster.Token], scope.Secrets()[a], scope.Secrets()[b]}
	want := []string{"https://right", "secret:acme:token", "secret:acme:token", "secret:acme:other"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("address and secrets (-want +got):\n%s", diff)
	}
}
