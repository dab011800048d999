package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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
