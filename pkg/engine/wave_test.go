package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// deployments are those of the services a and b to the infrastructures x and
// y, in their order, with a wave each.
func deployments(lined bool, waves ...int) plan.Iterations {
	its := plan.Iterations{Lined: lined}
	for i, wave := range waves {
		its.List = append(its.List, plan.Iteration{
			Postfix: fmt.Sprintf("_%d", i), Wave: wave,
			Choice: &plan.Choice{Service: plan.Pick{Ref: string("ab"[i%2])}, Infrastructure: plan.Pick{Ref: string("xy"[i/2])}},
		})
	}
	return its
}

// semantics/entities §5.2: deployments that follow each other do so wave by
// wave; where services follow each other, one that fails stops those after it
// on its infrastructure.
func TestDeploymentsRunInWaves(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		its   plan.Iterations
		fails string // which iteration does
		edit  func(*plan.Loop)
		ends  string
		waves []int
	}{
		{
			name: "all of a wave end before the next begins, whatever happens in it", its: deployments(false, 0, 0, 1, 1), fails: "s_0",
			ends: "p:Failed s:Failed s_0:Failed s_1:Success s_2:Success s_3:Success", waves: []int{2, 2},
		},
		{
			name: "a service that fails stops those after it on its infrastructure", its: deployments(true, 0, 1, 2, 3), fails: "s_0",
			ends: "p:Failed s:Failed s_0:Failed s_1:Skipped s_2:Success s_3:Success", waves: []int{1, 1, 1, 1},
		},
		{
			name: "the last one stops nobody", its: deployments(true, 0, 1, 2, 3), fails: "s_1",
			ends: "p:Failed s:Failed s_0:Success s_1:Failed s_2:Success s_3:Success", waves: []int{1, 1, 1, 1},
		},
		{
			name: "SkipQueued stops all", its: deployments(true, 0, 1, 2, 3), fails: "s_1", edit: skipQueued,
			ends: "p:Failed s:Failed s_0:Success s_1:Failed s_2:Skipped s_3:Skipped", waves: []int{1, 1, 1, 1},
		},
	}
	for _, tt := range tests {
		for _, twice := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, twice: %v", tt.name, twice), func(t *testing.T) {
				t.Parallel()
				edits := []func(*plan.Loop){func(l *plan.Loop) { l.Deploys = true }}
				if tt.edit != nil {
					edits = append(edits, tt.edit)
				}
				s := newSim(t, pipeline(loop(stage("s", st("a")), edits...)))
				s.twice, s.loops = twice, map[string]any{"s": tt.its}
				s.script = map[string][]any{"p." + tt.fails + ".a": {fails{fault.Unknown}}}
				s.run("p")
				if diff := cmp.Diff(tt.ends, strings.ReplaceAll(strings.ReplaceAll(s.ends(), " a:Success", ""), " a:Failed", "")); diff != "" {
					t.Errorf("ends (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.waves, s.waves); diff != "" {
					t.Errorf("iterations of each wave (-want +got):\n%s", diff)
				}
			})
		}
	}
}
