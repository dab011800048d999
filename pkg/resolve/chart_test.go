package resolve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

const manifestsNode = "pipeline.stages.deploy.spec.manifests"

// described is a scope of a stage whose service has manifests; found is what
// was read of its chart, nil for nothing yet.
func described(t *testing.T, at, manifests string, found *lookup.ChartFound) *resolve.Scope {
	t.Helper()
	p, err := planning.Build(planning.Source{
		Pipeline: pipelineOf(t, pipelineYAML),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "NativeHelm", ServiceRef: "shop", EnvironmentRef: "dev",
			Service:        parse(t, "identifier: shop\nserviceDefinition: {type: Kubernetes, spec: {manifests: ["+manifests+"]}}"),
			Environment:    parse(t, "identifier: dev"),
			Infrastructure: parse(t, "identifier: i\ntype: KubernetesDirect\nspec: {connectorRef: cluster, namespace: ns, releaseName: rel}"),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Node(plan.NodeID(at)) == nil {
		t.Fatalf("the plan has no node %s", at)
	}
	st := plan.State{}
	if found != nil {
		doc, err := json.Marshal(map[string]any{"output": map[string]any{"chart": found}})
		if err != nil {
			t.Fatal(err)
		}
		st = plan.State{Status: plan.Success, Outputs: doc}
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node(plan.NodeID(at)), Entities: chartEntities{},
		State: func(id plan.NodeID) plan.State {
			if id == manifestsNode {
				return st
			}
			return plan.State{}
		},
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
}

const (
	httpChart = "{manifest: {identifier: app, type: HelmChart, spec: {store: {type: Http, spec: {connectorRef: http}}, chartName: web, fetchHelmChartMetadata: True}}}"
	gitChart  = "{manifest: {identifier: app, type: HelmChart, spec: {store: {type: Git, spec: {connectorRef: git, gitFetchType: Branch, branch: main, folderPath: c}}, fetchHelmChartMetadata: True}}}"
	telling   = "{manifest: {identifier: v, type: Values, spec: {store: {type: Inline, spec: {content: 'chart: <+manifests.app.helm.version>'}}}}}"
)

func foundChart() *lookup.ChartFound {
	return &lookup.ChartFound{
		Manifest: "app", CommitID: "abc", Name: "web", Description: "A web", Version: "1.2.3", APIVersion: "v2", AppVersion: "9", KubeVersion: ">=1.25",
		Metadata: lookup.ChartPlace{URL: "https://charts.example.com", BasePath: "c", CommitID: "abc", Branch: "main"},
	}
}

func TestWhichChartIsDescribed(t *testing.T) {
	t.Parallel()
	s := described(t, manifestsNode, httpChart+", "+telling, nil) // values that want to know don't hinder it
	got, err := s.Chart()
	if err != nil {
		t.Fatal(err)
	}
	asked, err := json.Marshal(got.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Target struct {
			Manifest struct {
				ID    string     `json:"id"`
				Store task.Store `json:"store"`
			} `json:"manifest"`
		} `json:"target"`
	}
	if err := json.Unmarshal(asked, &spec); err != nil {
		t.Fatal(err)
	}
	if m := spec.Target.Manifest; got.Kind != "helm" || m.ID != "app" || m.Store.Charts == nil || m.Store.Charts.URL != "https://charts.example.com" {
		t.Errorf("%s of %s; want the chart of https://charts.example.com", asked, got.Kind)
	}
	p, err := planning.Build(planning.Source{Pipeline: pipelineOf(t, pipelineYAML), Deployments: map[string]*plan.Deployment{"deploy": {
		Service: parse(t, "identifier: shop\nserviceDefinition: {type: Kubernetes, spec: {manifests: ["+strings.ReplaceAll(httpChart, "True", "false")+"]}}"),
	}}})
	if err != nil || p.Node(manifestsNode) != nil {
		t.Errorf("%v; a chart that isn't to be described is read all the same", err)
	}
}

func TestWhatAChartSays(t *testing.T) {
	t.Parallel()
	s := described(t, rollNode, gitChart, foundChart())
	for text, want := range map[string]string{
		"<+manifests.app.helm.name> <+manifests.app.helm.version> <+manifests.app.helm.apiVersion>":                         "web 1.2.3 v2",
		"<+manifests.app.helm.description>, <+manifests.app.helm.appVersion>, <+manifests.app.helm.kubeVersion>":            "A web, 9, >=1.25",
		"<+manifests.app.helm.metadata.url> <+manifests.app.helm.metadata.branch> <+manifests.app.helm.metadata.commitId>":  "https://charts.example.com main abc",
		"<+manifests.app.helm.metadata.basePath>[<+manifests.app.helm.metadata.bucketName>] <+manifest.app.commitId>":       "c[] abc",
		"<+pipeline.stages.deploy.spec.manifests.app.helm.version> <+pipeline.stages.deploy.spec.manifests.app.identifier>": "1.2.3 app",
	} {
		if got, err := s.Text(text); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"<+manifests.app.helm.colour>": `a chart has no "colour"`,
		"<+manifests.other.helm.name>": `no manifest "other"`,
	} {
		if _, err := s.Text(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error about %s", text, err, want)
		}
	}
	early := described(t, rollNode, gitChart, nil)
	if _, err := early.Text("<+manifests.app.helm.name>"); err == nil || !strings.Contains(err.Error(), "fetchHelmChartMetadata") {
		t.Errorf("%v; want an error that says what it takes", err)
	}
}

// What was told is what is deployed, whatever has come since.
func TestTheDescribedChartIsDeployed(t *testing.T) {
	t.Parallel()
	for manifests, want := range map[string]string{httpChart: "1.2.3", gitChart + ", " + telling: "abc"} {
		d, err := described(t, rollNode, manifests, foundChart()).Deployment()
		if err != nil {
			t.Fatal(err)
		}
		got := kubernetesOf(t, d).Manifest.Chart.Version
		if g := kubernetesOf(t, d).Manifest.Store.Git; g != nil {
			got = g.Commit
			if diff := cmp.Diff("chart: 1.2.3", kubernetesOf(t, d).Values[0].Store.Inline); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		}
		if got != want {
			t.Errorf("%q is deployed; want %q", got, want)
		}
	}
}
