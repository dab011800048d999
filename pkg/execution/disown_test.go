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

// What a lost claim got is open again, and given by the same request; what the
// delegate got otherwise stays its own.
func TestALostClaimIsOfferedAgain(t *testing.T) {
	t.Parallel()
	s, d, rung := disowning(t, "t1")
	lost, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 1, Number: 1})
	must(t, err)
	open(t, s, "t2")
	kept, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 1, Number: 2})
	must(t, err)
	if len(lost) != 1 || len(kept) != 1 {
		t.Fatalf("the claims got %d and %d tasks, want one each", len(lost), len(kept))
	}
	again, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 5, Number: 3, Lost: []int64{1}})
	must(t, err)
	if len(again) != 1 || again[0].ID != "t1" || again[0].Fence != 2 || rung.rung != 1 {
		t.Errorf("the next claim gets %+v, and %d were woken; want t1 with the fence 2, and one", again, rung.rung)
	}
	if err := s.CompleteTask(t.Context(), d, "t1", protocol.Report{Fence: lost[0].Fence}); !fault.Is(err, fault.LeaseLost) {
		t.Errorf("a result with the fence before gives %v, want that its lease is lost", err)
	}
	if held, err := s.held(t.Context(), d, "t2", 1); err != nil || held.Claim != 2 {
		t.Errorf("the other task is %+v, %v; want it held by the second claim", held, err)
	}
	// A late word of the same changes nothing.
	_, err = s.ClaimTasks(t.Context(), d, protocol.Claim{Number: 4, Lost: []int64{1}})
	must(t, err)
	if _, err := s.held(t.Context(), d, "t1", 2); err != nil {
		t.Errorf("what was claimed anew isn't held any more: %v", err)
	}
}

// Sent twice on its way, a claim gets what its first copy got, and what has come
// since: the delegate hears one answer of the two.
func TestAClaimThatComesTwice(t *testing.T) {
	t.Parallel()
	s, d, _ := disowning(t, "t1")
	for _, want := range [][]task.ID{{"t1"}, {"t1"}, {"t2", "t1"}} {
		if len(want) > 1 {
			open(t, s, "t2")
		}
		got, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 5, Number: 1})
		must(t, err)
		var ids []task.ID
		for _, a := range got {
			ids = append(ids, a.ID)
			if a.Fence != 1 || len(a.Payload) == 0 {
				t.Errorf("task %s comes with the fence %d and the payload %q", a.ID, a.Fence, a.Payload)
			}
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("the claim gets (-want +got):\n%s", diff)
		}
	}
	got, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 5, Number: 2})
	must(t, err)
	if len(got) > 0 {
		t.Errorf("the next claim gets %v", got)
	}
}

// Nobody disowns what another delegate was given.
func TestALostClaimIsTheDelegatesOwn(t *testing.T) {
	t.Parallel()
	s, d, _ := disowning(t, "t1")
	_, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 1, Number: 1})
	must(t, err)
	other := d
	other.ID = "d2"
	_, err = s.ClaimTasks(t.Context(), other, protocol.Claim{Number: 2, Lost: []int64{1}})
	must(t, err)
	if _, err := s.held(t.Context(), d, "t1", 1); err != nil {
		t.Errorf("the task isn't held any more: %v", err)
	}
}

// A delegate that is stopping gives back as well, and a task that never comes
// through isn't offered for ever.
func TestALostClaimEnds(t *testing.T) {
	t.Parallel()
	s, d, _ := disowning(t, "t1")
	for n := int64(1); n <= mostClaims; n++ {
		got, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 1, Number: n})
		must(t, err)
		if len(got) != 1 {
			t.Fatalf("claim %d gets %d tasks", n, len(got))
		}
		stopping := d
		stopping.Draining = true
		_, err = s.ClaimTasks(t.Context(), stopping, protocol.Claim{Lost: []int64{n}})
		must(t, err)
		want := store.TaskOpen
		if n == mostClaims {
			want = store.TaskDone
		}
		if got, err := s.Store.Task(t.Context(), "t1"); err != nil || got.Status != want {
			t.Fatalf("after %d lost claims the task is %s, %v; want %s", n, got.Status, err, want)
		}
	}
	_, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Lost: make([]int64, MaxLost)})
	must(t, err)
	if _, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Lost: make([]int64, MaxLost+1)}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a claim that names %d lost ones gives %v, want that it is too large", MaxLost+1, err)
	}
}

// disowning is a Service with an open task, and a delegate.
func disowning(t *testing.T, id task.ID) (*Tasks, store.Delegate, *bells) {
	t.Helper()
	s, _, rung := claiming(t, nil)
	open(t, s, id)
	return s, store.Delegate{ID: "d1", Name: "d1", Scope: ref.Scope{Account: "acme"}, Kinds: []task.Kind{task.KindShell}}, rung
}

func open(t *testing.T, s *Tasks, id task.ID) {
	t.Helper()
	_, err := s.Store.CreateTask(t.Context(), store.Task{
		ID: id, Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}, Kind: task.KindShell, CreatedAt: s.Now(), Payload: []byte(`{}`), Token: "token",
	})
	must(t, err)
}
