package kubernetes_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func typeOf(t *testing.T, name string) step.Type {
	t.Helper()
	types := kubernetes.Types()
	i := slices.IndexFunc(types, func(x step.Type) bool { return x.Name == name })
	if i < 0 {
		t.Fatalf("there is no step type %s", name)
	}
	return types[i]
}

// decode decodes a spec as a save does and gives what was found.
func decode(t *testing.T, name, text string) (step.Spec, string) {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte(text))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	r := yamldoc.NewReport("")
	spec := typeOf(t, name).New(docs[0], r)
	var found []string
	for _, f := range r.Findings() {
		found = append(found, f.String())
	}
	return spec, strings.Join(found, "\n")
}

func TestSave(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, typ, spec, want string }{
		{"what the UI writes", "K8sRollingDeploy", "{skipDryRun: false, pruningEnabled: false, delegateSelectors: [a]}", ""},
		{"booleans may be texts and expressions", "K8sRollingDeploy", `{skipDryRun: "true", pruningEnabled: <+input>}`, ""},
		{"flags are refused", "K8sRollingDeploy", "{commandFlags: [{commandType: Apply, flag: --server-side}]}", "1:2 commandFlags: commandFlags can't be honoured yet [UNSUPPORTED]"},
		{"no flags are fine", "K8sRollingDeploy", "{commandFlags: []}", ""},
		{"a key that nobody has", "K8sRollingDeploy", "{skipDryrun: true}", `1:2 skipDryrun: warning: unknown key "skipDryrun"; did you mean "skipDryRun"? [UNKNOWN_KEY]`},
		{"entities §17.6 skipDryRun on a swap", "K8sBGSwapServices", "{skipDryRun: false}", ""},
		{"a canary", "K8sCanaryDeploy", `{instanceSelection: {type: Count, spec: {count: "2"}}, skipDryRun: false}`, ""},
		{"a canary without instances", "K8sCanaryDeploy", "{}", `1:1 key "instanceSelection" is missing [MISSING_KEY]`},
		{"a percentage over 100", "K8sCanaryDeploy", "{instanceSelection: {type: Percentage, spec: {percentage: 150}}}", "1:59 instanceSelection.spec.percentage: found 150; want a percentage from 0 to 100 [WRONG_VALUE]"},
		{"a progressive canary", "K8sCanaryDeploy", "{instanceSelection: {type: Count, spec: {count: 1}}, canaryType: Progressive}", "1:54 canaryType: a Progressive canary can't be deployed yet; Standard can [UNSUPPORTED]"},
		{"§23.26 a workload without a kind", "K8sScale", "{workload: my-nginx, instanceSelection: {type: Count, spec: {count: 1}}}", `1:12 workload: found "my-nginx"; want [namespace/]Kind/name [WRONG_VALUE]`},
		{"a deletion", "K8sDelete", "{deleteResources: {type: ResourceName, spec: {resourceNames: [Deployment/web]}}}", ""},
		{"a key of another selection", "K8sDelete", "{deleteResources: {type: ReleaseName, spec: {resourceNames: [a]}}}", `1:46 deleteResources.spec.resourceNames: warning: unknown key "resourceNames" [UNKNOWN_KEY]`},
		{"an apply", "K8sApply", "{filePaths: [jobs/migrate.yaml], skipSteadyStateCheck: true}", ""},
		{"an apply with a source of its own", "K8sApply", "{filePaths: [a.yaml], manifestSource: {type: K8sManifest}}", "1:23 manifestSource: manifestSource can't be honoured yet; filePaths of the service's manifests can [UNSUPPORTED]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, found := decode(t, tt.typ, tt.spec)
			if diff := cmp.Diff(tt.want, found); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	in := step.In{
		Execution: "x1", StageNode: "pipeline.stages.s", Node: "pipeline.stages.s.spec.execution.steps.a", Rollback: true,
		Selectors: []string{"fast"}, Siblings: []string{"K8sCanaryDeploy"},
		Deployment: &step.Deployment{Kubernetes: &task.KubernetesTarget{Namespace: "ns", ReleaseName: "r", Selectors: []string{"cluster"}}},
	}
	spec, _ := decode(t, "K8sScale", "{workload: Deployment/web, instanceSelection: {type: Percentage, spec: {percentage: 50}}}")
	action, err := spec.Start(in)
	if err != nil || action.Task == nil {
		t.Fatalf("%+v, %v", action, err)
	}
	half := 50
	want := task.Kubernetes{
		Op: task.OpScale, Execution: "x1", Stage: "pipeline.stages.s", Step: "pipeline.stages.s.spec.execution.steps.a", Rollback: true,
		CanaryInStage: true, Workload: "Deployment/web", Instances: &task.InstanceSelection{Percentage: &half},
		Target: task.KubernetesTarget{Namespace: "ns", ReleaseName: "r"},
	}
	got, ok := action.Task.Payload.(task.Kubernetes)
	if !ok {
		t.Fatalf("the payload is a %T", action.Task.Payload)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"fast", "cluster"}, action.Task.Selectors); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
	in.Deployment = nil
	if _, err := spec.Start(in); err == nil {
		t.Error("a stage that deploys nothing was accepted")
	}
}
