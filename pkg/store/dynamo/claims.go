package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// atOnce is how many requests one call makes at a time.
const atOnce = 16

// ClaimTasks gives the delegate those that are still open.
func (s *Store) ClaimTasks(ctx context.Context, delegate string, ids []task.ID, leaseUntil time.Time) ([]store.Task, error) {
	var keys []key
	for _, id := range ids {
		if k := taskAt(id); !slices.Contains(keys, k) {
			keys = append(keys, k, payloadAt(id))
		}
	}
	found, err := s.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	claimed := make([]*store.Task, len(found))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, it := range found {
		if text(it, "status") != string(store.TaskOpen) {
			continue
		}
		group.Go(func() error {
			t, err := s.withPayload(groupCtx, it, found)
			if err == nil {
				claimed[i], err = s.claim(groupCtx, t, delegate, leaseUntil)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []store.Task
	for _, t := range claimed {
		if t != nil {
			out = append(out, *t)
		}
	}
	return out, nil
}

// errTaken: somebody else was faster.
var errTaken = errors.New("the task is no longer open")

// claim gives an open task, as it was read, to the delegate; nil if it isn't
// open any more.
func (s *Store) claim(ctx context.Context, t store.Task, delegate string, leaseUntil time.Time) (*store.Task, error) {
	var claimed store.Task
	err := again(ctx, func() error {
		if t.Status != store.TaskOpen {
			return errTaken
		}
		claimed = t
		claimed.Status, claimed.Delegate, claimed.Fence = store.TaskClaimed, delegate, t.Fence+1
		claimed.LeaseUntil = fromMillis(millis(leaseUntil))
		err := s.transact(ctx, s.claiming(t, claimed)...)
		if !errors.Is(err, errAgain) {
			return err
		}
		it, readErr := s.find(ctx, taskAt(t.ID), "task %q", t.ID)
		if readErr != nil {
			return readErr
		}
		payload := t.Payload
		if t, readErr = readTask(ctx, s, it); readErr != nil {
			return readErr
		}
		t.Payload = payload
		return err
	})
	if errors.Is(err, errTaken) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claim task %s: %w", t.ID, err)
	}
	return &claimed, nil
}

// claiming is the writes of a claim. The condition has all that can change of
// an open task, so that what is given is what is stored.
func (s *Store) claiming(t, claimed store.Task) []write {
	return []write{
		s.update(taskAt(t.ID), "SET #status = :claimed, #delegate = :me, #fence = :next, #lease = :lease, pk2 = :held, sk2 = :id",
			"#status = :open AND #fence = :fence AND #token = :token", item{
				":open": str(string(t.Status)), ":fence": num(t.Fence), ":token": str(t.Token),
				":claimed": str(string(claimed.Status)), ":me": str(claimed.Delegate), ":next": num(claimed.Fence),
				":lease": num(millis(claimed.LeaseUntil)), ":held": str(heldPK(claimed.Delegate)), ":id": str(string(t.ID)),
			}, errAgain),
		s.remove(openAt(t), "", nil, nil),
	}
}

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
func (s *Store) changeHeld(ctx context.Context, id task.ID, delegate string, fence int64, change string, values item, otherwise func(store.Task) bool) (store.Task, error) {
	for name, v := range holder(delegate, fence) {
		values[name] = v
	}
	it, held, err := s.change(ctx, taskAt(id), change, heldBy, values)
	if err != nil {
		return store.Task{}, fmt.Errorf("change task %s: %w", id, err)
	}
	if it == nil {
		return store.Task{}, absent("task %q", id)
	}
	t, err := readTask(ctx, s, it)
	if err == nil && !held && !otherwise(t) {
		return store.Task{}, leaseLost(t, delegate, fence)
	}
	return t, err
}

// RenewTask extends the lease of who holds the fence.
func (s *Store) RenewTask(ctx context.Context, id task.ID, delegate string, fence int64, leaseUntil time.Time) (store.Task, error) {
	return s.changeHeld(ctx, id, delegate, fence, "SET #lease = :lease", item{":lease": num(millis(leaseUntil))}, func(t store.Task) bool {
		return t.Status != store.TaskOpen && t.Delegate == delegate && t.Fence == fence // it has ended; the status says how
	})
}

// CompleteTask stores the result of who holds the fence.
func (s *Store) CompleteTask(ctx context.Context, id task.ID, delegate string, fence int64, r task.Result) (store.Task, error) {
	values := item{":done": str(string(store.TaskDone))}
	if err := s.encode(ctx, values, ":result", r, largestValue); err != nil {
		return store.Task{}, err
	}
	change := "SET #status = :done, #result = :result REMOVE pk2, sk2"
	return s.changeHeld(ctx, id, delegate, fence, change, values, func(t store.Task) bool {
		return t.Status == store.TaskDone && t.Delegate == delegate && t.Fence == fence
	})
}

// CancelTask ends a task that has no result yet.
func (s *Store) CancelTask(ctx context.Context, id task.ID) (store.Task, error) {
	var t store.Task
	err := again(ctx, func() error {
		it, err := s.find(ctx, taskAt(id), "task %q", id)
		if err != nil {
			return err
		}
		if t, err = readTask(ctx, s, it); err != nil || t.Status != store.TaskOpen && t.Status != store.TaskClaimed {
			return err
		}
		writes := []write{s.update(taskAt(id), "SET #status = :cancelled REMOVE pk2, sk2", "#status = :status AND #fence = :fence AND #token = :token", item{
			":cancelled": str(string(store.TaskCancelled)), ":status": it["status"], ":fence": it["fence"], ":token": it["token"],
		}, errAgain)}
		if t.Status == store.TaskOpen {
			writes = append(writes, s.remove(openAt(t), "", nil, nil))
		}
		t.Status = store.TaskCancelled
		return s.transact(ctx, writes...)
	})
	if err != nil {
		return store.Task{}, err
	}
	return t, nil
}

// ReleaseTask gives a claimed task back.
func (s *Store) ReleaseTask(ctx context.Context, id task.ID, delegate string, fence int64) error {
	return again(ctx, func() error {
		it, err := s.find(ctx, taskAt(id), "task %q", id)
		if err != nil {
			return err
		}
		t, err := readTask(ctx, s, it)
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
		return s.transact(ctx,
			s.update(taskAt(id), "SET #status = :open REMOVE #delegate, #lease, pk2, sk2", heldBy, values, errAgain),
			s.put(openItem(t), "", nil, nil))
	})
}
