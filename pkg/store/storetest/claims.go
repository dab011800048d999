package storetest

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

func claimCases() []testCase {
	return []testCase{
		{"a claim gives the task and its fence", claimTask},
		{"a claim leaves out what somebody else has", claimSome},
		{"every task is claimed by one of many", raceClaim},
		{"only the holder renews", renewTask},
		{"a holder learns that its task was cancelled", renewCancelled},
		{"only the holder completes", completeTask},
		{"the first result stays", completeAgain},
		{"many results of one holder are one", raceComplete},
		{"a cancelled task takes no result", completeCancelled},
		{"one of cancel and result wins", raceCancelAndComplete},
		{"a cancelled task stays so however many claim it", raceCancelAndClaim},
		{"cancelling leaves an ended task alone", cancelEnded},
		{"a released task is open again and keeps its fence", releaseTask},
		{"releasing twice takes it from nobody", releaseTwice},
		{"a delegate's tasks are those that it holds", delegateTasks},
		{"nothing can be done to a task that isn't there", taskMissing},
	}
}

// claim takes one open task until at(60).
func (b *bench) claim(name, delegate string) store.Task {
	b.Helper()
	list, err := b.Store.ClaimTasks(b.ctx(), delegate, 1, []task.ID{b.taskID(name)}, at(60))
	b.ok(err)
	if len(list) != 1 {
		b.Fatalf("claimed %d tasks, want 1", len(list))
	}
	return list[0]
}

// claimed is a task as its first holder has it.
func (b *bench) claimed(name, delegate string) store.Task {
	t := b.task(name)
	t.Status, t.Delegate, t.Claim, t.Fence, t.LeaseUntil = store.TaskClaimed, delegate, 1, 1, at(60)
	return t
}

func result() task.Result {
	return task.Result{
		Status: task.Succeeded, Message: "done <well> & good", Outputs: json.RawMessage(`{"output":{"x":"1"}}`),
		Changes: []task.Change{{Target: "kubernetes:web/1", Action: "applied", Resources: []string{"apps/Deployment/web/web"}}},
	}
}

func claimTask(b *bench) {
	b.createTask("t1")
	want := b.claimed("t1", "d1")
	same(b, "claimed", want, b.claim("t1", "d1"))
	same(b, "read", want, b.readTask("t1"))
}

func claimSome(b *bench) {
	for _, name := range []string{"a", "b", "c"} {
		b.createTask(name)
	}
	b.claim("b", "d1")
	ids := []task.ID{b.taskID("c"), b.taskID("b"), b.taskID("none"), b.taskID("a"), b.taskID("a")}
	list, err := b.Store.ClaimTasks(b.ctx(), "d2", 1, ids, at(60))
	b.ok(err)
	same(b, "claimed", []store.Task{b.claimed("c", "d2"), b.claimed("a", "d2")}, list)
	list, err = b.Store.ClaimTasks(b.ctx(), "d3", 1, ids, at(60))
	b.ok(err)
	same(b, "claimed of none", nil, list)
	list, err = b.Store.ClaimTasks(b.ctx(), "d3", 1, nil, at(60))
	b.ok(err)
	same(b, "claimed without ids", nil, list)
}

func raceClaim(b *bench) {
	var ids []task.ID
	for _, name := range numbered("t", 20) {
		ids = append(ids, b.createTask(name).ID)
	}
	var mu sync.Mutex
	holder := map[task.ID]string{}
	b.allSucceed(func(i int) error {
		me := fmt.Sprint("d", i)
		list, err := b.Store.ClaimTasks(b.ctx(), me, 1, ids, at(60))
		mu.Lock()
		defer mu.Unlock()
		for _, t := range list {
			if other, taken := holder[t.ID]; taken || t.Delegate != me || t.Fence != 1 {
				return fmt.Errorf("task %s with fence %d is given to %s; it was given to %q", t.ID, t.Fence, t.Delegate, other)
			}
			holder[t.ID] = me
		}
		return err
	})
	same(b, "tasks claimed", len(ids), len(holder))
	for id, delegate := range holder {
		t, err := b.Store.Task(b.ctx(), id)
		b.ok(err)
		same(b, "holder", delegate, t.Delegate)
	}
}

func renewTask(b *bench) {
	b.createTask("t1")
	_, err := b.Store.RenewTask(b.ctx(), b.taskID("t1"), "", 0, at(90))
	b.refused(err, fault.LeaseLost)
	want := b.claim("t1", "d1")
	for _, c := range []struct {
		delegate string
		fence    int64
	}{{"d2", 1}, {"d1", 2}, {"d1", 0}} {
		_, err := b.Store.RenewTask(b.ctx(), want.ID, c.delegate, c.fence, at(90))
		b.refused(err, fault.LeaseLost)
	}
	same(b, "after refusals", want, b.readTask("t1"))
	got, err := b.Store.RenewTask(b.ctx(), want.ID, "d1", 1, at(90))
	b.ok(err)
	want.LeaseUntil = at(90)
	sameTask(b, "renewed", want, got)
	same(b, "read", want, b.readTask("t1"))
}

func renewCancelled(b *bench) {
	b.createTask("t1")
	b.claim("t1", "d1")
	cancelled, err := b.Store.CancelTask(b.ctx(), b.taskID("t1"))
	b.ok(err)
	got, err := b.Store.RenewTask(b.ctx(), b.taskID("t1"), "d1", 1, at(90))
	b.ok(err)
	sameTask(b, "renewed", cancelled, got)
	same(b, "status", store.TaskCancelled, got.Status)
	held := b.readTask("t1") // who held it until when
	same(b, "holder", "d1", held.Delegate)
	same(b, "lease", at(60), held.LeaseUntil)
	_, err = b.Store.RenewTask(b.ctx(), b.taskID("t1"), "d2", 1, at(90))
	b.refused(err, fault.LeaseLost)
}

func completeTask(b *bench) {
	b.createTask("t1")
	_, err := b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "", 0, result())
	b.refused(err, fault.LeaseLost)
	want := b.claim("t1", "d1")
	for _, c := range []struct {
		delegate string
		fence    int64
	}{{"d2", 1}, {"d1", 2}} {
		_, err := b.Store.CompleteTask(b.ctx(), want.ID, c.delegate, c.fence, result())
		b.refused(err, fault.LeaseLost)
	}
	same(b, "after refusals", want, b.readTask("t1"))
	got, err := b.Store.CompleteTask(b.ctx(), want.ID, "d1", 1, result())
	b.ok(err)
	r := result()
	want.Status, want.Result = store.TaskDone, &r
	sameTask(b, "completed", want, got)
	same(b, "read", want, b.readTask("t1"))
}

func completeAgain(b *bench) {
	b.createTask("t1")
	b.claim("t1", "d1")
	first, err := b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "d1", 1, result())
	b.ok(err)
	second, err := b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "d1", 1, task.Result{Status: task.Errored})
	b.ok(err)
	sameTask(b, "completed again", first, second)
	_, err = b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "d2", 1, task.Result{Status: task.Errored})
	b.refused(err, fault.LeaseLost)
	sameTask(b, "read", first, b.readTask("t1"))
}

func raceComplete(b *bench) {
	b.createTask("t1")
	b.claim("t1", "d1")
	seen := make([]string, racers)
	b.allSucceed(func(i int) error {
		t, err := b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "d1", 1, task.Result{Status: task.Succeeded, Message: fmt.Sprint(i)})
		if err == nil {
			seen[i] = t.Result.Message
		}
		return err
	})
	for _, message := range seen {
		same(b, "the result that a racer saw", b.readTask("t1").Result.Message, message)
	}
}

func completeCancelled(b *bench) {
	b.createTask("t1")
	b.claim("t1", "d1")
	want, err := b.Store.CancelTask(b.ctx(), b.taskID("t1"))
	b.ok(err)
	same(b, "cancelled", store.TaskCancelled, want.Status)
	_, err = b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "d1", 1, result())
	b.refused(err, fault.LeaseLost)
	sameTask(b, "read", want, b.readTask("t1"))
}

func raceCancelAndComplete(b *bench) {
	b.createTask("t1")
	b.claim("t1", "d1")
	errs := race(func(i int) error {
		if i%2 == 0 {
			_, err := b.Store.CancelTask(b.ctx(), b.taskID("t1"))
			return err
		}
		_, err := b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "d1", 1, result())
		return err
	})
	end := b.readTask("t1")
	if (end.Status == store.TaskDone) != (end.Result != nil) {
		b.Errorf("the task is %s with the result %v", end.Status, end.Result)
	}
	for i, err := range errs {
		if i%2 == 1 && end.Status == store.TaskCancelled {
			b.refused(err, fault.LeaseLost)
		} else {
			b.ok(err)
		}
	}
}

func raceCancelAndClaim(b *bench) {
	b.createTask("t1")
	b.allSucceed(func(i int) error {
		if i%2 == 0 {
			_, err := b.Store.CancelTask(b.ctx(), b.taskID("t1"))
			return err
		}
		_, err := b.Store.ClaimTasks(b.ctx(), fmt.Sprint("d", i), 1, []task.ID{b.taskID("t1")}, at(60))
		return err
	})
	same(b, "status", store.TaskCancelled, b.readTask("t1").Status)
	same(b, "open", nil, b.open())
}

func cancelEnded(b *bench) {
	b.createTask("done")
	b.claim("done", "d1")
	done, err := b.Store.CompleteTask(b.ctx(), b.taskID("done"), "d1", 1, result())
	b.ok(err)
	got, err := b.Store.CancelTask(b.ctx(), done.ID)
	b.ok(err)
	sameTask(b, "done", done, got)
	b.createTask("open")
	first, err := b.Store.CancelTask(b.ctx(), b.taskID("open"))
	b.ok(err)
	second, err := b.Store.CancelTask(b.ctx(), b.taskID("open"))
	b.ok(err)
	sameTask(b, "cancelled twice", first, second)
	list, err := b.Store.ClaimTasks(b.ctx(), "d2", 1, []task.ID{done.ID, first.ID}, at(60))
	b.ok(err)
	same(b, "claimed of ended ones", nil, list)
}

func releaseTask(b *bench) {
	b.createTask("t1")
	b.refused(b.Store.ReleaseTask(b.ctx(), b.taskID("t1"), "d1", 1), fault.LeaseLost)
	b.claim("t1", "d1")
	b.refused(b.Store.ReleaseTask(b.ctx(), b.taskID("t1"), "d2", 1), fault.LeaseLost)
	b.refused(b.Store.ReleaseTask(b.ctx(), b.taskID("t1"), "d1", 2), fault.LeaseLost)
	b.ok(b.Store.ReleaseTask(b.ctx(), b.taskID("t1"), "d1", 1))
	want := b.task("t1")
	want.Fence = 1
	same(b, "released", want, b.readTask("t1"))
	_, err := b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "d1", 1, result())
	b.refused(err, fault.LeaseLost)
	_, err = b.Store.RenewTask(b.ctx(), b.taskID("t1"), "d1", 1, at(90))
	b.refused(err, fault.LeaseLost)
	same(b, "fence of the second claim", 2, b.claim("t1", "d1").Fence)
	_, err = b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "d1", 1, result())
	b.refused(err, fault.LeaseLost)
}

func releaseTwice(b *bench) {
	b.createTask("t1")
	b.claim("t1", "d1")
	b.ok(b.Store.ReleaseTask(b.ctx(), b.taskID("t1"), "d1", 1))
	b.ok(b.Store.ReleaseTask(b.ctx(), b.taskID("t1"), "d1", 1))
	want := b.claim("t1", "d2")
	b.refused(b.Store.ReleaseTask(b.ctx(), b.taskID("t1"), "d1", 1), fault.LeaseLost)
	same(b, "after the late release", want, b.readTask("t1"))
	_, err := b.Store.CompleteTask(b.ctx(), b.taskID("t1"), "d2", 2, result())
	b.ok(err)
	b.refused(b.Store.ReleaseTask(b.ctx(), b.taskID("t1"), "d2", 2), fault.LeaseLost)
}

func delegateTasks(b *bench) {
	me := b.id("d1")
	for _, name := range []string{"a", "b", "done", "cancelled", "released", "other"} {
		b.createTask(name)
	}
	for _, name := range []string{"b", "a", "done", "cancelled", "released"} {
		b.claim(name, me)
	}
	b.claim("other", b.id("d2"))
	_, err := b.Store.CompleteTask(b.ctx(), b.taskID("done"), me, 1, result())
	b.ok(err)
	_, err = b.Store.CancelTask(b.ctx(), b.taskID("cancelled"))
	b.ok(err)
	b.ok(b.Store.ReleaseTask(b.ctx(), b.taskID("released"), me, 1))
	list, err := b.Store.DelegateTasks(b.ctx(), me)
	b.ok(err)
	sameTasks(b, "held", []store.Task{b.claimed("a", me), b.claimed("b", me)}, list)
	none, err := b.Store.DelegateTasks(b.ctx(), b.id("d3"))
	b.ok(err)
	same(b, "held by nobody", nil, none)
}

func taskMissing(b *bench) {
	id := b.taskID("none")
	_, err := b.Store.RenewTask(b.ctx(), id, "d1", 1, at(90))
	b.refused(err, fault.NotFound)
	_, err = b.Store.CompleteTask(b.ctx(), id, "d1", 1, result())
	b.refused(err, fault.NotFound)
	_, err = b.Store.CancelTask(b.ctx(), id)
	b.refused(err, fault.NotFound)
	b.refused(b.Store.ReleaseTask(b.ctx(), id, "d1", 1), fault.NotFound)
}
