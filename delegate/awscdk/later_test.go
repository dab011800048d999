package awscdk_test

import (
	"strings"
	"testing"

	steps "github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A rollback takes back what its execution has deployed, and nothing that another
// one has deployed since.
func TestRollbackAfterAnotherDeployment(t *testing.T) {
	t.Parallel()
	type act struct {
		execution string
		op        steps.Op
		seconds   string // of the queue that is in the workspace
	}
	for name, c := range map[string]struct {
		after []act // the first deployment, which is e1's and has 30 seconds
		want  string
		says  string
	}{
		"of an update": {
			[]act{{"e2", steps.OpDeploy, "60"}, {"e3", steps.OpDeploy, "90"}, {"e2", steps.OpRollback, "30"}}, "90",
			"Nothing is rolled back: execution e3 has deployed by the provisioner web since",
		},
		"of the first": {
			[]act{{"e2", steps.OpDeploy, "60"}, {"e1", steps.OpRollback, "30"}}, "60", "execution e2 has deployed",
		},
		"that was taken back": {
			[]act{{"e2", steps.OpDeploy, "60"}, {"e3", steps.OpDeploy, "90"}, {"e3", steps.OpRollback, "60"}, {"e2", steps.OpRollback, "30"}}, "30",
			"Going back to how execution e1 has deployed.",
		},
		"that was taken back, of the first": {
			[]act{{"e2", steps.OpDeploy, "60"}, {"e2", steps.OpRollback, "30"}, {"e1", steps.OpRollback, "10"}}, "30", "Nothing to roll back to",
		},
		"which both took back": {
			[]act{{"e2", steps.OpDeploy, "60"}, {"e3", steps.OpDeploy, "90"}, {"e2", steps.OpRollback, "30"}, {"e3", steps.OpRollback, "60"}}, "60",
			"Going back to how execution e2 has deployed.",
		},
		"twice": {
			[]act{{"e2", steps.OpDeploy, "60"}, {"e2", steps.OpRollback, "30"}, {"e2", steps.OpRollback, "30"}}, "30", "Going back to how execution e1 has deployed.",
		},
		"and then its own again": {
			[]act{{"e2", steps.OpDeploy, "60"}, {"e3", steps.OpDeploy, "90"}, {"e2", steps.OpDeploy, "60"}, {"e2", steps.OpRollback, "90"}}, "90",
			"Going back to how execution e3 has deployed.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := deployed(t)
			for _, a := range c.after {
				l.Execution = a.execution
				l.put(app("Queue", a.seconds))
				l.do(a.op, task.Succeeded)
			}
			if got := l.template("One"); !strings.Contains(got, `"VisibilityTimeout": `+c.want) || !strings.Contains(l.Log(), c.says) {
				t.Errorf("the stack has %s; want %s seconds; the log is\n%s\nwant %q", got, c.want, l.Log(), c.says)
			}
		})
	}
}
