// Package agent is a GitOps agent: it leads, keeps the documents that the control
// plane gives, has delegate/gitops/reconcile go by them, and hands on requests and
// reports (semantics/gitops §2).
//
// It needs the control plane only to learn of changes: what it has is kept in its own
// namespace.
package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	delegate "github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gitops/link"
	"github.com/slipway-cd/slipway/delegate/gitops/reconcile"
	"github.com/slipway-cd/slipway/delegate/gitops/render"
	"github.com/slipway-cd/slipway/delegate/gitops/script"
	"github.com/slipway-cd/slipway/delegate/gitops/sets"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/gitops/settings"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Config is what an agent needs.
type Config struct {
	Client    delegate.Client
	Agent     protocol.Agent
	Namespace string // its own; empty: that of its pod, else DefaultNamespace
	// Within are the only namespaces of the cluster it runs in that it looks into and
	// changes; none: all, and what is in none.
	Within   []string
	Cache    string // the folder of what it fetches and renders
	Memory   int64  // of a process that renders, in bytes; 0: sandbox.DefaultMemory
	HostKeys gitfetch.HostKeys
	Cluster  task.Cluster // that it runs in
	Version  string
	// Delegate is what this process is besides, over whose socket the agent hears of
	// news; nil: nothing, and it asks.
	Delegate *delegate.Agent
	Log      *slog.Logger
}

// DefaultNamespace is the one of an agent that runs in no pod.
const DefaultNamespace = "slipway-gitops"

// podNamespace is where a pod's namespace is told.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Run runs an agent until the context ends, and gives the cause of that. While
// another process leads the same agent, it waits.
func Run(ctx context.Context, cfg Config) error {
	home, err := applying.Connect(cfg.Cluster)
	if err != nil {
		return fmt.Errorf("connect to the agent's cluster: %w", err)
	}
	a := &agent{Config: cfg, home: home}
	if a.Namespace == "" {
		a.Namespace = DefaultNamespace
		if text, err := os.ReadFile(podNamespace); err == nil {
			a.Namespace = strings.TrimSpace(string(text))
		}
	}
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		began := time.Now()
		err := a.prepare(ctx)
		if err == nil {
			err = a.lead(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.Is(err, errLost) && !fault.Is(err, fault.Unavailable):
			return err
		case time.Since(began) > longestPause:
			wait = firstPause
		}
		a.Log.WarnContext(ctx, "the GitOps agent begins again", "agent", a.Agent.ID, "after", wait, "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// The pauses between tries of an agent whose cluster can't be reached, or that
// another process leads.
const firstPause, longestPause = time.Second, time.Minute

// agent is one process of an agent.
type agent struct {
	Config

	home *applying.Cluster
	uid  string // of the cluster
}

// label is the value of object.LabelAgent. The namespace is in it, since a cluster may
// have agents of one name, of two control planes: neither takes the other's objects for
// its own.
func (a *agent) label() string {
	sum := sha256.Sum256([]byte(a.Namespace + "/" + a.Agent.Org + "/" + a.Agent.Project + "/" + a.Agent.ID))
	return hex.EncodeToString(sum[:4])
}

var namespaces = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// prepare finds out where the agent is, and makes its namespace if there is none.
func (a *agent) prepare(ctx context.Context) error {
	own := applying.Named(namespaces, object.Key{Name: a.Namespace})
	there, err := a.home.Get(ctx, own)
	if err == nil && there == nil {
		there, err = a.home.Create(ctx, own, object.Manager)
	}
	if err != nil && fault.CodeOf(err) != fault.Forbidden { // it may be there, and not to be seen
		return fmt.Errorf("make the agent's namespace: %w", err)
	}
	system, err := a.home.Get(ctx, applying.Named(namespaces, object.Key{Name: "kube-system"}))
	switch {
	case err == nil && system != nil:
		a.uid = string(system.GetUID())
	case there != nil && fault.CodeOf(err) == fault.Forbidden: // its own tells as well where it is
		a.uid = "namespace:" + string(there.GetUID())
	case fault.CodeOf(err) == fault.Forbidden:
		return fault.New(fault.Invalid, "a GitOps agent is to be allowed to get its own namespace or kube-system, by whose uid it knows its cluster: %w", err)
	case err != nil:
		return fmt.Errorf("find out which cluster this is: %w", err)
	}
	return nil
}

// leading does the agent's work as long as it leads.
func (a *agent) leading(ctx context.Context, fence int64) error {
	keep := &keeper{cluster: a.home, namespace: a.Namespace, label: a.label()}
	kept, err := keep.load(ctx)
	if err != nil {
		return err
	}
	to := link.Config{
		Client: a.Client, Kept: kept, Keep: keep.save, Log: a.Log,
		Hello: protocol.Hello{
			Lead: protocol.Lead{Agent: a.Agent, Fence: fence}, Version: a.Version, ClusterUID: a.uid, Namespace: a.Namespace,
		},
	}
	if a.Delegate != nil {
		to.Hello.Delegate, to.News, to.Hears = a.Delegate.ID(), a.Delegate.News(), a.Delegate.Connected
	}
	l, err := link.New(to)
	if err != nil {
		return err
	}
	sources := source.New(gitfetch.New(filepath.Join(a.Cache, "git"), a.HostKeys), chart.NewRepos(filepath.Join(a.Cache, "charts")), filepath.Join(a.Cache, "artifacts"))
	tells := &teller{link: l, log: a.Log, last: map[reconcile.Key]*protocol.Summary{}}
	r, err := reconcile.New(ctx, reconcile.Config{
		Agent: a.label(), Home: a.home, Namespace: a.Namespace, Sources: sources,
		Renderer: render.New(sources, sandbox.New(a.Memory), filepath.Join(a.Cache, "render")), Log: a.Log,
		Report: tells.view,
		Synced: func(k reconcile.Key, e gitops.HistoryEntry) { l.Synced(protocol.AppKey(k), e) },
	})
	if err != nil {
		return err
	}
	s, err := a.sets(ctx, sources, r, tells)
	if err != nil {
		return err
	}
	observe := s.Observe
	tells.observe.Store(&observe)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	g.Go(func() error { return r.Run(ctx) })
	g.Go(func() error {
		err := l.Run(ctx)
		if !fault.Is(err, fault.Conflict) {
			return err
		}
		// It is another cluster's: here nothing is done any more, not after a restart either.
		return errors.Join(err, keep.save(context.WithoutCancel(ctx), nil))
	})
	f := &following{within: a.Within, link: l, reconciler: r, sets: s, tells: tells, scripts: script.NewKinds(settings.Settings{})}
	g.Go(func() error { return f.follow(ctx) })
	g.Go(func() error { return serve(ctx, l, r, s, f) })
	return g.Wait()
}

// following has the reconciler and the sets go by documents.
type following struct {
	within     []string
	link       *link.Link
	reconciler *reconcile.Reconciler
	sets       *sets.Sets
	tells      *teller

	mu          sync.Mutex
	followed    <-chan struct{} // closes when there are other documents than those that are gone by
	connections reconcile.Connections
	by          settings.Settings
	scripts     *script.Kinds
}

// follow goes by the documents as they change.
func (f *following) follow(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.now(false):
		case <-f.sets.Changed():
			f.now(true)
		}
	}
}

// now goes by the documents that there are, and gives what closes when there are
// others. What was gone by is so again if the applications of sets have changed.
func (f *following) now(generated bool) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	docs, changed := f.link.Documents()
	if !docs.Known || changed == f.followed && !generated {
		return changed
	}
	set := argo.ReadSettings(docs.Settings)
	if !reflect.DeepEqual(f.by.Kinds, set.Kinds) || f.by.NoGenericHealth != set.NoGenericHealth {
		f.scripts = script.NewKinds(set)
	}
	f.by = set
	if changed != f.followed {
		f.sets.SetDocuments(sets.Documents{
			Sets: docs.Sets, Applications: docs.Applications, Projects: docs.Projects, Known: docs.Access, Clusters: docs.Clusters,
		})
	}
	f.followed = changed
	next := reconcile.Documents{
		Within: f.within, Projects: docs.Projects, Known: docs.Access, Clusters: f.connections.Clusters(docs.Clusters), Settings: f.by, Scripts: f.scripts,
	}
	f.tells.generated(f.sets.Generated())
	f.sets.Join(docs.Applications, func(all []gitops.Application) {
		next.Applications = all
		f.reconciler.SetDocuments(next)
	})
	return changed
}

// serve does what people ask.
func serve(ctx context.Context, l *link.Link, r *reconcile.Reconciler, s *sets.Sets, f *following) error {
	var looking errgroup.Group
	looking.SetLimit(lookers)
	defer func() { _ = looking.Wait() }() // they give no errors
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case q := <-l.Requests():
			f.now(false) // it is asked of the documents that there are
			look := func() protocol.Result { return looked(ctx, r, q) }
			switch {
			case q.Kind == protocol.RequestGenerate:
				look = func() protocol.Result { return generated(ctx, s, q) }
			case q.App.IsSet():
				answerOfSet(l, s, q)
				continue
			case !looks(q.Kind):
				answer(l, r, q)
				continue
			}
			if !looking.TryGo(func() error { l.Answer(q.ID, look()); return nil }) {
				l.Answer(q.ID, protocol.Result{Failed: true, Message: fmt.Sprintf("the agent answers %d others who look at applications; ask again", lookers)})
			}
		}
	}
}

func answer(l *link.Link, r *reconcile.Reconciler, q protocol.Request) {
	result := func(err error) protocol.Result {
		if err != nil {
			return protocol.Result{Failed: true, Busy: errors.Is(err, reconcile.ErrBusy), Message: err.Error()}
		}
		return protocol.Result{}
	}
	k := reconcile.Key(q.App)
	switch q.Kind {
	case protocol.RequestSync:
		var o gitops.Operation
		if q.Operation != nil {
			o = *q.Operation
		}
		l.Answer(q.ID, result(r.Sync(k, q.ID, o)))
	case protocol.RequestRollback:
		l.Answer(q.ID, result(r.Rollback(k, q.ID, reconcile.Rollback{History: q.History, Steps: q.Steps, Prune: q.Prune, DryRun: q.DryRun, By: q.By})))
	case protocol.RequestRefresh:
		l.Answer(q.ID, result(r.Refresh(k, q.Hard)))
	case protocol.RequestTerminate:
		l.Answer(q.ID, result(r.Terminate(k)))
	case protocol.RequestHold:
		var h protocol.Hold
		if q.Hold != nil {
			h = *q.Hold
		}
		l.Answer(q.ID, result(r.Hold(k, h, q.By)))
	case protocol.RequestRelease:
		l.Answer(q.ID, result(r.Release(k)))
	case protocol.RequestDelete:
		d := reconcile.Deletion{Request: q.ID, Cascade: q.Cascade, Done: func(err error) { l.Answer(q.ID, result(err)) }}
		if err := r.Delete(k, d); err != nil {
			if fault.CodeOf(err) == fault.NotFound {
				err = nil // it is gone
			}
			l.Answer(q.ID, result(err))
		}
	case protocol.RequestResources:
		s, ok := r.Status(k)
		if !ok {
			l.Answer(q.ID, result(fault.New(fault.NotFound, "this agent has no application %s", q.App)))
			return
		}
		doc, err := json.Marshal(s.Resources)
		out := result(err)
		out.Data = doc
		l.Answer(q.ID, out)
	default:
		l.Answer(q.ID, result(fault.New(fault.Unsupported, "this agent, of an older version, can't do %s", q.Kind)))
	}
}

// summary is what of a status is reported.
func summary(s *reconcile.View) *protocol.Summary {
	if s == nil {
		return nil
	}
	out := &protocol.Summary{
		Sync:   protocol.SyncSummary{Status: s.Sync.Status, Revision: s.Sync.Revision, Revisions: s.Sync.Revisions},
		Health: s.Health, Conditions: s.Conditions, Images: s.Summary.Images, URLs: s.Summary.ExternalURLs, Hold: s.Held,
	}
	out.Counts.Orphaned = s.Orphaned
	if o := s.OperationState; o != nil {
		out.Operation = operation(s.Request, o)
	}
	if b := s.Before; b != nil {
		out.Requested = operation(b.Request, &b.State)
	}
	for _, r := range s.Resources {
		if r.Hook {
			continue
		}
		out.Counts.Objects++
		if r.Group == "argoproj.io" && r.Kind == "Rollout" {
			out.Rollouts = append(out.Rollouts, r.Namespace+"/"+r.Name)
		}
		if r.RequiresPruning {
			out.Counts.ToPrune++
		}
		if r.Status == gitops.OutOfSync {
			out.Counts.OutOfSync++
		}
		if r.Health != nil && r.Health.Status == gitops.Missing {
			out.Counts.Missing++
		}
		if r.Health != nil && r.Health.Status == gitops.Degraded {
			out.Counts.Degraded++
		}
	}
	return out
}

func operation(request string, o *gitops.OperationState) *protocol.OperationSummary {
	return &protocol.OperationSummary{
		Phase: o.Phase, Message: o.Message, Request: request, By: o.Operation.InitiatedBy, StartedAt: o.StartedAt, FinishedAt: o.FinishedAt, Retry: o.RetryCount,
	}
}
