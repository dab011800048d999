package feed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

var (
	scope = ref.Scope{Account: "acme", Org: "default", Project: "web"}
	noon  = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

// tree is a plan with one node of each kind.
func tree(t *testing.T) *plan.Plan {
	t.Helper()
	p, err := plan.Decode([]byte(`{"root": {"id": "pipeline", "kind": "pipeline", "children": [
		{"id": "pipeline.stages.s", "kind": "stage", "identifier": "s", "name": "S", "type": "Custom", "children": [
			{"id": "pipeline.stages.s#0", "kind": "parallel", "children": [
				{"id": "pipeline.stages.s.g", "kind": "stepGroup", "identifier": "g", "children": [
					{"id": "pipeline.stages.s.g.a", "kind": "step", "identifier": "a", "name": "A", "type": "Http"}]}]}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func reader(t *testing.T) *feed.Reader {
	t.Helper()
	s := open(t)
	e := store.Execution{ID: "x1", Scope: scope, Pipeline: "p", Name: "P", PlanHash: "h", Status: plan.Running, Actor: "ann", StartedAt: noon}
	if _, err := s.CreateExecution(t.Context(), e, []byte(`{}`), audit.Record{Scope: scope, Action: audit.Start}); err != nil {
		t.Fatal(err)
	}
	p := tree(t)
	return feed.NewReader(s, func(_ context.Context, hash string) (*plan.Plan, error) {
		if hash != "h" {
			return nil, errors.New("no such plan")
		}
		return p, nil
	})
}

func TestEventTypes(t *testing.T) {
	t.Parallel()
	const stage, step = "pipeline.stages.s", "pipeline.stages.s.g.a"
	tests := []struct {
		node          plan.NodeID
		before, after plan.Status
		want          string
	}{
		{stage, "", plan.Running, "Stage Started"},
		{stage, plan.Queued, plan.Running, "Stage Started"},
		{stage, "", plan.Queued, ""},
		{stage, "", plan.ResourceWaiting, "Stage Started"},
		{stage, plan.ResourceWaiting, plan.Running, ""},
		{stage, plan.Running, plan.InterventionWaiting, ""},
		{stage, plan.Running, plan.Failed, "Stage Ended"},
		{stage, "", plan.Skipped, "Stage Ended"},
		{step, "", plan.TaskWaiting, "Step Started"},
		{step, plan.TaskWaiting, plan.Running, ""},
		{step, "", plan.ApprovalWaiting, "Step Started, Approval Waiting"},
		{step, plan.Running, plan.ApprovalWaiting, "Approval Waiting"},
		{step, plan.Running, plan.InterventionWaiting, "Intervention Waiting"},
		{step, plan.InterventionWaiting, plan.Running, ""},
		{step, "", plan.InputWaiting, "Step Started, Input Waiting"},
		{step, plan.InputWaiting, plan.InputWaiting, ""},
		{stage, "", plan.InputWaiting, "Stage Started, Input Waiting"},
		{step, plan.ApprovalWaiting, plan.ApprovalRejected, "Step Ended"},
		{step, plan.Running, plan.Success, "Step Ended"},
		{"pipeline", "", plan.Running, ""},
		{"pipeline.stages.s#0", "", plan.Running, ""},
		{"pipeline.stages.s.g", plan.Running, plan.Success, ""},
	}
	r := reader(t)
	for _, tt := range tests {
		n := store.Node{Execution: "x1", ID: tt.node, Version: 3, State: plan.State{Status: tt.after}}
		events, err := r.Events(t.Context(), store.Change{At: noon, Before: tt.before, Node: &n})
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, e := range events {
			types = append(types, string(e.Type))
		}
		if got := strings.Join(types, ", "); got != tt.want {
			t.Errorf("%s: %q to %q: events %q, want %q", tt.node, tt.before, tt.after, got, tt.want)
		}
	}
}

// What another execution has told of isn't told again, but what becomes of it
// here is.
func TestWhatIsTakenOverIsNoEvent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		before, after plan.Status
		want          int
	}{
		{"a stage that is kept", "", plan.Success, 0},
		{"one that failed", "", plan.Failed, 0},
		{"one that was left while it ran", "", plan.Running, 0},
		{"its rollback begins", plan.Success, plan.Running, 0},
		{"its rollback has ended", plan.Running, plan.Failed, 1},
	}
	r := reader(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := store.Node{Execution: "x1", ID: "pipeline.stages.s", Version: 1, State: plan.State{Status: tt.after, Inherited: true}}
			events, err := r.Events(t.Context(), store.Change{At: noon, Before: tt.before, Node: &n})
			if err != nil || len(events) != tt.want {
				t.Errorf("the events are %+v, %v; want %d", events, err, tt.want)
			}
		})
	}
}

func TestWhatAnEventSays(t *testing.T) {
	t.Parallel()
	about := feed.Detail{
		Account: "acme", Org: "default", Project: "web", Actor: "ann", Execution: "x1", Pipeline: "p", PipelineName: "P", Sequence: 1,
	}
	node := about
	node.ID, node.Status = "x1/pipeline.stages.s.g.a/3/step-ended", plan.Failed
	node.Stage = &feed.Node{Node: "pipeline.stages.s", ID: "s", Name: "S", Type: "Custom"}
	node.Step = &feed.Node{Node: "pipeline.stages.s.g.a", ID: "a", Name: "A", Type: "Http"}
	node.Message, node.StartedAt, node.EndedAt = strings.Repeat("é", 1022)+"…", noon, noon.Add(time.Minute)
	execution := about
	execution.ID, execution.Status, execution.StartedAt = "x1/1/execution-started", plan.Running, noon
	tests := map[string]struct {
		change store.Change
		want   feed.Event
	}{
		"a step that failed": {
			store.Change{At: noon, Before: plan.Running, Node: &store.Node{Execution: "x1", ID: "pipeline.stages.s.g.a", Version: 3, State: plan.State{
				Status: plan.Failed, Message: strings.Repeat("é", 5000), StartedAt: noon, EndedAt: noon.Add(time.Minute),
			}}},
			feed.Event{Type: feed.StepEnded, At: noon, Detail: node},
		},
		"an execution that starts": {
			store.Change{At: noon, Execution: &store.Execution{
				ID: "x1", Scope: scope, Pipeline: "p", Name: "P", Sequence: 1, Status: plan.Running, Actor: "ann", StartedAt: noon, Version: 1,
			}},
			feed.Event{Type: feed.ExecutionStarted, At: noon, Detail: execution},
		},
		"an entity that was changed": {
			store.Change{At: noon, Audit: &audit.Record{Sequence: 7, Actor: "bob", Scope: scope, Action: audit.Update, Kind: "service", ID: "shop", After: "secret"}},
			feed.Event{Type: feed.EntitySaved, At: noon, Detail: feed.Detail{
				ID: "acme/7/entity-saved", Account: "acme", Org: "default", Project: "web", Actor: "bob", Entity: &feed.Entity{Kind: "service", ID: "shop"},
			}},
		},
	}
	r := reader(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := r.Events(t.Context(), tt.change)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]feed.Event{tt.want}, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// What people do besides is in the audit trail only.
func TestOtherRecordsAreNoEvents(t *testing.T) {
	t.Parallel()
	for _, a := range []audit.Action{audit.Start, audit.Abort, audit.Approve, audit.CreateToken, audit.CreateLink} {
		events, err := reader(t).Events(t.Context(), store.Change{Audit: &audit.Record{Scope: scope, Action: a}})
		if err != nil || len(events) > 0 {
			t.Errorf("%s makes the events %v, %v", a, events, err)
		}
	}
}
