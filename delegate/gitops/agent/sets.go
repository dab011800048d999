package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/slipway-cd/slipway/delegate/gitops/forge"
	"github.com/slipway-cd/slipway/delegate/gitops/link"
	"github.com/slipway-cd/slipway/delegate/gitops/reconcile"
	"github.com/slipway-cd/slipway/delegate/gitops/sets"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// sets are the agent's, with what was kept of them.
func (a *agent) sets(ctx context.Context, sources *source.Sources, r *reconcile.Reconciler, tells *teller) (*sets.Sets, error) {
	keep := &keeper{cluster: a.home, namespace: a.Namespace, label: a.label() + "-sets"}
	kept, err := keep.load(ctx)
	if err != nil {
		return nil, err
	}
	return sets.New(sets.Config{
		Sources: sources, Sandbox: sandbox.New(a.Memory), Kept: kept, Keep: keep.save, Log: a.Log, Report: tells.set,
		Forge: forge.Forge{Values: home{a.home, a.Namespace}}, List: home{a.home, a.Namespace}.list,
		Sync: func(app, id string, o gitops.Operation) error { return r.Roll(reconcile.Key{Name: app}, id, o) },
		Delete: func(name string, cascade bool, done func(error)) error {
			return r.Delete(reconcile.Key{Name: name}, reconcile.Deletion{Cascade: cascade, Now: true, Done: done})
		},
	})
}

// teller reports applications and sets. Whose an application is may change when
// nothing else of it does.
type teller struct {
	link *link.Link
	log  *slog.Logger

	// observe is told how applications are; nil: nobody wants to know.
	observe atomic.Pointer[func(app string, v *sets.Seen)]

	mu   sync.Mutex
	sets map[string]protocol.Generated
	last map[reconcile.Key]*protocol.Summary
}

// seen is what sets go by of an application.
func seen(v *reconcile.View) *sets.Seen {
	if v == nil {
		return nil
	}
	out := &sets.Seen{Sync: v.Sync.Status, Health: v.Health.Status, Revisions: v.Sync.Revisions, Request: v.Request}
	if v.Sync.Revision != "" {
		out.Revisions = []string{v.Sync.Revision}
	}
	if o := v.OperationState; o != nil {
		out.Operation, out.Message = o.Phase, o.Message
	}
	return out
}

// view tells of an application.
func (t *teller) view(k reconcile.Key, v *reconcile.View) {
	if tell := t.observe.Load(); tell != nil && k.Namespace == "" {
		(*tell)(k.Name, seen(v))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := summary(v)
	if s == nil {
		delete(t.last, k)
	} else {
		t.last[k] = s
	}
	t.tell(k, s)
}

// tell reports one with whose it is. The lock is held.
func (t *teller) tell(k reconcile.Key, s *protocol.Summary) {
	if of, ok := t.sets[k.Name]; ok && s != nil {
		whole := *s
		whole.Generated = &of
		s = &whole
	}
	t.report(protocol.AppKey(k), s)
}

func (t *teller) report(k protocol.AppKey, s *protocol.Summary) {
	if err := t.link.Report(k, s); err != nil {
		t.log.Warn("a report can't be made", "app", k.String(), "error", err)
	}
}

// generated tells of those whose set says something else of them.
func (t *teller) generated(now map[string]protocol.Generated) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.sets
	t.sets = now
	for k, s := range t.last {
		before, had := was[k.Name]
		after, has := now[k.Name]
		if had != has || !reflect.DeepEqual(before, after) {
			t.tell(k, s)
		}
	}
}

func (t *teller) set(name string, s *protocol.Set) {
	if s == nil {
		t.report(protocol.SetKey(name), nil)
		return
	}
	t.report(protocol.SetKey(name), &protocol.Summary{Set: s})
}

// answerOfSet does what people ask of a set.
func answerOfSet(l *link.Link, s *sets.Sets, q protocol.Request) {
	switch q.Kind {
	case protocol.RequestRefresh:
		out := protocol.Result{}
		if err := s.Refresh(q.App.Name); err != nil {
			out = protocol.Result{Failed: true, Message: err.Error()}
		}
		l.Answer(q.ID, out)
	case protocol.RequestDelete:
		s.Delete(q.App.Name, func() { l.Answer(q.ID, protocol.Result{}) })
	default:
		l.Answer(q.ID, protocol.Result{Failed: true, Message: fault.New(fault.Unsupported, "this agent, of an older version, can't do %s of a set", q.Kind).Error()})
	}
}

// generated says which applications a set would have.
func generated(ctx context.Context, s *sets.Sets, q protocol.Request) protocol.Result {
	var set appset.Set
	if err := json.Unmarshal(q.Generate, &set); err != nil {
		return protocol.Result{Failed: true, Message: "read the application set: " + err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	apps, err := s.Generate(ctx, set)
	var doc json.RawMessage
	if err == nil {
		doc, err = json.Marshal(apps)
	}
	if err != nil {
		return protocol.Result{Failed: true, Message: err.Error()}
	}
	return protocol.Result{Data: doc}
}
