package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/dispatch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

const (
	// MaxWatches is how many placements one delegate watches: an open request
	// to a cluster for each of their namespaces.
	MaxWatches = 500
	// taken is how many one request takes, so that its answer stays small.
	taken = 50
)

// Watches gives a delegate the placements that it is to watch and doesn't yet:
// those that are its own, and those that it may look at and nobody watches.
//
// A watch is its delegate's for as long as that is connected, so it costs no
// renewal: the delegate's heartbeat is enough.
func (l *Ledger) Watches(ctx context.Context, d store.Delegate, in protocol.Watching) (protocol.Watches, error) {
	d.LastSeen, d.Running = l.Now(), 0 // it speaks, and a watch takes no place of a task
	if d.Draining {
		return protocol.Watches{}, nil
	}
	all, err := l.watchList(ctx, d.Scope.Account)
	if err != nil {
		return protocol.Watches{}, err
	}
	held := map[string]int64{}
	for _, w := range in.Held {
		held[w.ID] = w.Fence
	}
	var out protocol.Watches
	var free []store.PlacementKey
	var others []store.WatchedPlacement
	mine := 0
	for _, w := range all {
		id := watchID(w.Key)
		fence, holds := held[id]
		switch {
		case w.Watcher != d.ID:
			others = append(others, w)
			continue
		case holds && fence >= w.Fence: // the list may lag
		default:
			if err := l.give(ctx, d, w.Key, &out); err != nil {
				return protocol.Watches{}, err
			}
		}
		mine++
		delete(held, id)
	}
	if free, err = l.free(ctx, d, others); err != nil {
		return protocol.Watches{}, err
	}
	for _, k := range free {
		if mine >= MaxWatches || len(out.Watch) >= taken {
			break
		}
		if err := l.give(ctx, d, k, &out); err != nil {
			return protocol.Watches{}, err
		}
		delete(held, watchID(k))
		mine++
	}
	return out, l.drop(ctx, d, held, &out)
}

func (l *Ledger) watchList(ctx context.Context, account string) ([]store.WatchedPlacement, error) {
	var all []store.WatchedPlacement
	for page := (store.Page{Limit: 500}); ; {
		part, next, err := l.Store.WatchList(ctx, account, page)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
		if page.Token = next; next == "" {
			return all, nil
		}
	}
}

// free are those within the delegate's scope that no connected delegate watches.
func (l *Ledger) free(ctx context.Context, d store.Delegate, list []store.WatchedPlacement) ([]store.PlacementKey, error) {
	list = slices.DeleteFunc(list, func(w store.WatchedPlacement) bool { return !d.Scope.Covers(w.Key.Scope) })
	if len(list) == 0 {
		return nil, nil
	}
	connected, err := l.Connected(ctx, d.Scope.Account)
	if err != nil {
		return nil, err
	}
	var out []store.PlacementKey
	for _, w := range list {
		if !connected[w.Watcher] {
			out = append(out, w.Key)
		}
	}
	return out, nil
}

// Connected are the ids of an account's delegates that watch what they took.
func (l *Ledger) Connected(ctx context.Context, account string) (map[string]bool, error) {
	delegates, err := l.Store.ListDelegates(ctx, account, l.Now().Add(-time.Hour))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, d := range delegates {
		if dispatch.Connected(d, l.Now()) && !d.Draining {
			out[d.ID] = true
		}
	}
	return out, nil
}

// give adds a placement's watch to the answer, if the delegate may look there
// and nobody else was quicker.
func (l *Ledger) give(ctx context.Context, d store.Delegate, k store.PlacementKey, out *protocol.Watches) error {
	p, err := l.Store.Placement(ctx, k)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !Live(p, l.Now()) {
		return ignoreStale(l.Store.DeletePlacement(ctx, k, p.Version))
	}
	if !slices.Contains(d.Kinds, p.Look.Kind) || !dispatch.Fits(d, k.Scope, p.Look.Selectors, l.Now()) {
		if p.Watcher != d.ID {
			return nil
		}
		p.Watcher = "" // it may be somebody else's: what reaches the place has changed
		_, err := l.Store.SavePlacement(ctx, p, nil)
		return ignoreStale(err)
	}
	values, err := l.Secret.RevealAll(ctx, k.Scope, p.Look.Secrets)
	if err != nil {
		return l.trouble(ctx, p, err)
	}
	tokens, err := l.Issuer.SignAll(ctx, p.Look.Identities, p.Deployed.Task)
	if err != nil {
		return l.trouble(ctx, p, err)
	}
	if p.Watcher != d.ID {
		p.Watcher = d.ID
		p.Fence++
		if p, err = l.Store.SavePlacement(ctx, p, nil); err != nil {
			return ignoreStale(err)
		}
	}
	w := task.Watch{
		ID: watchID(k), Fence: p.Fence, Kind: p.Look.Kind, Place: p.Look.Place, Secrets: values, LateSecrets: p.Look.Made, Tokens: tokens,
		Target: task.Target{
			Service: k.Service, Environment: k.Environment, Infrastructure: k.Infrastructure,
			Release: p.Deployed.Release, Namespace: p.Deployed.Namespace, Image: p.Deployed.Artifact,
		},
	}
	for _, wl := range p.Deployed.Workloads {
		w.Workloads = append(w.Workloads, task.Workload{Resource: wl.Resource, Selector: wl.Selector})
	}
	out.Watch = append(out.Watch, w)
	return nil
}

// WatchToken signs an identity of a watch anew, for the delegate whose it is. The
// token is of the task that has deployed there last.
func (l *Ledger) WatchToken(ctx context.Context, d store.Delegate, r protocol.WatchToken) (task.IdentityToken, error) {
	k, err := parseWatchID(r.ID)
	if err != nil {
		return task.IdentityToken{}, err
	}
	if !d.Scope.Covers(k.Scope) {
		return task.IdentityToken{}, fault.New(fault.Forbidden, "delegate %s isn't for %s", d.Name, k.Scope)
	}
	p, err := l.Store.Placement(ctx, k)
	if err != nil {
		return task.IdentityToken{}, err
	}
	if p.Watcher != d.ID || p.Fence != r.Fence {
		return task.IdentityToken{}, fault.New(fault.LeaseLost, "delegate %s doesn't watch %s with fence %d", d.Name, k, r.Fence)
	}
	identity, ok := p.Look.Identities[r.Identity]
	if !ok {
		return task.IdentityToken{}, fault.New(fault.NotFound, "the watch of %s came with no token of %.64q", k, r.Identity)
	}
	return l.Issuer.Sign(ctx, identity, p.Deployed.Task)
}

// trouble writes down why a placement can't be watched.
func (l *Ledger) trouble(ctx context.Context, p store.Placement, why error) error {
	if p.Seen.Trouble == why.Error() {
		return nil
	}
	p.Seen.Trouble = why.Error()
	_, err := l.Store.SavePlacement(ctx, p, nil)
	return ignoreStale(err)
}

// drop adds what the delegate holds and isn't its own. The list may lag behind
// what it took last.
func (l *Ledger) drop(ctx context.Context, d store.Delegate, held map[string]int64, out *protocol.Watches) error {
	for id := range held {
		k, err := parseWatchID(id)
		if err != nil {
			return err
		}
		p, err := l.Store.Placement(ctx, k)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if err != nil || p.Watcher != d.ID {
			out.Drop = append(out.Drop, id)
		}
	}
	return nil
}

func ignoreStale(err error) error {
	if fault.Is(err, fault.StaleVersion) {
		return nil
	}
	return err
}
