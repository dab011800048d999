package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// provisions puts nodes into the provisioner section of their stage.
func provisions(n *plan.Node) { n.Provisions = true }

// made is a stage with a step, and what undoes it, in its provisioner section and
// in its execution.
func made(edits ...func(*plan.Node)) *plan.Node {
	n := stage("s", st("make", append(edits, provisions)...), st("deploy", edits...))
	return deploys(rolling(n, st("back"), st("unmake", provisions)), "type: K")
}

// semantics/pipeline §7.16: what a stage deploys to is made first, and undone
// last.
func TestAStageMakesItsInfrastructure(t *testing.T) {
	t.Parallel()
	back := level(on(act(plan.StageRollback)))
	broken := map[string][]any{"make": {fails{fault.Unknown}}}
	tests := []struct {
		name   string
		plan   *plan.Node
		script map[string][]any
		nobody bool // knows in which queue it stands
		ends   string
		turned []int
	}{
		{name: "it waits for its turn once it is made", plan: pipeline(made()), ends: "p:Success s:Success make:Success deploy:Success", turned: []int{1}},
		{name: "what makes it fails, and only that is undone", plan: pipeline(made(back)), script: broken, ends: "p:Failed s:Failed make:Failed unmake:Success"},
		{
			name: "the deployment fails, and is undone before what makes it", plan: pipeline(made(back)), turned: []int{1},
			script: map[string][]any{"deploy": {fails{fault.Unknown}}}, ends: "p:Failed s:Failed make:Success deploy:Failed back:Success unmake:Success",
		},
		{
			name: "nothing is made, so nothing of that is undone", turned: []int{0}, script: map[string][]any{"deploy": {fails{fault.Unknown}}},
			plan: pipeline(deploys(rolling(stage("s", st("make", provisions, when("All", "false")), st("deploy", back)), st("back"), st("unmake", provisions)), "type: K")),
			ends: "p:Failed s:Failed make:Skipped deploy:Failed back:Success",
		},
		{name: "without a strategy nothing is deployed", plan: pipeline(made()), script: broken, ends: "p:Failed s:Failed make:Failed deploy:Skipped"},
		{name: "where it deploys to isn't known", plan: pipeline(made()), nobody: true, ends: "p:Failed s:Failed make:Success"},
		{name: "and what is made is undone by its strategy", plan: pipeline(with(made(), back)), nobody: true, ends: "p:Failed s:Failed make:Success unmake:Success"},
		{
			name: "or that of the pipeline", plan: pipeline(with(made(), level(on(act(plan.PipelineRollback))))), nobody: true,
			ends: "p:Failed s:Failed make:Success unmake:Success",
		},
		{
			name: "the pipeline is rolled back", plan: pipeline(made(), stage("t", st("x", level(on(act(plan.PipelineRollback)))))), turned: []int{1, 3},
			script: map[string][]any{"x": {fails{fault.Unknown}}}, ends: "p:Failed s:Success make:Success deploy:Success back:Success unmake:Success t:Failed x:Failed",
		},
		{
			name: "groups are undone with their section", plan: pipeline(deploys(rolling(stage("s",
				with(rolling(group("g", st("make")), st("g1")), provisions), rolling(group("h", st("deploy", back)), st("h1"))), st("back"), st("unmake", provisions)), "type: K")),
			script: map[string][]any{"deploy": {fails{fault.Unknown}}}, turned: []int{1},
			ends: "p:Failed s:Failed g:Success make:Success g1:Success h:Failed deploy:Failed h1:Success back:Success unmake:Success",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, tt.plan)
			s.twice, s.turn, s.queueless, s.script = true, !tt.nobody, tt.nobody, tt.script
			s.run("p")
			if diff := cmp.Diff(tt.ends, s.ends()); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.turned, s.turned); diff != "" {
				t.Errorf("steps that had begun at its turn (-want +got):\n%s", diff)
			}
		})
	}
}

// What undoes a deployment runs before what undoes its infrastructure.
func TestAStageIsUndoneInReverse(t *testing.T) {
	t.Parallel()
	s := newSim(t, pipeline(deploys(rolling(stage("s",
		with(rolling(group("g", st("make")), st("g1")), provisions),
		rolling(group("h", st("deploy", level(on(act(plan.StageRollback))))), st("h1"))), st("back"), st("unmake", provisions)), "type: K")))
	s.turn, s.script = true, map[string][]any{"deploy": {fails{fault.Unknown}}}
	s.run("p")
	if diff := cmp.Diff([]string{"make", "deploy", "h1", "back", "g1", "unmake"}, s.begun); diff != "" {
		t.Errorf("begun (-want +got):\n%s", diff)
	}
}
