package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitops/look"
	"github.com/slipway-cd/slipway/delegate/gitops/reconcile"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

const (
	// lookers is how many look at once; lookWithin bounds each, and followFor how long
	// one waits for the next lines of a log.
	lookers    = 8
	lookWithin = 25 * time.Second
	followFor  = 15 * time.Second
	followLook = time.Second
	// touchWithin is how long after it was asked for something is changed: later it
	// would surprise, and what comes again after a crash isn't done again for ever.
	touchWithin = 15 * time.Minute
)

// looks says whether a request is answered beside the others: it takes its time, and
// changes nothing that the reconciler goes by.
func looks(kind protocol.RequestKind) bool {
	switch kind {
	case protocol.RequestDiff, protocol.RequestManifests, protocol.RequestTree, protocol.RequestLogs, protocol.RequestEvents, protocol.RequestActions, protocol.RequestRollout,
		protocol.RequestAction, protocol.RequestPatch, protocol.RequestDeleteObject:
		return true
	default:
		return false
	}
}

// looked answers somebody who looks at an application, or touches what is live.
func looked(ctx context.Context, r *reconcile.Reconciler, q protocol.Request) protocol.Result {
	ctx, cancel := context.WithTimeoutCause(ctx, lookWithin, fault.New(fault.Unavailable, "it took more than %s", lookWithin))
	defer cancel()
	data, err := found(ctx, r, q)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return protocol.Result{Failed: true, Message: err.Error()}
	}
	doc, err := json.Marshal(data)
	if err != nil {
		return protocol.Result{Failed: true, Message: fmt.Sprintf("encode the answer: %s", err)}
	}
	return protocol.Result{Data: doc}
}

// found is what a request finds out or does.
func found(ctx context.Context, r *reconcile.Reconciler, q protocol.Request) (any, error) {
	v, err := r.Visit(ctx, reconcile.Key(q.App))
	if err != nil {
		return nil, err
	}
	if q.Touch != nil {
		return touched(ctx, v, q)
	}
	var l protocol.Look
	if q.Look != nil {
		l = *q.Look
	}
	switch q.Kind {
	case protocol.RequestDiff:
		all, err := v.Differences(ctx, l)
		return look.Bound(all), err
	case protocol.RequestManifests:
		objects, err := v.Manifests(ctx, l)
		if l.Live {
			objects, err = look.Live(ctx, v.Cluster, v.Resources, l.Which)
		}
		if err != nil {
			return nil, err
		}
		return look.Manifests(objects)
	case protocol.RequestLogs:
		return logs(ctx, v, l)
	case protocol.RequestRollout:
		return rollout(ctx, v, q.App.Name, l)
	default: // by the tree
	}
	t, err := look.Tree(ctx, v.Cluster, v.Resources, v.Health(ctx))
	if err != nil {
		return nil, err
	}
	switch q.Kind {
	case protocol.RequestTree:
		t.OrphanedNodes, err = v.Orphans(ctx)
		return t, err
	case protocol.RequestEvents:
		return look.Events(ctx, v.Cluster, t, l.Which)
	default:
		return actions(ctx, v, t, l)
	}
}

// actions are those of the objects that are chosen.
func actions(ctx context.Context, v *reconcile.Visit, t protocol.Tree, l protocol.Look) ([]protocol.Action, error) {
	out := []protocol.Action{}
	for _, n := range t.Nodes {
		if n.UID == "" || !l.Has(n.Key) {
			continue
		}
		o, err := look.Get(ctx, v.Cluster, n)
		if err != nil {
			return nil, err
		}
		if o != nil {
			all, err := look.Actions(ctx, v.Scripts(), o)
			if err != nil {
				return nil, err
			}
			out = append(out, all...)
		}
	}
	return out, nil
}

// logs reads those of an application's pods. Who follows waits a while for new ones.
func logs(ctx context.Context, v *reconcile.Visit, l protocol.Look) (protocol.Logs, error) {
	over := time.After(followFor)
	again := time.NewTicker(followLook)
	defer again.Stop()
	for {
		t, err := look.Tree(ctx, v.Cluster, v.Resources, v.Health(ctx))
		if err != nil {
			return protocol.Logs{}, err
		}
		out, err := look.Logs(ctx, v.Cluster, t, l)
		if err != nil || len(out.Lines) > 0 || !l.Follow {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-over:
			return out, nil
		case <-again.C:
		}
	}
}

// rollout is how a Rollout of Argo's is. Who has seen that waits a while for something
// else.
func rollout(ctx context.Context, v *reconcile.Visit, app string, l protocol.Look) (protocol.Rollout, error) {
	t, err := look.Tree(ctx, v.Cluster, v.Resources, v.Health(ctx))
	if err != nil {
		return protocol.Rollout{}, err
	}
	nodes, err := look.Chosen(t, l.Which, false)
	if fault.Is(err, fault.NotFound) {
		return protocol.Rollout{}, fault.New(fault.NotFound, "Rollout argoproj.io %s not found as part of application %s", l.Name, app)
	}
	if err != nil {
		return protocol.Rollout{}, err
	}
	over := time.After(followFor)
	again := time.NewTicker(followLook)
	defer again.Stop()
	for {
		o, err := look.Get(ctx, v.Cluster, nodes[0])
		if err != nil {
			return protocol.Rollout{}, err
		}
		if o == nil {
			return protocol.Rollout{}, fault.New(fault.NotFound, "Rollout argoproj.io %s isn't there any more", l.Name)
		}
		out, err := look.Rollout(o, v.Health(ctx)(o))
		if err != nil || !l.Follow || out.Sum != l.Seen {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-over:
			return out, nil
		case <-again.C:
		}
	}
}

// touched changes live objects, and names those that it has changed.
func touched(ctx context.Context, v *reconcile.Visit, q protocol.Request) (any, error) {
	if time.Since(q.At) > touchWithin {
		return nil, fault.New(fault.Conflict, "this was asked for at %s, and the agent sees it only now; ask again", q.At.UTC().Format(time.RFC3339))
	}
	t, err := look.Tree(ctx, v.Cluster, v.Resources, v.Health(ctx))
	if err != nil {
		return nil, err
	}
	nodes, err := look.Chosen(t, q.Touch.Which, q.Touch.All)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if err := v.Allowed(n.Key); err != nil {
			return nil, err
		}
		if q.Kind == protocol.RequestPatch && v.Heals() && !q.Touch.Force && len(n.ParentRefs) == 0 {
			return nil, fault.New(fault.Conflict, "%s %s would be put back at once, as the application's syncs heal it; change it in Git, or use force", n.Kind, n.Name)
		}
	}
	hand, err := v.Hand()
	if err != nil {
		return nil, err
	}
	for i, n := range nodes {
		o, err := look.Get(ctx, v.Cluster, n)
		if err == nil && o == nil {
			continue // it has gone meanwhile
		}
		if err == nil && q.Kind == protocol.RequestAction && q.Touch.Ready {
			var offered bool
			if offered, err = look.Offers(ctx, v.Scripts(), o, q.Touch.Action); err == nil && !offered {
				continue
			}
		}
		if err == nil {
			switch q.Kind {
			case protocol.RequestAction:
				err = look.Act(ctx, look.Acting{Cluster: hand, Scripts: v.Scripts(), Allowed: v.Allowed, Now: q.At}, o, *q.Touch)
			case protocol.RequestPatch:
				err = look.Patch(ctx, hand, o, *q.Touch)
			case protocol.RequestDeleteObject:
				err = look.Delete(ctx, hand, o, *q.Touch)
			default:
				err = fault.New(fault.Unsupported, "nothing is done by %s", q.Kind)
			}
		}
		if err != nil {
			return nil, fault.Wrap(err, "%d of %d objects are done", i, len(nodes))
		}
	}
	return look.Keys(nodes), nil
}
