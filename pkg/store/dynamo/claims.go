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
func (s tasks) ClaimTasks(ctx context.Context, delegate string, claim int64, ids []task.ID, leaseUntil time.Time) ([]store.Task, error) {
	var keys []key
	for _, id := range ids {
		if k := taskAt(id); !slices.Contains(keys, k) {
			keys = append(keys, k, payloadAt(id))
		}
	}
	found, err := s.table.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	by := claimer{delegate: delegate, claim: claim, until: fromMillis(millis(leaseUntil))}
	claimed := make([]*store.Task, len(found))
	var group errgroup.Group // one that fails stops none that may be done already
	group.SetLimit(atOnce)
	for i, it := range found {
		if text(it, "status") != string(store.TaskOpen) {
			continue
		}
		group.Go(func() error {
			t, err := s.withPayload(ctx, it, found)
			if err == nil {
				claimed[i], err = s.claim(ctx, t, by)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, s.giveBack(ctx, found, by))
	}
	var out []store.Task
	for _, t := range claimed {
		if t != nil {
			out = append(out, *t)
		}
	}
	return out, nil
}

// claimer is who claims, by which of its claims, and until when.
type claimer struct {
	delegate string
	claim    int64
	until    time.Time
}

// giveBackWithin bounds giving back, in case the caller has hung up. A function
// that answers requests has half a minute in all.
const giveBackWithin = 15 * time.Second

// giveBack opens again what a claim has got that failed in part. What it can't
// reach is still the delegate's to give back, by the claim's number.
func (s tasks) giveBack(ctx context.Context, among []item, by claimer) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), giveBackWithin)
	defer stop()
	among = slices.DeleteFunc(slices.Clone(among), func(it item) bool { return text(it, "status") != string(store.TaskOpen) })
	list, err := s.tasksNamed(ctx, among, func(it item) task.ID { return task.ID(text(it, "id")) })
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, t := range list {
		if t.Status == store.TaskClaimed && t.Delegate == by.delegate && t.Claim == by.claim {
			group.Go(func() error { return s.ReleaseTask(ctx, t.ID, by.delegate, t.Fence) })
		}
	}
	return errors.Join(err, group.Wait())
}

// errTaken: somebody else was faster.
var errTaken = errors.New("the task is no longer open")

// claim gives an open task, as it was read, to the delegate; nil if it isn't
// open any more.
func (s tasks) claim(ctx context.Context, t store.Task, by claimer) (*store.Task, error) {
	var claimed store.Task
	err := again(ctx, func() error {
		if t.Status != store.TaskOpen {
			return errTaken
		}
		claimed = t
		claimed.Status, claimed.Fence = store.TaskClaimed, t.Fence+1
		claimed.Delegate, claimed.Claim, claimed.LeaseUntil = by.delegate, by.claim, by.until
		err := s.table.transact(ctx, s.claiming(t, claimed)...)
		if !errors.Is(err, errAgain) {
			return err
		}
		it, readErr := s.table.find(ctx, taskAt(t.ID), "task %q", t.ID)
		if readErr != nil {
			return readErr
		}
		payload := t.Payload
		if t, readErr = readTask(ctx, s.table.bodies, it); readErr != nil {
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
func (s tasks) claiming(t, claimed store.Task) []write {
	return []write{
		s.table.update(taskAt(t.ID), "SET #status = :claimed, #delegate = :me, #claim = :claim, #fence = :next, #lease = :lease, pk2 = :held, sk2 = :id",
			"#status = :open AND #fence = :fence AND #token = :token", item{
				":open": str(string(t.Status)), ":fence": num(t.Fence), ":token": str(t.Token),
				":claimed": str(string(claimed.Status)), ":me": str(claimed.Delegate), ":claim": num(claimed.Claim), ":next": num(claimed.Fence),
				":lease": num(millis(claimed.LeaseUntil)), ":held": str(heldPK(claimed.Delegate)), ":id": str(string(t.ID)),
			}, errAgain),
		s.table.remove(openAt(t), "", nil, nil),
	}
}
