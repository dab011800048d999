package execution

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

func ofOneDelegate(t *testing.T) (*Tasks, store.Delegate) {
	t.Helper()
	s, _, _ := claiming(t, nil)
	return s, store.Delegate{ID: "d1", Name: "d1", Scope: ref.Scope{Account: "acme"}, Kinds: []task.Kind{task.KindShell}}
}

// deploying makes a task of a stage and has the delegate claim it.
func deploying(t *testing.T, s *Tasks, d store.Delegate, id task.ID, stage string) task.Assignment {
	t.Helper()
	return deployingBy(t, s, d, "x1", id, stage)
}

// deployingBy makes a task of an execution, about a stage of x1.
func deployingBy(t *testing.T, s *Tasks, d store.Delegate, execution string, id task.ID, stage string) task.Assignment {
	t.Helper()
	payload, err := json.Marshal(task.Work{Execution: "x1", Stage: stage, Step: stage + ".spec.execution.steps." + string(id), Spec: json.RawMessage(`{}`)})
	must(t, err)
	_, err = s.Store.CreateTask(t.Context(), store.Task{
		ID: id, Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}, Execution: execution, Node: "n", Kind: task.KindShell, Payload: payload, CreatedAt: s.Now(), Token: "token",
	})
	must(t, err)
	got, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 1})
	must(t, err)
	if len(got) != 1 || got[0].ID != id {
		t.Fatalf("the claim gets %+v; want %s", got, id)
	}
	return got[0]
}

// What was there before the first attempt is what the rollback puts back,
// whatever a later attempt has found, and nobody reads it in the store.
func TestTheFirstCheckpointIsTheStages(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	const stage = "pipeline.stages.deploy"
	first := deploying(t, s, d, "t1", stage)
	kept, err := s.KeepCheckpoint(t.Context(), d, "t1", protocol.KeepCheckpoint{Fence: first.Fence, Key: "arn:web", Data: json.RawMessage(`{"image":"before"}`)})
	must(t, err)
	must(t, s.CompleteTask(t.Context(), d, "t1", protocol.Report{Fence: first.Fence, Result: task.Result{Status: task.Errored}}))

	second := deploying(t, s, d, "t2", stage)
	again, err := s.KeepCheckpoint(t.Context(), d, "t2", protocol.KeepCheckpoint{Fence: second.Fence, Key: "arn:web", Data: json.RawMessage(`{"image":"half made"}`)})
	must(t, err)
	if diff := cmp.Diff(kept, again); diff != "" || string(again.Data) != `{"image":"before"}` {
		t.Errorf("the second attempt gets %s (-first +second):\n%s", again.Data, diff)
	}
	_, err = s.KeepCheckpoint(t.Context(), d, "t2", protocol.KeepCheckpoint{Fence: second.Fence, Key: "arn:listener", Data: json.RawMessage(`1`)})
	must(t, err)
	all, err := s.Checkpoints(t.Context(), d, "t2", second.Fence)
	must(t, err)
	var keys []string
	for _, c := range all {
		keys = append(keys, c.Key)
	}
	if diff := cmp.Diff(2, len(keys)); diff != "" {
		t.Errorf("the stage has %v", keys)
	}
	stored, err := s.Store.ListCheckpoints(t.Context(), "x1", stage)
	must(t, err)
	for _, c := range stored {
		if bytes.Contains(c.Data, []byte("before")) {
			t.Errorf("%s is kept in clear", c.Key)
		}
	}

	other := deploying(t, s, d, "t3", "pipeline.stages.other")
	none, err := s.Checkpoints(t.Context(), d, "t3", other.Fence)
	must(t, err)
	if len(none) > 0 {
		t.Errorf("another stage has %v", none)
	}
}

// Who rolls an execution back that has succeeded, in an execution of its own,
// goes by what that one has found, and what it finds itself is that one's.
func TestARollbackHasTheCheckpointsOfWhatItRollsBack(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	const stage = "pipeline.stages.deploy"
	first := deploying(t, s, d, "t1", stage)
	_, err := s.KeepCheckpoint(t.Context(), d, "t1", protocol.KeepCheckpoint{Fence: first.Fence, Key: "arn:web", Data: json.RawMessage(`"before"`)})
	must(t, err)
	must(t, s.CompleteTask(t.Context(), d, "t1", protocol.Report{Fence: first.Fence, Result: task.Result{Status: task.Succeeded}}))

	back := deployingBy(t, s, d, "x2", "t2", stage)
	again, err := s.KeepCheckpoint(t.Context(), d, "t2", protocol.KeepCheckpoint{Fence: back.Fence, Key: "arn:web", Data: json.RawMessage(`"deployed"`)})
	must(t, err)
	all, err := s.Checkpoints(t.Context(), d, "t2", back.Fence)
	must(t, err)
	if len(all) != 1 || string(all[0].Data) != `"before"` || string(again.Data) != `"before"` {
		t.Errorf("the rollback has %+v, and keeps %s", all, again.Data)
	}
}

// The key may be a service that every use of it asks, and a delegate waits for
// the answer before its first change.
func TestWhatTheFirstTaskKeepsIsNotOpened(t *testing.T) {
	t.Parallel()
	s, master, _ := claiming(t, nil)
	d := store.Delegate{ID: "d1", Name: "d1", Scope: ref.Scope{Account: "acme"}, Kinds: []task.Kind{task.KindShell}}
	a := deploying(t, s, d, "t1", "pipeline.stages.deploy")
	master.err = errors.New("nothing can be opened")
	keep := protocol.KeepCheckpoint{Fence: a.Fence, Key: "arn:web", Data: json.RawMessage(`1`)}
	got, err := s.KeepCheckpoint(t.Context(), d, "t1", keep)
	must(t, err)
	want := task.Checkpoint{Key: "arn:web", Step: "pipeline.stages.deploy.spec.execution.steps.t1", At: s.Now(), Data: keep.Data}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("it gets (-want +got):\n%s", diff)
	}
	if _, err := s.KeepCheckpoint(t.Context(), d, "t1", keep); err == nil {
		t.Error("what was kept before isn't opened")
	}
}

func TestCheckpointsAreRefused(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	open(t, s, "plain")
	plain, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 1})
	must(t, err)
	a := deploying(t, s, d, "t1", "pipeline.stages.deploy")
	stranger := d
	stranger.ID = "another"
	long := strings.Repeat("k", task.MaxCheckpointKey)
	for _, tt := range []struct {
		name string
		by   store.Delegate
		task task.ID
		keep protocol.KeepCheckpoint
		want fault.Code
	}{
		{"a task that deploys nothing", d, "plain", protocol.KeepCheckpoint{Fence: plain[0].Fence, Key: "a"}, fault.Invalid},
		{"another delegate's task", stranger, "t1", protocol.KeepCheckpoint{Fence: a.Fence, Key: "a"}, fault.LeaseLost},
		{"a fence before", d, "t1", protocol.KeepCheckpoint{Fence: a.Fence - 1, Key: "a"}, fault.LeaseLost},
		{"no key", d, "t1", protocol.KeepCheckpoint{Fence: a.Fence}, fault.Invalid},
		{"a key past the bound", d, "t1", protocol.KeepCheckpoint{Fence: a.Fence, Key: long + "k"}, fault.Invalid},
		{"data past the bound", d, "t1", protocol.KeepCheckpoint{Fence: a.Fence, Key: "a", Data: make([]byte, task.MaxCheckpoint+1)}, fault.TooLarge},
		{"key and data at the bound", d, "t1", protocol.KeepCheckpoint{Fence: a.Fence, Key: long, Data: bytes.Repeat([]byte("1"), task.MaxCheckpoint)}, ""},
	} {
		if _, err := s.KeepCheckpoint(t.Context(), tt.by, tt.task, tt.keep); tt.want == "" && err != nil || tt.want != "" && !fault.Is(err, tt.want) {
			t.Errorf("%s: %v; want %s", tt.name, err, tt.want)
		}
	}
	for n := range 20 { // 3 MiB have room for 11 more
		_, err := s.KeepCheckpoint(t.Context(), d, "t1", protocol.KeepCheckpoint{Fence: a.Fence, Key: string(rune('a' + n)), Data: bytes.Repeat([]byte("1"), task.MaxCheckpoint)})
		if full := n >= 10; full != fault.Is(err, fault.TooLarge) {
			t.Fatalf("checkpoint %d: %v", n+1, err)
		}
	}
}
