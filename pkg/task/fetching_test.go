package task

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestOnlySomeTasksFetchFiles(t *testing.T) {
	t.Parallel()
	git, inline := Store{Git: &Git{URL: "https://git"}}, Store{Inline: "a: 1"}
	service := KubernetesTarget{Manifest: &Manifest{Store: git}}
	values := func(s Store) []ValuesFile { return []ValuesFile{{ID: "v", Store: s}} }
	byManifest := ResourceSelection{Type: "ManifestPath", ManifestPaths: []string{"a.yaml"}}
	byName := ResourceSelection{Type: "ResourceName", Names: []string{"Deployment/web"}}
	for _, tt := range []struct {
		name    string
		kind    Kind
		payload any
		late    map[string]LateText
		want    bool
	}{
		{"a script", KindShell, Shell{Script: "echo"}, nil, false},
		{"a script with a config file of Git", KindShell, Shell{}, map[string]LateText{"p": {Git: git.Git}}, true},
		{"a script with a text that is encoded", KindShell, Shell{}, map[string]LateText{"p": {Text: "x", Base64: true}}, false},
		{"a request", KindHTTP, HTTP{}, nil, false},
		{"a roll-out of a repository", KindKubernetes, Kubernetes{Op: OpRolling, Target: service}, nil, true},
		{"a roll-out of the document itself", KindKubernetes, Kubernetes{Op: OpRolling, Target: KubernetesTarget{Manifest: &Manifest{Store: inline}, Values: values(inline)}}, nil, false},
		{"values of charts", KindKubernetes, Kubernetes{Op: OpCanary, Target: KubernetesTarget{Values: values(Store{Charts: &ChartRepo{}})}}, nil, true},
		{"values of the file store", KindKubernetes, Kubernetes{Op: OpBlueGreen, Target: KubernetesTarget{Values: values(Store{Files: &FileStore{}})}}, nil, true},
		{"patches of a script", KindKubernetes, Kubernetes{Op: OpDryRun, Target: KubernetesTarget{Patches: values(Store{Script: &Extraction{}})}}, nil, true},
		{"parameters beside the manifest", KindKubernetes, Kubernetes{Op: OpDiff, Target: KubernetesTarget{Params: values(Store{Inherited: []string{"p"}})}}, nil, true},
		{"what a K8sApply brings", KindKubernetes, Kubernetes{Op: OpApply, ApplySource: &Manifest{Store: git}}, nil, true},
		{"values over a K8sApply", KindKubernetes, Kubernetes{Op: OpApply, ApplyValues: values(git)}, nil, true},
		{"a patch of a repository", KindKubernetes, Kubernetes{Op: OpPatch, Patch: &KubernetesPatch{Source: git}}, nil, true},
		{"a patch in the step", KindKubernetes, Kubernetes{Op: OpPatch, Target: service, Patch: &KubernetesPatch{Source: inline}}, nil, false},
		{"what manifests have is deleted", KindKubernetes, Kubernetes{Op: OpDelete, Target: service, Delete: &byManifest}, nil, true},
		{"what is named is deleted", KindKubernetes, Kubernetes{Op: OpDelete, Target: service, Delete: &byName}, nil, false},
		{"what manifests have is rolled", KindKubernetes, Kubernetes{Op: OpRollout, Target: service, Rollout: &KubernetesRollout{Resources: byManifest}}, nil, true},
		{"what is named is rolled", KindKubernetes, Kubernetes{Op: OpRollout, Target: service, Rollout: &KubernetesRollout{Resources: byName}}, nil, false},
		{"scaling", KindKubernetes, Kubernetes{Op: OpScale, Target: service}, nil, false},
		{"a rollback", KindKubernetes, Kubernetes{Op: OpRollingRollback, Target: service}, nil, false},
		{"a swap", KindKubernetes, Kubernetes{Op: OpSwap, Target: service}, nil, false},
		{"a chart", KindHelm, Helm{Op: OpHelmDeploy, Target: service}, nil, true},
		{"a chart's rollback", KindHelm, Helm{Op: OpHelmRollback, Target: service}, nil, false},
		{"what a chart says of itself", KindHelm, Helm{Op: OpHelmDescribe, Target: service}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			doc, err := json.Marshal(payloadOf(t, tt.kind, tt.payload))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := FetchesFiles(tt.kind, doc, tt.late); err != nil || got != tt.want {
				t.Errorf("it fetches files: %t, %v; want %t", got, err, tt.want)
			}
		})
	}
	if _, err := FetchesFiles(KindHelm, json.RawMessage(`[`), nil); err == nil {
		t.Error("a payload that can't be read is taken")
	}
}

func TestTheStoredFilesOfATask(t *testing.T) {
	t.Parallel()
	at := func(paths ...string) Store { return Store{Files: &FileStore{Paths: paths}} }
	values := func(s Store) []ValuesFile { return []ValuesFile{{ID: "v", Store: s}} }
	stored := &Manifest{Store: at("/k8s"), ValuesPaths: []string{"/v"}, ParamsPaths: []string{"/p"}, Kustomize: &Kustomize{PatchesPaths: []string{"/x"}}}
	remote := &Manifest{Store: Store{Git: &Git{URL: "https://git"}}, ValuesPaths: []string{"/v"}}
	for name, tt := range map[string]struct {
		kind    Kind
		payload any
		want    []string
	}{
		"a manifest with what is beside it":       {KindKubernetes, Kubernetes{Op: OpRolling, Target: KubernetesTarget{Manifest: stored}}, []string{"/k8s", "/v", "/p", "/x"}},
		"a layer that inherits":                   {KindHelm, Helm{Op: OpHelmDeploy, Target: KubernetesTarget{Manifest: stored, Values: values(Store{Inherited: []string{"/i"}})}}, []string{"/k8s", "/v", "/p", "/x", "/i"}},
		"a layer over a repository":               {KindKubernetes, Kubernetes{Op: OpCanary, Target: KubernetesTarget{Manifest: remote, Patches: values(at("/a")), Params: values(at("/b"))}}, []string{"/a", "/b"}},
		"a layer that inherits from a repository": {KindKubernetes, Kubernetes{Op: OpCanary, Target: KubernetesTarget{Manifest: remote, Values: values(Store{Inherited: []string{"/i"}})}}, nil},
		"what a K8sApply brings":                  {KindKubernetes, Kubernetes{Op: OpApply, ApplySource: stored, ApplyValues: values(at("/a"))}, []string{"/k8s", "/v", "/p", "/x", "/a"}},
		"a patch":                                 {KindKubernetes, Kubernetes{Op: OpPatch, Patch: &KubernetesPatch{Source: at("/a")}}, []string{"/a"}},
		"scaling":                                 {KindKubernetes, Kubernetes{Op: OpScale, Target: KubernetesTarget{Manifest: stored}}, nil},
		"a script":                                {KindShell, Shell{Script: "/k8s"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := json.Marshal(payloadOf(t, tt.kind, tt.payload))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := StoredFiles(tt.kind, doc); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("it reads %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// payloadOf is a task's payload with a spec of its kind.
func payloadOf(t *testing.T, kind Kind, spec any) any {
	t.Helper()
	if kind != KindKubernetes && kind != KindHelm {
		return spec
	}
	doc, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return Work{Spec: doc}
}
