package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// provisionsKept is of how many executions it is kept what they have done by a
// provisioner: those that ended it last. Nothing is forgotten by age alone.
const provisionsKept = 10

// KeepProvision keeps what a task's execution does by its provisioner: what was
// there before its first change, and what it has applied last.
func (s *Tasks) KeepProvision(ctx context.Context, d store.Delegate, id task.ID, k provision.Keep) (provision.Done, error) {
	if len(k.Data) > provision.MaxBytes {
		return provision.Done{}, fault.New(fault.TooLarge, "what is kept of a provisioner has %d bytes; the limit is %d", len(k.Data), provision.MaxBytes)
	}
	t, key, w, err := s.provisioning(ctx, d, id, k.Fence)
	if err != nil {
		return provision.Done{}, err
	}
	for {
		all, err := s.Store.ListProvisions(ctx, key)
		if err != nil {
			return provision.Done{}, err
		}
		p, err := s.provision(ctx, t, key, w, all, k)
		if err != nil {
			return provision.Done{}, err
		}
		saved, err := s.Store.SaveProvision(ctx, p, d.ID, k.Fence, outdated(all, p))
		if fault.Is(err, fault.StaleVersion) {
			continue
		}
		if err != nil {
			return provision.Done{}, err
		}
		return openProvision(ctx, s.Secret, saved)
	}
}

// provision is what is kept now. What an execution has applied stays its last
// until it applies something else: that it begins again only says who does.
func (s *Tasks) provision(ctx context.Context, t store.Task, key store.ProvisionerKey, w task.Work, all []store.Provision, k provision.Keep) (store.Provision, error) {
	p := store.Provision{Key: key, Execution: w.Execution}
	begins := true
	if i := slices.IndexFunc(all, func(o store.Provision) bool { return o.Execution == w.Execution }); i >= 0 {
		p, begins = all[i], false
	}
	p.Step, p.Task, p.Place = t.Node, t.ID, w.Provisioner.Place
	if k.Status != provision.Begun || begins {
		p.Status, p.At = k.Status, s.Now()
	}
	data, part := &p.Inputs, "inputs"
	if k.Status == provision.Begun {
		data, part = &p.Before, "before"
	}
	if part == "before" && !begins {
		return p, nil
	}
	sealed, err := s.Secret.Seal(ctx, sealOfProvision(p, part), k.Data)
	*data = sealed
	return p, err
}

// outdated are the executions that are too many once p is kept: never the one
// to which a rollback of p leads.
func outdated(all []store.Provision, p store.Provision) []string {
	var old []string
	kept, ended := 1, false
	for _, o := range all { // the newest first
		switch {
		case o.Execution == p.Execution:
		case kept < provisionsKept || !ended && o.Status != provision.Begun:
			kept++
			ended = ended || o.Status != provision.Begun
		default:
			old = append(old, o.Execution)
		}
	}
	return old
}

// Provisions are what the task's own execution has done by its provisioner, and
// what another has done last; or, of one that wants to be alone and isn't yet,
// for whom it waits.
func (s *Tasks) Provisions(ctx context.Context, d store.Delegate, id task.ID, ask provision.Ask) (provision.Known, error) {
	t, key, w, err := s.provisioning(ctx, d, id, ask.Fence)
	if err != nil {
		return provision.Known{}, err
	}
	if ask.Alone {
		if holder, err := s.holder(ctx, t, key); err != nil || holder != "" {
			return provision.Known{Holder: holder}, err
		}
	}
	all, err := s.Store.ListProvisions(ctx, key)
	if err != nil {
		return provision.Known{}, err
	}
	var out provision.Known
	for _, p := range all {
		own := p.Execution == w.Execution
		if own && out.Own != nil || !own && (out.Earlier != nil || p.Status == provision.Begun) {
			continue
		}
		opened, err := openProvision(ctx, s.Secret, p)
		if err != nil {
			return provision.Known{}, err
		}
		if own {
			out.Own = &opened
		} else {
			out.Earlier = &opened
		}
	}
	return out, nil
}

// lineOf names the line in which those stand who want to be alone.
func lineOf(k store.ProvisionerKey) string {
	return strings.Join([]string{k.Scope.Account, "provisioner", k.Scope.Org, k.Scope.Project, string(k.Kind), k.Identifier, k.Workspace}, "/")
}

// holder is the execution whose task stands before this one in the line of a
// provisioner; empty: the task is alone. Whoever is over leaves the line when the
// next one looks, so that nobody has to say that he ends.
func (s *Tasks) holder(ctx context.Context, t store.Task, key store.ProvisionerKey) (string, error) {
	line, me := lineOf(key), store.Holder{Execution: t.Execution, Node: plan.NodeID(t.ID)}
	for {
		queue, err := s.Store.TakeTurn(ctx, line, me)
		if err != nil || len(queue) == 0 || queue[0] == me {
			return "", err
		}
		first := queue[0]
		over, err := taskOver(ctx, s.Store, s.Now(), task.ID(first.Node))
		if err != nil || !over {
			return first.Execution, err
		}
		if _, err := s.Store.EndTurn(ctx, line, first); err != nil {
			return "", err
		}
	}
}

// taskOver says whether nobody works on a task any more.
func taskOver(ctx context.Context, tasks store.Tasks, now time.Time, id task.ID) (bool, error) {
	t, err := tasks.Task(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	return t.Status != store.TaskClaimed || now.After(t.LeaseUntil), err
}

// provisioning is by which provisioner a task that a delegate holds makes
// something, as the payload says that was made here.
func (s *Tasks) provisioning(ctx context.Context, d store.Delegate, id task.ID, fence int64) (store.Task, store.ProvisionerKey, task.Work, error) {
	var w task.Work
	t, err := s.held(ctx, d, id, fence)
	if err != nil {
		return t, store.ProvisionerKey{}, w, err
	}
	if err := json.Unmarshal(t.Payload, &w); err != nil || w.Provisioner == nil {
		return t, store.ProvisionerKey{}, w, fault.New(fault.Invalid, "task %s provisions nothing", id)
	}
	return t, store.ProvisionerKey{Scope: t.Scope, Kind: t.Kind, Identifier: w.Provisioner.Identifier, Workspace: w.Provisioner.Workspace}, w, nil
}

// sealOfProvision is what a part of a provision is bound to: of another
// provisioner or execution it can't be opened.
func sealOfProvision(p store.Provision, part string) store.EntityKey {
	return store.EntityKey{
		Scope: p.Key.Scope, Kind: "provision", Env: strings.Join([]string{string(p.Key.Kind), p.Key.Workspace, p.Execution, part}, "\x00"), ID: p.Key.Identifier,
	}
}

func openProvision(ctx context.Context, keeper *secret.Keeper, p store.Provision) (provision.Done, error) {
	out := provision.Done{Execution: p.Execution, Step: string(p.Step), Status: p.Status, At: p.At}
	for _, part := range []struct {
		name   string
		sealed []byte
		into   *json.RawMessage
	}{{"before", p.Before, &out.Before}, {"inputs", p.Inputs, &out.Inputs}} {
		if len(part.sealed) == 0 {
			continue
		}
		data, err := keeper.Open(ctx, sealOfProvision(p, part.name), part.sealed)
		if err != nil {
			return out, fmt.Errorf("open what was provisioned by %s: %w", p.Key.Identifier, err)
		}
		if len(data) > 0 {
			*part.into = data
		}
	}
	return out, nil
}
