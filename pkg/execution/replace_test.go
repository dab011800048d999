package execution

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// replacing is a Service with two tasks that the delegate d1 holds, and d2,
// the next process of the same delegate.
func replacing(t *testing.T) (s *Tasks, before, next store.Delegate, held []task.Assignment) {
	t.Helper()
	s, before, _ = disowning(t, "begun")
	open(t, s, "claimed")
	before.TokenID, before.LastSeen = "token", s.Now()
	next = before
	next.ID = "d2"
	for _, d := range []store.Delegate{before, next} {
		must(t, s.Store.PutDelegate(t.Context(), d))
	}
	held, err := s.ClaimTasks(t.Context(), before, protocol.Claim{Max: 2, Number: 1})
	must(t, err)
	if len(held) != 2 {
		t.Fatalf("the first process got %d tasks, want two", len(held))
	}
	return s, before, next, held
}

func begunTask() []protocol.Replaced {
	return []protocol.Replaced{{ID: "d1", Begun: []protocol.Held{{ID: "begun", Fence: 1}}}}
}

// What a killed process had not begun is the next one's by the same request;
// what it had begun has failed. Its late words are refused.
func TestAKilledProcessIsReplaced(t *testing.T) {
	t.Parallel()
	s, before, next, _ := replacing(t)
	got, err := s.ClaimTasks(t.Context(), next, protocol.Claim{Max: 5, Number: 1, Replaces: begunTask()})
	must(t, err)
	if len(got) != 1 || got[0].ID != "claimed" || got[0].Fence != 2 {
		t.Errorf("the next process gets %+v; want the task that wasn't begun, with the fence 2", got)
	}
	lost, err := s.Store.Task(t.Context(), "begun")
	must(t, err)
	want := &task.Result{Status: task.Failed, Message: "delegate d1 was killed before the task ended", FailureTypes: []fault.FailureType{fault.DelegateRestart}}
	if diff := cmp.Diff(want, lost.Result); diff != "" || lost.Status != store.TaskDone {
		t.Errorf("what was begun is %s (-want +got):\n%s", lost.Status, diff)
	}
	if err := s.CompleteTask(t.Context(), before, "claimed", protocol.Report{Fence: 1}); !fault.Is(err, fault.LeaseLost) {
		t.Errorf("a late result gives %v, want that its lease is lost", err)
	}
	// A late claim of the killed process gets nothing.
	open(t, s, "later")
	before, err = s.Store.Delegate(t.Context(), "acme", "d1")
	must(t, err)
	late, err := s.ClaimTasks(t.Context(), before, protocol.Claim{Max: 5, Number: 2})
	must(t, err)
	if len(late) > 0 {
		t.Errorf("a late claim of the killed process gets %v", late)
	}
	// One that was on its way when it was replaced is given back with the next word.
	_, err = s.Store.ClaimTasks(t.Context(), "d1", 2, []task.ID{"later"}, s.Now().Add(s.Lease))
	must(t, err)
	got, err = s.ClaimTasks(t.Context(), next, protocol.Claim{Max: 5, Number: 2, Replaces: begunTask()})
	must(t, err)
	if len(got) != 1 || got[0].ID != "later" {
		t.Errorf("the next claim gets %+v; want what the killed process got late", got)
	}
	must(t, s.Goodbye(t.Context(), before))
	_, err = s.ClaimTasks(t.Context(), next, protocol.Claim{Number: 3, Replaces: begunTask()}) // it is forgotten by now
	must(t, err)
}

// Only who could have registered as a delegate replaces it.
func TestNobodyReplacesAnothersDelegate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(d *store.Delegate, r *protocol.Replaced){
		"another token":   func(d *store.Delegate, _ *protocol.Replaced) { d.TokenID = "other" },
		"itself":          func(_ *store.Delegate, r *protocol.Replaced) { r.ID = "d2" },
		"one unknown":     func(_ *store.Delegate, r *protocol.Replaced) { r.ID = "d3" },
		"another account": func(d *store.Delegate, _ *protocol.Replaced) { d.Scope = ref.Scope{Account: "other"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, before, next, held := replacing(t)
			gone := begunTask()
			change(&next, &gone[0])
			_, err := s.ClaimTasks(t.Context(), next, protocol.Claim{Number: 1, Replaces: gone})
			must(t, err)
			for _, a := range held {
				if _, err := s.held(t.Context(), before, a.ID, a.Fence); err != nil {
					t.Errorf("task %s isn't held any more: %v", a.ID, err)
				}
			}
		})
	}
}

func TestReplacedProcessesAreBounded(t *testing.T) {
	t.Parallel()
	s, _, next, _ := replacing(t)
	_, err := s.ClaimTasks(t.Context(), next, protocol.Claim{Replaces: make([]protocol.Replaced, protocol.MaxReplaced)})
	must(t, err)
	_, err = s.ClaimTasks(t.Context(), next, protocol.Claim{Replaces: make([]protocol.Replaced, protocol.MaxReplaced+1)})
	if !fault.Is(err, fault.TooLarge) {
		t.Errorf("one too many gives %v, want that it is too large", err)
	}
}

// What was begun in a session of the machine goes on there: the next process on
// it has the task in its first attempt, as no other machine's has.
func TestASessionsTaskIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine string
		want    store.TaskStatus
	}{
		"the same machine": {"m1", store.TaskClaimed},
		"another one":      {"m2", store.TaskDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, before, next, _ := replacing(t)
			before.Machine, next.Machine = "m1", c.machine
			_, err := s.Store.CreateTask(t.Context(), store.Task{ID: "long", Scope: before.Scope, Execution: "e", Node: "n", Kind: task.KindShell, Machine: "m1", Status: store.TaskOpen, CreatedAt: s.Now()})
			must(t, err)
			held, err := s.ClaimTasks(t.Context(), before, protocol.Claim{Max: 1, Number: 2})
			must(t, err)
			if len(held) != 1 || held[0].ID != "long" {
				t.Fatalf("the first process got %+v", held)
			}
			gone := []protocol.Replaced{{ID: "d1", Begun: []protocol.Held{{ID: "long", Fence: 1}}}}
			got, err := s.ClaimTasks(t.Context(), next, protocol.Claim{Max: 5, Number: 1, Replaces: gone})
			must(t, err)
			now, err := s.Store.Task(t.Context(), "long")
			must(t, err)
			if now.Status != c.want || now.Status == store.TaskClaimed && (now.Delegate != next.ID || now.Fence != 2 || len(got) == 0) {
				t.Errorf("the task is %s, of %q with the fence %d; the next process got %+v", now.Status, now.Delegate, now.Fence, got)
			}
		})
	}
}
