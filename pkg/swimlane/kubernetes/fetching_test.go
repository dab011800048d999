package kubernetes

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// fetched is what the lane says of a task with a spec.
func fetched(t *testing.T, spec Spec) swimlane.Fetched {
	t.Helper()
	doc, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(task.Work{Spec: doc})
	if err != nil {
		t.Fatal(err)
	}
	out, err := swimlane.Lanes{Lane()}.Kinds().Fetched(Kind, payload)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOnlySomeTasksFetchFiles(t *testing.T) {
	t.Parallel()
	git, inline := task.Store{Git: &task.Git{URL: "https://git"}}, task.Store{Inline: "a: 1"}
	service := Target{Manifest: &origin.Manifest{Store: git}}
	values := func(s task.Store) []origin.ValuesFile { return []origin.ValuesFile{{ID: "v", Store: s}} }
	byManifest := ResourceSelection{Type: "ManifestPath", ManifestPaths: []string{"a.yaml"}}
	byName := ResourceSelection{Type: "ResourceName", Names: []string{"Deployment/web"}}
	for _, tt := range []struct {
		name string
		spec Spec
		want bool
	}{
		{"a roll-out of a repository", Spec{Op: OpRolling, Target: service}, true},
		{"a roll-out of the document itself", Spec{Op: OpRolling, Target: Target{Manifest: &origin.Manifest{Store: inline}, Values: values(inline)}}, false},
		{"values of charts", Spec{Op: OpCanary, Target: Target{Values: values(task.Store{Charts: &task.ChartRepo{}})}}, true},
		{"values of the file store", Spec{Op: OpBlueGreen, Target: Target{Values: values(task.Store{Files: &task.FileStore{}})}}, true},
		{"patches of a script", Spec{Op: OpDryRun, Target: Target{Patches: values(task.Store{Script: &task.Extraction{}})}}, true},
		{"parameters beside the manifest", Spec{Op: OpDiff, Target: Target{Params: values(task.Store{Inherited: []string{"p"}})}}, true},
		{"what a K8sApply brings", Spec{Op: OpApply, ApplySource: &origin.Manifest{Store: git}}, true},
		{"values over a K8sApply", Spec{Op: OpApply, ApplyValues: values(git)}, true},
		{"a patch of a repository", Spec{Op: OpPatch, Patch: &Patch{Source: git}}, true},
		{"a patch in the step", Spec{Op: OpPatch, Target: service, Patch: &Patch{Source: inline}}, false},
		{"what manifests have is deleted", Spec{Op: OpDelete, Target: service, Delete: &byManifest}, true},
		{"what is named is deleted", Spec{Op: OpDelete, Target: service, Delete: &byName}, false},
		{"what manifests have is rolled", Spec{Op: OpRollout, Target: service, Rollout: &Rollout{Resources: byManifest}}, true},
		{"what is named is rolled", Spec{Op: OpRollout, Target: service, Rollout: &Rollout{Resources: byName}}, false},
		{"scaling", Spec{Op: OpScale, Target: service}, false},
		{"a rollback", Spec{Op: OpRollingRollback, Target: service}, false},
		{"a swap", Spec{Op: OpSwap, Target: service}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fetched(t, tt.spec); got.Files != tt.want {
				t.Errorf("it fetches files: %t; want %t", got.Files, tt.want)
			}
		})
	}
	if _, err := (swimlane.Lanes{Lane()}).Kinds().Fetched(Kind, json.RawMessage(`[`)); err == nil {
		t.Error("a payload that can't be read is taken")
	}
}

func TestTheStoredFilesOfATask(t *testing.T) {
	t.Parallel()
	at := func(paths ...string) task.Store { return task.Store{Files: &task.FileStore{Paths: paths}} }
	values := func(s task.Store) []origin.ValuesFile { return []origin.ValuesFile{{ID: "v", Store: s}} }
	stored := &origin.Manifest{Store: at("/k8s"), ValuesPaths: []string{"/v"}, ParamsPaths: []string{"/p"}, Kustomize: &origin.Kustomize{PatchesPaths: []string{"/x"}}}
	remote := &origin.Manifest{Store: task.Store{Git: &task.Git{URL: "https://git"}}, ValuesPaths: []string{"/v"}}
	for name, tt := range map[string]struct {
		spec Spec
		want []string
	}{
		"a manifest with what is beside it":       {Spec{Op: OpRolling, Target: Target{Manifest: stored}}, []string{"/k8s", "/v", "/p", "/x"}},
		"a layer over a repository":               {Spec{Op: OpCanary, Target: Target{Manifest: remote, Patches: values(at("/a")), Params: values(at("/b"))}}, []string{"/a", "/b"}},
		"a layer that inherits from a repository": {Spec{Op: OpCanary, Target: Target{Manifest: remote, Values: values(task.Store{Inherited: []string{"/i"}})}}, nil},
		"what a K8sApply brings":                  {Spec{Op: OpApply, ApplySource: stored, ApplyValues: values(at("/a"))}, []string{"/k8s", "/v", "/p", "/x", "/a"}},
		"a patch":                                 {Spec{Op: OpPatch, Patch: &Patch{Source: at("/a")}}, []string{"/a"}},
		"scaling":                                 {Spec{Op: OpScale, Target: Target{Manifest: stored}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fetched(t, tt.spec); !slices.Equal(got.Stored, tt.want) {
				t.Errorf("it reads %q; want %q", got.Stored, tt.want)
			}
		})
	}
}
