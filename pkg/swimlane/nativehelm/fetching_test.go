package nativehelm_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestWhatIsFetched(t *testing.T) {
	t.Parallel()
	manifest := &origin.Manifest{Store: task.Store{Files: &task.FileStore{Paths: []string{"/chart"}}}, ValuesPaths: []string{"/v"}}
	layers := []origin.ValuesFile{{ID: "v", Store: task.Store{Inherited: []string{"/i"}}}}
	for op, want := range map[nativehelm.Op][]string{
		nativehelm.OpDeploy: {"/chart", "/v", "/i"}, nativehelm.OpCanary: {"/chart", "/v", "/i"}, nativehelm.OpBlueGreen: {"/chart", "/v", "/i"},
		nativehelm.OpRollback: nil, nativehelm.OpDescribe: nil, nativehelm.OpSwap: nil,
	} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			spec, err := json.Marshal(nativehelm.Spec{Op: op, Target: kubernetes.Target{Manifest: manifest, Values: layers}})
			if err != nil {
				t.Fatal(err)
			}
			payload, err := json.Marshal(task.Work{Spec: spec})
			if err != nil {
				t.Fatal(err)
			}
			got, err := swimlane.Lanes{nativehelm.Lane()}.Kinds().Fetched(nativehelm.Kind, payload)
			if err != nil || got.Files != (want != nil) || !slices.Equal(got.Stored, want) {
				t.Errorf("it fetches %+v, %v; want %q", got, err, want)
			}
		})
	}
}

// TestChartsAreDescribedByHelm: the work that reads a chart, also for the
// deployment type Kubernetes, is one of Helm's.
func TestChartsAreDescribedByHelm(t *testing.T) {
	t.Parallel()
	spec := parse(t, "{chartName: web, fetchHelmChartMetadata: true, store: {type: Http, spec: {connectorRef: c}}}")
	place := kubernetes.Infrastructures(63)[0].New(swimlane.Resolved(yamldoc.NewReport("")), parse(t, "{connectorRef: c, namespace: n, releaseName: r}"))
	charted, ok := place.(swimlane.Charted)
	if !ok {
		t.Fatalf("a %T can't be deployed to by a chart", place)
	}
	kinds := kubernetes.Manifests()
	chart := kinds[slices.IndexFunc(kinds, func(k swimlane.ManifestKind) bool { return k.Type == "HelmChart" })]
	got, err := charted.Described(reach{&swimlanetest.Reach{
		Lane: kubernetes.Lane(), All: []swimlane.Manifest{{ID: "web", Kind: chart, Spec: chart.New(swimlane.Resolved(yamldoc.NewReport("")).Decoder, spec)}},
	}})
	if err != nil || got.Kind != nativehelm.Kind {
		t.Fatalf("%+v, %v; want work of Helm's", got, err)
	}
	asked, err := json.Marshal(got.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var work nativehelm.Spec
	if err := json.Unmarshal(asked, &work); err != nil {
		t.Fatal(err)
	}
	want := nativehelm.Spec{Op: nativehelm.OpDescribe, Target: kubernetes.Target{Manifest: &origin.Manifest{
		ID: "web", Type: "HelmChart", Store: task.Store{Charts: &task.ChartRepo{URL: "https://charts"}}, Chart: &origin.Chart{Name: "web"},
	}}}
	if diff := cmp.Diff(want, work); diff != "" {
		t.Errorf("the work (-want +got):\n%s", diff)
	}
	again, err := json.Marshal(want)
	if diff := cmp.Diff(string(again), string(asked)); diff != "" || err != nil {
		t.Errorf("its JSON, %v (-nativehelm.Spec's +got):\n%s", err, diff)
	}
}

// reach has a repository of charts.
type reach struct{ *swimlanetest.Reach }

func (reach) Store(*filesource.Store, string) (task.Store, error) {
	return task.Store{Charts: &task.ChartRepo{URL: "https://charts"}}, nil
}

func parse(t *testing.T, text string) yamldoc.Value {
	t.Helper()
	docs, r := yamldoc.Parse("", []byte(text))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return yamldoc.Sub(docs[0], "spec")
}
