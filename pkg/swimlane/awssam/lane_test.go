package awssam_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
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

// reach reaches stores of the file store by their files, and those of Git by their
// paths.
type reach struct{ swimlanetest.Reach }

func (r *reach) Store(from *filesource.Store, charts string) (task.Store, error) {
	switch from.Type.Value {
	case filesource.Harness:
		return task.Store{Files: &task.FileStore{Paths: from.Stored.Files.Value}}, nil
	case filesource.Inherited:
		return task.Store{Inherited: from.Paths.Value}, nil
	case filesource.S3:
		return task.Store{S3: &task.S3Objects{Paths: from.Objects.Paths.Value}}, nil
	case "Git":
		return task.Store{Git: &task.Git{URL: "https://git", Paths: from.Repository.Paths.Value}}, nil
	case filesource.Script:
		return task.Store{Script: &task.Extraction{Script: from.Extraction.Script.Value}}, nil
	}
	return r.Reach.Store(from, charts)
}

// The layers of values are those of the service and those above it, also where they
// are beside the application.
func TestValues(t *testing.T) {
	t.Parallel()
	const (
		git    = "{store: {type: Git, spec: {connectorRef: c, gitFetchType: Branch, branch: main, paths: [app]}}}"
		files  = "{store: {type: Harness, spec: {files: [/app]}}}"
		bucket = "{store: {type: S3, spec: {connectorRef: c, region: r, bucketName: b, paths: [app/]}}}"
		beside = "{store: {type: InheritFromManifest, spec: {paths: [values/prod.yaml]}}}"
	)
	for name, c := range map[string]struct {
		app       string
		values    []string
		want      []task.Store
		optional  bool // the last
		selectors []string
		fetched   swimlane.Fetched
		err       string
	}{
		"none": {app: git},
		"in the document": {
			app: git, values: []string{"{store: {type: Inline, spec: {content: 'a: 1'}}}", "{store: {type: Inline, spec: {content: 'a: 2'}}}"},
			want: []task.Store{{Inline: "a: 1"}, {Inline: "a: 2"}},
		},
		"in the file store": {
			app: bucket, values: []string{"{optionalValuesYaml: true, store: {type: Harness, spec: {files: [/values]}}}"}, optional: true,
			want: []task.Store{{Files: &task.FileStore{Paths: []string{"/values"}}}}, fetched: swimlane.Fetched{Files: true, Stored: []string{"/values"}},
		},
		"beside an application in Git": {
			app: git, values: []string{beside}, want: []task.Store{{Git: &task.Git{URL: "https://git", Paths: []string{"values/prod.yaml"}}}}, fetched: swimlane.Fetched{Files: true},
		},
		"beside one in the file store": {
			app: files, values: []string{beside}, want: []task.Store{{Files: &task.FileStore{Paths: []string{"values/prod.yaml"}}}},
			fetched: swimlane.Fetched{Files: true, Stored: []string{"values/prod.yaml"}},
		},
		"beside one in a bucket": {app: bucket, values: []string{beside}, err: "manifest v0 inherits its files from the application, which is in a bucket"},
		"by a script": {
			app: git, values: []string{"{store: {type: CustomRemote, spec: {extractionScript: make, filePath: v.yaml, delegateSelectors: [maker]}}}"},
			want: []task.Store{{Script: &task.Extraction{Script: "make"}}}, selectors: []string{"maker"}, fetched: swimlane.Fetched{Files: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := awssam.Lane()
			r := &reach{swimlanetest.Reach{Lane: l}}
			add := func(id string, kind swimlane.ManifestKind, spec string) {
				report := yamldoc.NewReport("").Resolved()
				r.All = append(r.All, swimlane.Manifest{ID: id, Kind: kind, Spec: kind.New(document.New(report), parsed(t, spec))})
				if err := report.Err(); err != nil {
					t.Fatal(err)
				}
			}
			add("app", l.Manifests[0], c.app)
			for i, spec := range c.values {
				add(fmt.Sprint("v", i), l.Manifests[1], spec)
			}
			i := l.Infrastructures[0]
			got, err := i.New(swimlane.Resolved(yamldoc.NewReport("").Resolved()), parsed(t, "{connectorRef: c, region: eu-central-1}")).Target(r)
			if c.err != "" || err != nil {
				if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v; want %s", err, c.err)
				}
				return
			}
			target, ok := got.Spec.(*awssam.Target)
			if !ok {
				t.Fatalf("the target is a %T", got.Spec)
			}
			var stores []task.Store
			for n, v := range target.Application.Values {
				stores = append(stores, v.Store)
				if last := n == len(c.want)-1; v.ID != fmt.Sprint("v", n) || v.Optional != (last && c.optional) {
					t.Errorf("layer %d is %+v", n, v)
				}
			}
			if diff := cmp.Diff(c.want, stores); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.selectors, target.Selectors); diff != "" {
				t.Errorf("selectors (-want +got):\n%s", diff)
			}
			found, err := swimlane.Kinds(l.Kinds).Fetched(awssam.Kind, mustJSON(t, task.Work{Spec: mustJSON(t, awssam.Spec{Op: awssam.OpBuild, Target: *target})}))
			if diff := cmp.Diff(c.fetched, found); diff != "" || err != nil {
				t.Errorf("fetched: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func parsed(t *testing.T, text string) yamldoc.Value {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte(text))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return yamldoc.Sub(docs[0], "")
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
