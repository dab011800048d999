package planning_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// semantics/pipeline §5.2 and semantics/entities §17.11: what a stage's
// strategies say of the steps that find its artifact, in any of which a
// failure can't be ignored.
func TestStrategiesForServices(t *testing.T) {
	t.Parallel()
	act := func(t plan.ActionType) *plan.Action { return &plan.Action{Type: t} }
	retry := func(then *plan.Action) *plan.Action {
		return &plan.Action{Type: plan.Retry, RetryCount: 2, Then: then}
	}
	tests := []struct {
		name         string
		action, want *plan.Action
	}{
		{"PipelineRollback holds", &plan.Action{Type: plan.PipelineRollback, FailAll: true}, &plan.Action{Type: plan.PipelineRollback, FailAll: true}},
		{"Abort holds", act(plan.Abort), act(plan.Abort)},
		{"MarkAsFailure holds", act(plan.MarkAsFailure), act(plan.MarkAsFailure)},
		{"Ignore doesn't", act(plan.Ignore), act(plan.MarkAsFailure)},
		{"MarkAsSuccess doesn't", act(plan.MarkAsSuccess), act(plan.MarkAsFailure)},
		{"StageRollback doesn't", act(plan.StageRollback), act(plan.MarkAsFailure)},
		{"ProceedWithDefaultValues doesn't", act(plan.ProceedWithDefaultValues), act(plan.MarkAsFailure)},
		{"ManualIntervention doesn't", &plan.Action{Type: plan.ManualIntervention, Then: act(plan.Ignore)}, act(plan.MarkAsFailure)},
		{"Retry holds, and what may follow", retry(act(plan.Abort)), retry(act(plan.Abort))},
		{"Retry holds, but not what ignores it then", retry(act(plan.Ignore)), retry(act(plan.MarkAsFailure))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			levels := plan.Levels{{{Errors: []fault.FailureType{fault.AllErrors}, Action: *tt.action}}}
			before := *tt.action
			want := plan.Levels{{{Errors: []fault.FailureType{fault.AllErrors}, Action: *tt.want}}}
			if diff := cmp.Diff(want, levels.ForServices()); diff != "" {
				t.Errorf("strategies (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, levels[0][0].Action); diff != "" {
				t.Errorf("the stage's own have changed (-want +got):\n%s", diff)
			}
		})
	}
}

// The steps that find the artifact and the chart have them, the stage's own don't.
func TestServiceStepsCantBeIgnored(t *testing.T) {
	t.Parallel()
	parse := func(t *testing.T, text string) *yamldoc.Node {
		t.Helper()
		docs, report := yamldoc.Parse("test.yaml", []byte(text))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		return docs[0]
	}
	p, err := planning.Build(planning.Source{
		LookedUp: func(*yamldoc.Node) bool { return true },
		Pipeline: pipelineOf(parse(t, `
identifier: p
stages:
  - stage:
      identifier: s
      type: Deployment
      failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: Ignore}}}]
      spec: {execution: {steps: [{step: {identifier: a, type: Wait, spec: {duration: 1m}}}]}}
`)),
		Deployments: map[string]*plan.Deployment{"s": {Type: "NativeHelm", Service: parse(t, `
serviceDefinition:
  spec:
    artifacts: {primary: {primaryArtifactRef: x, sources: [{identifier: x, type: DockerRegistry, spec: {tag: "1", digest: "sha256:0"}}]}}
    manifests: [{manifest: {identifier: m, type: HelmChart, spec: {fetchHelmChartMetadata: true}}}]
`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]plan.ActionType{}
	for _, c := range p.Root.Children[0].Children {
		got[c.Identifier] = c.Strategies[0][0].Action.Type
	}
	want := map[string]plan.ActionType{"service": plan.MarkAsFailure, "manifests": plan.MarkAsFailure, "a": plan.Ignore}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}
