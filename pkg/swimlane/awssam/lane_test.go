package awssam_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/downloadmanifests"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestLane(t *testing.T) {
	t.Parallel()
	swimlanetest.Run(t, awssam.Lane(), awssam.Steps(), swimlanetest.Config{
		Service:         "{manifests: [{manifest: {identifier: f, type: AwsSamDirectory, spec: {store: {type: Harness, spec: {files: [/app]}}}}}]}",
		Infrastructures: map[string]string{awssam.Type: "{connectorRef: c, region: eu-central-1}"},
		Undo:            map[string]string{"AwsSamBuild": "AwsSamRollback", "AwsSamDeploy": "AwsSamRollback"},
		Others:          swimlane.Lanes{kubernetes.Lane(), custom.Lane()},
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[awssam.Target](t, awssam.Lane(), awssam.Steps())
}

// DownloadManifests brings the application to where its session is.
func TestDownload(t *testing.T) {
	t.Parallel()
	typ := downloadmanifests.Type()
	spec := typ.New(document.New(yamldoc.NewReport("")), yamldoc.Sub(&yamldoc.Node{Kind: yamldoc.Mapping}, ""))
	store := task.Store{Files: &task.FileStore{Paths: []string{"/app"}}}
	target := &awssam.Target{Application: &awssam.Application{Manifest: workspace.Manifest{ID: "app", Store: store}}, Selectors: []string{"account"}}
	in := step.In{Session: &step.Session{ID: "s1", Machine: "m1"}, Deployment: &step.Deployment{Target: target}, Selectors: []string{"fast"}}
	a, err := typ.Start(spec, in)
	if err != nil {
		t.Fatal(err)
	}
	w, ok := a.Task.Payload.(task.Work)
	if !ok {
		t.Fatalf("the payload is a %T", a.Task.Payload)
	}
	var got workspace.Download
	if err := json.Unmarshal(w.Spec, &got); err != nil {
		t.Fatal(err)
	}
	want := workspace.Download{Session: "s1", Manifests: []workspace.Manifest{{ID: "app", Store: store}}}
	if diff := cmp.Diff(want, got); diff != "" || a.Task.Machine != "m1" {
		t.Errorf("on %s (-want +got):\n%s", a.Task.Machine, diff)
	}
	found, err := workspace.Kinds().Fetched(workspace.Kind, mustJSON(t, w))
	if diff := cmp.Diff(swimlane.Fetched{Files: true, Stored: []string{"/app"}}, found); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	in.Session = nil
	if _, err := typ.Start(spec, in); err == nil {
		t.Error("without a session it starts all the same")
	}
	in.Session, target.Application = &step.Session{ID: "s1", Machine: "m1"}, nil
	if _, err := typ.Start(spec, in); err == nil {
		t.Error("without a manifest it starts all the same")
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
