package awssam_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/workspace/workspacetest"
	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

// watched looks once at the stacks that a step has deployed.
func (s *stage) watched(r task.Result) task.Workload {
	s.t.Helper()
	place, err := json.Marshal(lane.Place{AWS: workspacetest.Account()})
	if err != nil {
		s.t.Fatal(err)
	}
	w := task.Watch{Kind: lane.Kind, Place: place, Workloads: []task.Workload{{Resource: r.Changes[0].Workloads[0].Resource}}}
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	var seen task.Observed
	_ = awsstack.Watch(s.Accesses, lane.Place.Account, 0)(ctx, w, func(_ context.Context, o task.Observed) error { // it ends because it is stopped
		seen = o
		stop()
		return nil
	})
	if len(seen.Workloads) != 1 {
		s.t.Fatalf("seen is %+v", seen)
	}
	return seen.Workloads[0]
}

// A stack that was changed since is in another state than the step has left it.
func TestAStackThatIsChangedSince(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	s := begin(t, w, map[string]string{"template.json": queue("Queue", "30")})
	r := s.sam(lane.OpDeploy, task.Succeeded)
	left := r.Changes[0].Workloads[0].State
	if seen := s.watched(r); left == "" || seen.State != left {
		t.Errorf("the step left it %q; seen is %q", left, seen.State)
	}
	other := begin(t, w, map[string]string{"template.json": queue("Queue", "60")})
	other.sam(lane.OpDeploy, task.Succeeded)
	if seen := s.watched(r); seen.State == left || seen.State == "" {
		t.Errorf("changed since, seen is %q; the step left it %q", seen.State, left)
	}
	other.sam(lane.OpRollback, task.Succeeded)
	s.sam(lane.OpRollback, task.Succeeded)
	if seen := s.watched(r); !seen.Gone {
		t.Errorf("deleted since, seen is %+v", seen)
	}
}
