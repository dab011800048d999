package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

func deploysLate(n *plan.Node) { n.Deployment = &plan.Deployment{Late: true} }

// semantics/entities §5: what a stage deploys is chosen once, when it starts; a
// stage that can't choose fails by its strategy.
func TestAStageChoosesWhatItDeploys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		plan *plan.Node
		err  error
		ends string
		want int // choices
	}{
		{
			name: "it goes on with what it chose, once, when it rolls back too", want: 1,
			plan: pipeline(with(rolling(stage("s", st("a", level(on(act(plan.StageRollback)))), st("c")), st("r")), deploysLate)),
			ends: "p:Failed s:Failed a:Failed r:Success",
		},
		{
			name: "it fails", want: 1, err: fault.New(fault.NotFound, "there is no service"),
			plan: pipeline(with(stage("s", st("a")), deploysLate), stage("t", st("b"))), ends: "p:Failed s:Failed t:Skipped",
		},
		{
			name: "no strategy can ignore it", want: 1, err: fault.New(fault.NotFound, "there is no service"),
			plan: pipeline(with(stage("s", st("a")), deploysLate, level(on(act(plan.Ignore)))), stage("t", st("b"))),
			ends: "p:Failed s:Failed t:Skipped",
		},
		{
			name: "its strategy rolls the pipeline back", want: 1, err: fault.New(fault.NotFound, "there is no service"),
			plan: pipeline(rolling(stage("r", st("b")), st("c")), with(stage("s", st("a")), deploysLate, level(on(act(plan.PipelineRollback))))),
			ends: "p:Failed r:Success b:Success c:Success s:Failed",
		},
		{
			name: "one that is skipped chooses nothing",
			plan: pipeline(with(stage("s", st("a")), deploysLate, when("All", "false"))), ends: "p:Success s:Skipped",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, tt.plan)
			s.script = map[string][]any{"a": {fails{fault.Unknown}}}
			s.turn = true
			chosen := 0
			s.choose = func() (*plan.Deployment, error) {
				chosen++
				return &plan.Deployment{}, tt.err
			}
			s.run("p")
			if diff := cmp.Diff(tt.ends, s.ends()); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
			if chosen != tt.want {
				t.Errorf("it chose %d times; want %d", chosen, tt.want)
			}
		})
	}
}
