package dynamo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// provisions is store.Provisions.
type provisions struct {
	table  *table
	audits audits
}

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
	out, err := decodeAll(ctx, s.table.bodies, found, readProvision(k.Scope))
	slices.SortStableFunc(out, func(a, b store.Provision) int { return b.At.Compare(a.At) })
	return out, err
}

// provisionKnown is what an item has besides its two bodies.
const provisionKnown = "pk, sk, #version, #step, #task, #status, #at, #place"

// ListProvisioners lists what was done last by each provisioner of a scope.
func (s provisions) ListProvisioners(ctx context.Context, scope ref.Scope, page store.Page) ([]store.Provision, string, error) {
	list := provisionsPK(scope)
	after, err := s.table.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	var last []store.Provision
	for more := true; more && len(last) <= limit; { // one too many: those before it are read as a whole
		q := query{pk: list, only: provisionKnown, limit: limit + 1}
		if after != "" {
			q.sk, q.values = "sk > :after", item{":after": str(after)}
		}
		found, err := s.table.query(ctx, q)
		if err != nil {
			return nil, "", err
		}
		done, err := decodeAll(ctx, s.table.bodies, found, readProvision(scope))
		if err != nil {
			return nil, "", err
		}
		for _, p := range done {
			switch n := len(last) - 1; {
			case n < 0 || last[n].Key != p.Key:
				last = append(last, p)
			case p.At.After(last[n].At):
				last[n] = p
			}
		}
		if more = len(found) == q.limit; more {
			after = text(found[len(found)-1], "sk")
		}
	}
	return nextPage(s.table.pages, list, last, limit, func(p store.Provision) string { return provisionsEnd(p.Key) })
}

// ForgetProvisions deletes what executions have done by a provisioner.
func (s provisions) ForgetProvisions(ctx context.Context, known []store.Provision, a audit.Record) error {
	writes := make([]write, len(known))
	for i, p := range known {
		writes[i] = s.table.remove(provisionAt(p.Key, p.Execution), "#version = :read", item{":read": num(p.Version)}, store.Stale("what was provisioned", p.Version))
	}
	return s.audits.audited(ctx, a, writes...)
}

func readProvision(scope ref.Scope) func(context.Context, bodies, item) (store.Provision, error) {
	return func(ctx context.Context, b bodies, it item) (store.Provision, error) {
		parts, err := split(text(it, "sk"), 4)
		if err != nil {
			return store.Provision{}, err
		}
		p := store.Provision{
			Key:       store.ProvisionerKey{Scope: scope, Kind: task.Kind(parts[0]), Identifier: parts[1], Workspace: parts[2]},
			Execution: parts[3], Version: number(it, "version"), Step: plan.NodeID(text(it, "step")), Task: task.ID(text(it, "task")),
			Status: provision.Status(text(it, "status")), At: time.Unix(0, number(it, "at")).UTC(), Place: bytes(it, "place"),
		}
		if p.Before, err = b.unpacked(ctx, it, "before"); err != nil {
			return p, err
		}
		p.Inputs, err = b.unpacked(ctx, it, "inputs")
		return p, err
	}
}
