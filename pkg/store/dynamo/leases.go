package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// heldBy is the condition of a change by who holds a task; holder has its values.
const heldBy = "#status = :claimed AND #delegate = :me AND #fence = :fence"

func holder(delegate string, fence int64) item {
	return item{":claimed": str(string(store.TaskClaimed)), ":me": str(delegate), ":fence": num(fence)}
}

func leaseLost(t store.Task, delegate string, fence int64) error {
	return fault.New(fault.LeaseLost, "task %q isn't delegate %q's with fence %d: it is %s with fence %d", t.ID, delegate, fence, t.Status, t.Fence)
}

// changeHeld changes a task for its holder, and gives it as it is then. If it
// isn't held so, otherwise says for which tasks that is no error.
func (s tasks) changeHeld(ctx context.Context, id task.ID, delegate string, fence int64, change string, values item, otherwise func(store.Task) bool) (store.Task, error) {
	for name, v := range holder(delegate, fence) {
		values[name] = v
	}
	it, held, err := s.table.change(ctx, taskAt(id), change, heldBy, values)
	if err != nil {
		return store.Task{}, fmt.Errorf("change task %s: %w", id, err)
	}
	if it == nil {
		return store.Task{}, absent("task %q", id)
	}
	t, err := readTask(ctx, s.table.bodies, it)
	if err == nil && !held && !otherwise(t) {
		return store.Task{}, leaseLost(t, delegate, fence)
	}
	return t, err
}

// RenewTask extends the lease of who holds the fence.
func (s tasks) RenewTask(ctx context.Context, id task.ID, delegate string, fence int64, leaseUntil time.Time) (store.Task, error) {
	return s.changeHeld(ctx, id, delegate, fence, "SET #lease = :lease", item{":lease": num(millis(leaseUntil))}, func(t store.Task) bool {
		return t.Status != store.TaskOpen && t.Delegate == delegate && t.Fence == fence // it has ended; the status says how
	})
}

// CompleteTask stores the result of who holds the fence.
func (s tasks) CompleteTask(ctx context.Context, id task.ID, delegate string, fence int64, r task.Result) (store.Task, error) {
	values := item{":done": str(string(store.TaskDone))}
	if err := s.table.encode(ctx, values, ":result", r, largestValue); err != nil {
		return store.Task{}, err
	}
	change := "SET #status = :done, #result = :result REMOVE pk2, sk2"
	return s.changeHeld(ctx, id, delegate, fence, change, values, func(t store.Task) bool {
		return t.Status == store.TaskDone && t.Delegate == delegate && t.Fence == fence
	})
}

// CancelTask ends a task that has no result yet.
func (s tasks) CancelTask(ctx context.Context, id task.ID) (store.Task, error) {
	var t store.Task
	err := again(ctx, func() error {
		it, err := s.table.find(ctx, taskAt(id), "task %q", id)
		if err != nil {
			return err
		}
		if t, err = readTask(ctx, s.table.bodies, it); err != nil || t.Status != store.TaskOpen && t.Status != store.TaskClaimed {
			return err
		}
		writes := []write{s.table.update(taskAt(id), "SET #status = :cancelled REMOVE pk2, sk2", "#status = :status AND #fence = :fence AND #token = :token", item{
			":cancelled": str(string(store.TaskCancelled)), ":status": it["status"], ":fence": it["fence"], ":token": it["token"],
		}, errAgain)}
		if t.Status == store.TaskOpen {
			writes = append(writes, s.table.remove(openAt(t), "", nil, nil))
		}
		t.Status = store.TaskCancelled
		return s.table.transact(ctx, writes...)
	})
	if err != nil {
		return store.Task{}, err
	}
	return t, nil
}

// ReleaseTask gives a claimed task back.
func (s tasks) ReleaseTask(ctx context.Context, id task.ID, delegate string, fence int64) error {
	return again(ctx, func() error {
		it, err := s.table.find(ctx, taskAt(id), "task %q", id)
		if err != nil {
			return err
		}
		t, err := readTask(ctx, s.table.bodies, it)
		if err != nil {
			return err
		}
		switch {
		case t.Status == store.TaskOpen && t.Fence == fence && fence > 0:
			return nil // given back already, and nobody has claimed it since
		case t.Status != store.TaskClaimed || t.Delegate != delegate || t.Fence != fence:
			return leaseLost(t, delegate, fence)
		}
		values := holder(delegate, fence)
		values[":open"] = str(string(store.TaskOpen))
		return s.table.transact(ctx,
			s.table.update(taskAt(id), "SET #status = :open REMOVE #delegate, #claim, #lease, pk2, sk2", heldBy, values, errAgain),
			s.table.put(openItem(t), "", nil, nil))
	})
}
