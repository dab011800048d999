package execution

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// A node is found by its id, or by its identifier where only one has it. Who
// names several, or none, is told what there is.
func TestANodeIsFoundByItsName(t *testing.T) {
	t.Parallel()
	step := func(stage, id string) *plan.Node {
		return &plan.Node{ID: plan.NodeID("pipeline.stages." + stage + ".spec.execution.steps." + id), Kind: plan.KindStep, Identifier: id}
	}
	stage := func(id string, steps ...*plan.Node) *plan.Node {
		return &plan.Node{ID: plan.NodeID("pipeline.stages." + id), Kind: plan.KindStage, Identifier: id, Children: steps}
	}
	s := service(setup(t), time.Now)
	root := &plan.Node{ID: "pipeline", Kind: plan.KindPipeline, Identifier: "web", Children: []*plan.Node{
		stage("a", step("a", "only"), step("a", "both")), stage("b", step("b", "both"), step("b", "web")),
	}}
	begun(t, s, store.Execution{ID: "x1", Status: plan.Running, StartedAt: time.Now()}, root)
	for name, want := range map[string]string{
		"only":                                   "pipeline.stages.a.spec.execution.steps.only",
		"b":                                      "pipeline.stages.b",
		"pipeline.stages.b":                      "pipeline.stages.b",
		"pipeline":                               "pipeline",
		"web":                                    "pipeline.stages.b.spec.execution.steps.web", // a step before the pipeline of that name
		"both":                                   `error: INVALID: execution x1 has 2 nodes "both"; say which: pipeline.stages.a.spec.execution.steps.both, pipeline.stages.b.spec.execution.steps.both`,
		"nothing":                                `error: NOT_FOUND: execution x1 has no stage and no step "nothing"; it has a, only, both, b, web`,
		"pipeline.stages.a.spec.execution.steps": "error: NOT_FOUND: execution x1 has no stage and no step",
	} {
		got, err := s.FindNode(t.Context(), "x1", name)
		if words, fails := strings.CutPrefix(want, "error: "); fails {
			if told := fmt.Sprintf("%s: %v", fault.CodeOf(err), err); !strings.HasPrefix(told, words) {
				t.Errorf("%s: %s; want %s", name, told, words)
			}
			continue
		}
		must(t, err)
		if string(got.ID) != want || len(got.Children) > 0 {
			t.Errorf("%s is %s with %d children; want %s alone", name, got.ID, len(got.Children), want)
		}
	}
}

// What a stage's comparison found is told with its steps' outputs, in their
// order; why one isn't known, by the step that says it.
func TestDifferencesOfAStage(t *testing.T) {
	t.Parallel()
	stage := &plan.Node{ID: "s", Kind: plan.KindStage, Identifier: "deploy", Children: []*plan.Node{
		{ID: "s.1", Type: "Compare"}, {ID: "s.2", Type: "Wait"}, {ID: "s.3", Type: "Compare"},
	}}
	outputs := func(diff string, changed string) plan.State {
		return plan.State{Status: plan.Success, Outputs: fmt.Appendf(nil, `{"output":{"diff":%q,"changed":[%q]}}`, diff, changed)}
	}
	for name, tt := range map[string]struct {
		states map[plan.NodeID]plan.State
		want   string
	}{
		"two":                     {map[plan.NodeID]plan.State{"s": {Status: plan.Success}, "s.1": outputs("+a\n", "A/a"), "s.3": outputs("-b\n", "B/b")}, "deploy Success: [A/a B/b] \"+a\\n-b\\n\""},
		"nothing yet":             {map[plan.NodeID]plan.State{"s": {Status: plan.Running}}, `deploy Running: [] ""`},
		"another step's outputs":  {map[plan.NodeID]plan.State{"s": {Status: plan.Success}, "s.2": outputs("+a\n", "A/a")}, `deploy Success: [] ""`},
		"a step that says why":    {map[plan.NodeID]plan.State{"s": {Status: plan.Failed, Message: "step s.1 failed"}, "s.1": {Status: plan.Failed, Message: "no cluster"}}, `deploy Failed: no cluster[] ""`},
		"a stage that says why":   {map[plan.NodeID]plan.State{"s": {Status: plan.Failed, Message: "no service"}}, `deploy Failed: no service[] ""`},
		"outputs that aren't any": {map[plan.NodeID]plan.State{"s.1": {Outputs: []byte("[")}}, "error: decode the outputs of s.1"},
	} {
		d, err := differenceOf(stage, tt.states, map[string]bool{"Compare": true})
		got := fmt.Sprintf("%s %s: %s%v %q", d.Stage, d.Status, d.Message, d.Changed, d.Diff)
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s; want %s", name, got, tt.want)
		}
	}
}
