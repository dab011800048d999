package awssam_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A rollback takes back what its stage has deployed, and nothing that another one has
// deployed since.
func TestRollbackAfterAnotherDeployment(t *testing.T) {
	t.Parallel()
	const stays = "somebody else has deployed stack app since"
	for name, c := range map[string]struct {
		back []int  // which of the three deployments, of 30, 60 and 90 seconds, are taken back
		want string // the seconds of the queue then; empty: the stack is gone
		says string // by the last of them
	}{
		"of the first":                      {[]int{0}, "90", stays},
		"of an update":                      {[]int{1}, "90", stays},
		"that was taken back":               {[]int{2, 1}, "30", "gets the template, the parameters and the tags back"},
		"that was taken back, of the first": {[]int{2, 1, 0}, "", "it is deleted"},
		"which was taken back over it":      {[]int{2, 0}, "60", stays},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testaws.NewWorld(t)
			var stages []*stage
			for _, seconds := range []string{"30", "60", "90"} {
				s := begin(t, w, map[string]string{"template.json": queue("Queue", seconds)})
				s.Execution = "of" + seconds
				s.sam(lane.OpDeploy, task.Succeeded)
				stages = append(stages, s)
			}
			last := stages[0]
			for _, n := range c.back {
				last = stages[n]
				last.sam(lane.OpRollback, task.Succeeded)
			}
			last.Says(c.says)
			switch status, doc := last.Stack("app"); {
			case c.want == "" && status != "":
				t.Errorf("the stack is %s", status)
			case c.want != "" && !strings.Contains(doc, `"VisibilityTimeout": `+c.want):
				t.Errorf("the stack is %s and has %s", status, doc)
			}
		})
	}
}
