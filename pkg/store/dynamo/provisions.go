package dynamo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// provisions is store.Provisions.
type provisions struct{ table *table }

// largestBody is how large each of the two bodies of a provision may be in its
// item, in bytes.
const largestBody = largestValue / 2

// SaveProvision stores what an execution has done by a provisioner.
func (s provisions) SaveProvision(ctx context.Context, p store.Provision, delegate string, fence int64, forget []string) (store.Provision, error) {
	lost := store.Stale("what was provisioned", p.Version)
	condition, values := missing, item(nil)
	if p.Version > 0 {
		condition, values = "#version = :read", item{":read": num(p.Version)}
	}
	p.Version++
	it := provisionAt(p.Key, p.Execution).item()
	it["version"], it["step"], it["task"], it["status"], it["at"] = num(p.Version), str(string(p.Step)), str(string(p.Task)), str(string(p.Status)), num(p.At.UnixNano())
	it["place"] = bin(p.Place)
	var err error
	if it["before"], err = s.table.packed(ctx, p.Before, largestBody); err != nil {
		return store.Provision{}, err
	}
	if it["inputs"], err = s.table.packed(ctx, p.Inputs, largestBody); err != nil {
		return store.Provision{}, err
	}
	writes := []write{
		s.table.check(taskAt(p.Task), heldBy, holder(delegate, fence),
			fault.New(fault.LeaseLost, "task %q isn't delegate %q's with fence %d", p.Task, delegate, fence)),
		s.table.put(it, condition, values, lost),
	}
	for _, execution := range forget {
		writes = append(writes, s.table.remove(provisionAt(p.Key, execution), "", nil, nil))
	}
	if err := again(ctx, func() error { return s.table.transact(ctx, writes...) }); err != nil {
		return store.Provision{}, fmt.Errorf("keep what was provisioned: %w", err)
	}
	return p, nil
}

// ListProvisions lists what executions have done by a provisioner.
func (s provisions) ListProvisions(ctx context.Context, k store.ProvisionerKey) ([]store.Provision, error) {
	found, err := s.table.query(ctx, query{pk: provisionsPK(k.Scope), sk: "begins_with(sk, :of)", values: item{":of": str(provisionsOf(k))}})
	if err != nil {
		return nil, err
	}
	out, err := decodeAll(ctx, s.table.bodies, found, readProvision(k))
	slices.SortStableFunc(out, func(a, b store.Provision) int { return b.At.Compare(a.At) })
	return out, err
}

func readProvision(k store.ProvisionerKey) func(context.Context, bodies, item) (store.Provision, error) {
	return func(ctx context.Context, b bodies, it item) (store.Provision, error) {
		parts, err := split(text(it, "sk"), 4)
		if err != nil {
			return store.Provision{}, err
		}
		p := store.Provision{
			Key: k, Execution: parts[3], Version: number(it, "version"), Step: plan.NodeID(text(it, "step")), Task: task.ID(text(it, "task")),
			Status: provision.Status(text(it, "status")), At: time.Unix(0, number(it, "at")).UTC(), Place: bytes(it, "place"),
		}
		if p.Before, err = b.unpacked(ctx, it, "before"); err != nil {
			return p, err
		}
		p.Inputs, err = b.unpacked(ctx, it, "inputs")
		return p, err
	}
}
