package reconcile

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/syncing"
	"github.com/slipway-cd/slipway/pkg/gitops/window"
)

// begin starts an operation. What keeps it from being begun is what came of it.
func (a *app) begin(ctx context.Context, o gitops.Operation, heal bool) {
	now := a.r.clock().UTC().Truncate(time.Second)
	if o.Sync == nil {
		o.Sync = &gitops.SyncRequest{}
	}
	run := &run{Operation: o, Heal: heal}
	a.begins(o, now)
	t, err := a.targetOf(ctx, run)
	if err == nil {
		_, err = a.site.hand(a.bounds)
	}
	if why := a.bounds.blocked(window.Asked{Manual: !o.InitiatedBy.Automated}, now); why != "" {
		err = fault.New(fault.Conflict, "%s", why)
	}
	if err == nil {
		for _, src := range t.sources { // a request may bring its own
			if refused := a.bounds.rules.Source(src.RepoURL); refused != nil {
				err = refused
			}
		}
	}
	if f := o.Sync.Filter; err == nil && f != nil {
		o.Sync.Filter = nil
		if o.Sync.Resources = t.taken(f, a.extras()); len(o.Sync.Resources) == 0 {
			err = fault.New(fault.Invalid, "no object of the application is one of the resourcesFilter")
		}
	}
	if err == nil { // the project may be another one than when it was rendered
		err = a.bounds.signed(ctx, a.r.cfg.Sources, &a.docs.Known, t.sources, t.revisions)
	}
	if err == nil {
		run.Sources, run.Revisions, run.Key = t.sources, t.revisions, t.key
		err = a.plan(ctx, run, t)
	}
	if err != nil {
		s := a.rec.Status.OperationState
		s.Phase, s.Message, s.FinishedAt = gitops.OperationError, err.Error(), &now
		if !heal && t != nil {
			a.rec.Tried = &attempt{Key: t.key, Phase: s.Phase, Message: s.Message}
		}
		return
	}
	a.rec.Run = run
	a.show()
}

// refuse says of an operation that it can't begin, as nobody can say what it would do.
func (a *app) refuse(ctx context.Context, o gitops.Operation, why error) {
	now := a.r.clock().UTC().Truncate(time.Second)
	a.r.mu.Lock()
	a.rec.Asked = a.asked
	a.r.mu.Unlock()
	a.begins(o, now)
	s := a.rec.Status.OperationState
	s.Phase, s.Message, s.FinishedAt = gitops.OperationError, why.Error(), &now
	if err := a.save(ctx); err != nil {
		a.log.WarnContext(ctx, "the record isn't kept", "error", err)
	}
}

// begins notes that an operation begins.
func (a *app) begins(o gitops.Operation, now time.Time) {
	if s := a.rec.Status.OperationState; s != nil && a.rec.Request != "" { // who asked may not have seen its end yet
		was := *s
		was.SyncResult, was.Operation = nil, gitops.Operation{InitiatedBy: s.Operation.InitiatedBy}
		a.rec.Before = &Ended{Request: a.rec.Request, State: was}
	}
	a.rec.Request = ""
	if by := o.InitiatedBy; !by.Automated || by.Username != "" { // somebody, or a set, waits for it
		a.rec.Request = a.rec.Asked
	}
	a.rec.Status.OperationState = &gitops.OperationState{Operation: o, Phase: gitops.OperationRunning, StartedAt: now}
}

// targetOf is what a run makes live: the target that was compared, unless the
// request, or what was begun, asks for something else.
func (a *app) targetOf(ctx context.Context, run *run) (*target, error) {
	req := run.Operation.Sync
	if len(req.Manifests) > 0 {
		return nil, fault.New(fault.Unsupported, "the request brings manifests of its own, which can't be synced yet")
	}
	sources, revisions := run.Sources, run.Revisions
	if run.State == nil {
		sources = a.doc.Spec.All()
		if req.Source != nil {
			sources = []gitops.Source{*req.Source}
		}
		if len(req.Sources) > 0 {
			sources = req.Sources
		}
		asked := req.Revisions
		if req.Revision != "" {
			asked = []string{req.Revision}
		}
		own := len(asked) == 0 && reflect.DeepEqual(sources, a.doc.Spec.All())
		if own && !run.Operation.InitiatedBy.Automated { // who asks wants what there is now
			if err := a.refresh(ctx, false, true); err != nil {
				return nil, err
			}
			return a.load(ctx, a.target)
		}
		if len(asked) == 0 && a.target != nil && reflect.DeepEqual(sources, a.target.sources) {
			return a.load(ctx, a.target)
		}
		if len(asked) > 0 && len(asked) != len(sources) {
			return nil, fmt.Errorf("the request names %d revisions; want one for each of the %d sources", len(asked), len(sources))
		}
		at := slices.Clone(sources)
		for i := range asked {
			at[i].TargetRevision = asked[i]
		}
		found, err := a.r.cfg.Sources.Resolve(ctx, source.Wanted{Project: a.doc.Spec.Project, Sources: at, Known: &a.docs.Known, Since: a.r.clock()})
		if err != nil {
			return nil, err
		}
		revisions = found.Revisions
	}
	if a.target != nil && slices.Equal(revisions, a.target.revisions) && reflect.DeepEqual(sources, a.target.sources) {
		return a.load(ctx, a.target)
	}
	t, err := a.render(ctx, sources, revisions, false)
	if err != nil {
		return nil, err
	}
	return a.load(ctx, t)
}

// taken are the objects of a target, and those that it has no more, that a filter takes.
func (t *target) taken(f *gitops.ObjectFilter, extras []object.Key) []object.Key {
	var out []object.Key
	for i := range t.objects {
		if w := &t.objects[i]; !w.hook && f.Takes(w.key, w.body.GetLabels()) {
			out = append(out, w.key)
		}
	}
	for _, k := range extras {
		if t.find(k) == nil && f.Takes(k, nil) {
			out = append(out, k)
		}
	}
	return out
}

// options are those of a run.
func (a *app) options(run *run) syncing.Options {
	list := run.Operation.Sync.SyncOptions
	if p := a.doc.Spec.SyncPolicy; list == nil && p != nil {
		list = p.SyncOptions
	}
	return syncing.ParseOptions(list)
}

// plan says what a run has to do.
func (a *app) plan(ctx context.Context, run *run, t *target) error {
	if err := a.watch(ctx, t); err != nil {
		return err
	}
	req := run.Operation.Sync
	r := syncing.Request{
		Started: a.rec.Status.OperationState.StartedAt, Attempt: run.Attempt, Prune: req.Prune, DryRun: req.DryRun,
		Only: req.Resources, Options: a.options(run),
	}
	if len(t.revisions) > 0 {
		r.Revision = t.revisions[0]
	}
	if s := req.SyncStrategy; s != nil && s.Apply != nil {
		r.NoHooks, r.Force = true, s.Apply.Force
	} else if s != nil && s.Hook != nil {
		r.Force = s.Hook.Force
	}
	var err error
	if r.Namespace, err = a.namespace(ctx, r.Options, t); err != nil {
		return err
	}
	var items []syncing.Item
	for i := range t.objects {
		w := &t.objects[i]
		item := syncing.Item{Key: w.key, Version: w.version, Annotations: w.notes, GenerateName: w.generateName, Defines: w.defines}
		if o, there := a.seen(w.key); there && !w.hook && o.App == a.key.tracked() {
			item.Unchanged = a.unchanged(w, o)
			v := a.verdicts[w.key]
			item.Synced = item.Unchanged || v.synced && v.hash == w.hash && v.version == o.ResourceVersion
		} else if there && !w.hook && o.App != "" && r.Options.With(w.notes[object.AnnotationOptions]).On(syncing.OptionFailOnShared) {
			item.Refusal = fmt.Sprintf("%s is also part of application %s", describe(w.key), o.App)
		}
		if item.Refusal == "" {
			item.Refusal = a.bounds.object(w.key)
		}
		items = append(items, item)
	}
	for _, k := range a.extras() {
		if t.find(k) != nil {
			continue
		}
		o, _ := a.seen(k)
		items = append(items, syncing.Item{Key: k, Version: a.rec.Inventory[k].Version, Annotations: o.Notes, Extra: true})
	}
	run.State, run.RetryAt = syncing.Plan(r, items), time.Time{}
	return nil
}

// namespace is the one of the destination if the sync is to make it, or to mark it.
func (a *app) namespace(ctx context.Context, o syncing.Options, t *target) (*syncing.Item, error) {
	name := a.doc.Spec.Destination.Namespace
	k := object.Key{Kind: "Namespace", Name: name}
	if !o.On(syncing.OptionCreateNamespace) || name == "" || t.find(k) != nil {
		return nil, nil
	}
	if p := a.doc.Spec.SyncPolicy; p == nil || p.ManagedNamespaceMetadata == nil {
		there, err := a.site.cluster.Get(ctx, applying.Named(namespaces, k))
		if err != nil || there != nil {
			return nil, err
		}
	}
	return &syncing.Item{Key: k, Version: "v1", Harmless: true}, nil
}

var namespaces = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// operate goes on with the operation under way, and says when to look again if it
// hasn't ended.
func (a *app) operate(ctx context.Context) time.Time {
	run := a.rec.Run
	now := a.r.clock()
	if now.Before(run.RetryAt) {
		return run.RetryAt
	}
	again := !run.RetryAt.IsZero()
	if r := run.Operation.Sync; again && syncing.RetryOf(run.Operation, a.doc.Spec.SyncPolicy).Refresh && a.target != nil {
		_ = a.refresh(ctx, false, true) // it goes on with what it has
		if r.Revision == "" && r.Revisions == nil && r.Source == nil && r.Sources == nil {
			run.Sources, run.Revisions = a.target.sources, a.target.revisions
		}
	}
	t, err := a.targetOf(ctx, run)
	if err == nil && again {
		run.Sources, run.Revisions, run.Key = t.sources, t.revisions, t.key
		err = a.plan(ctx, run, t)
	} else if err == nil {
		err = a.watch(ctx, t)
	}
	if err != nil {
		a.rec.Status.OperationState.Message = err.Error()
		if !run.State.Terminating {
			return now.Add(a.pause())
		}
		t = &target{}
	}
	asked := window.Asked{Manual: !run.Operation.InitiatedBy.Automated, Started: a.rec.Status.OperationState.StartedAt}
	for {
		if why := a.bounds.blocked(asked, a.r.clock()); why != "" && !run.State.Terminating {
			a.rec.Status.OperationState.Message = why
			return window.Edge(a.bounds.windows, a.r.clock())
		}
		actions := run.State.Next(syncing.World{Live: a.world(ctx, run.State), Approved: a.approved()})
		a.progress()
		if err := a.save(ctx); err != nil {
			a.log.WarnContext(ctx, "the operation can't go on", "error", err)
			return a.r.clock().Add(a.pause())
		}
		if len(actions) == 0 {
			break
		}
		a.show()
		a.perform(ctx, run, t, actions)
		if ctx.Err() != nil {
			return a.r.clock()
		}
	}
	if !run.State.Phase.Ended() {
		return a.r.clock().Add(lookEvery)
	}
	a.finish(ctx)
	return time.Time{}
}

// approved is when somebody last approved of deletions.
func (a *app) approved() time.Time {
	at, _ := time.Parse(time.RFC3339, a.doc.Meta.Annotations[object.AnnotationDeleteApproved]) // what isn't a time approves of nothing
	return at
}

// annotationOperation is on hooks: which sync made them.
const annotationOperation = object.Prefix + "operation"

// world is what a sync looks at. What the watch doesn't show is asked for: it may
// not have heard yet.
func (a *app) world(ctx context.Context, s *syncing.State) func(object.Key) *syncing.Live {
	versions, hooks := map[object.Key]string{}, map[object.Key]bool{}
	for _, t := range s.Tasks {
		versions[t.Key], hooks[t.Key] = t.Version, t.Hook
	}
	return func(k object.Key) *syncing.Live {
		if o, there := a.seen(k); there && !hooks[k] {
			l := &syncing.Live{UID: string(o.UID), Generation: o.Generation, Deleting: o.Deleting, Health: o.Health}
			if o.Observed < o.Generation && o.Health != nil && o.Health.Status == gitops.Healthy && o.Observed != 0 {
				l.Health = &gitops.HealthStatus{Status: gitops.Progressing}
			}
			return l
		}
		o, err := a.site.cluster.Get(ctx, applying.Named(schema.GroupVersionKind{Group: k.Group, Version: versions[k], Kind: k.Kind}, k))
		if isNoKind(err) || err == nil && o == nil {
			return nil
		}
		if err != nil {
			return &syncing.Live{Health: &gitops.HealthStatus{Status: gitops.Progressing, Message: err.Error()}}
		}
		l := &syncing.Live{
			UID: string(o.GetUID()), Generation: o.GetGeneration(), Deleting: o.GetDeletionTimestamp() != nil, Operation: o.GetAnnotations()[annotationOperation],
		}
		if hooks[k] {
			// One that is being deleted is held by its finalizer, so that it can be
			// seen what came of it.
			o.SetDeletionTimestamp(nil)
		}
		l.Health = a.docs.Scripts.Health(ctx, o.Object)
		return l
	}
}

// progress shows how far the operation is.
func (a *app) progress() {
	run, s := a.rec.Run, a.rec.Status.OperationState
	s.Phase, s.Message = run.State.Phase, run.State.Message
	one, several := revision(run.Operation.Sync.Sources, run.Revisions)
	if len(run.Sources) > 1 {
		one, several = "", run.Revisions
	}
	s.SyncResult = &gitops.SyncResult{Revision: one, Revisions: several, Resources: run.State.Results()}
	if p := a.doc.Spec.SyncPolicy; p != nil {
		s.SyncResult.ManagedNamespaceMetadata = p.ManagedNamespaceMetadata
	}
	if len(run.Sources) == 1 {
		s.SyncResult.Source = &run.Sources[0]
	} else {
		s.SyncResult.Sources = run.Sources
	}
}

// finish says what came of an operation, or that it is tried again.
func (a *app) finish(ctx context.Context) {
	run, s := a.rec.Run, a.rec.Status.OperationState
	now := a.r.clock().UTC().Truncate(time.Second)
	terminated := run.State.Terminating
	whole := run.Operation.Sync.Resources == nil && !run.Operation.Sync.DryRun
	if s.Phase != gitops.OperationSucceeded && !terminated && !run.Heal {
		if wait, again := syncing.RetryAfter(syncing.RetryOf(run.Operation, a.doc.Spec.SyncPolicy), run.Attempt+1); again {
			run.Attempt++
			run.RetryAt = now.Add(wait)
			s.Phase, s.RetryCount = gitops.OperationRunning, run.Attempt
			s.Message = fmt.Sprintf("%s; try %d is at %s", s.Message, run.Attempt+1, run.RetryAt.Format(time.TimeOnly))
			return
		}
	}
	s.FinishedAt = &now
	a.rec.Run = nil
	if whole {
		a.rec.Tried = &attempt{Key: run.Key, Phase: s.Phase, Message: s.Message}
	}
	if whole && s.Phase == gitops.OperationSucceeded {
		a.remember(run, now)
	}
	a.log.InfoContext(ctx, "operation ended", "phase", s.Phase, "revision", s.SyncResult.Revision, "message", s.Message)
	if err := a.save(ctx); err != nil {
		a.log.WarnContext(ctx, "what came of the operation isn't kept", "error", err)
	}
}

// remember adds to the history. A sync of what the last one was about is that.
func (a *app) remember(run *run, now time.Time) {
	limit := 10
	if l := a.doc.Spec.RevisionHistoryLimit; l != nil {
		limit = *l
	}
	s := a.rec.Status.OperationState
	history := a.rec.Status.History
	entry := gitops.HistoryEntry{
		ID: 1, Revision: s.SyncResult.Revision, Revisions: s.SyncResult.Revisions, Source: s.SyncResult.Source, Sources: s.SyncResult.Sources,
		DeployStartedAt: s.StartedAt, DeployedAt: now, InitiatedBy: run.Operation.InitiatedBy,
	}
	if n := len(history); n > 0 {
		last := history[n-1]
		entry.ID = last.ID + 1
		if last.Revision == entry.Revision && slices.Equal(last.Revisions, entry.Revisions) && reflect.DeepEqual(last.Source, entry.Source) && reflect.DeepEqual(last.Sources, entry.Sources) {
			history = slices.Clone(history)
			history[n-1].DeployedAt = now
			a.rec.Status.History = history
			return
		}
	}
	history = append(slices.Clone(history), entry)
	a.rec.Status.History = history[max(0, len(history)-limit):]
	if a.r.cfg.Synced != nil {
		a.r.cfg.Synced(a.key, entry)
	}
}

// terminate ends the operation under way, if there is one.
func (a *app) terminate() {
	switch run := a.rec.Run; {
	case run == nil:
	case run.RetryAt.IsZero():
		run.State.Terminate()
	default:
		a.giveUp("Operation terminated")
	}
}

// overtake ends the tries of an automated sync whose revision isn't wanted any more.
func (a *app) overtake() {
	run := a.rec.Run
	if run != nil && !run.RetryAt.IsZero() && run.Operation.InitiatedBy.Automated && a.target != nil && a.target.key != run.Key {
		a.giveUp(a.rec.Status.OperationState.Message + "; there is something newer")
	}
}

// giveUp ends an operation that waits for its next try.
func (a *app) giveUp(message string) {
	now := a.r.clock().UTC().Truncate(time.Second)
	s, run := a.rec.Status.OperationState, a.rec.Run
	s.Phase, s.Message, s.FinishedAt = gitops.OperationFailed, message, &now
	a.rec.Tried = &attempt{Key: run.Key, Phase: s.Phase, Message: message}
	a.rec.Run = nil
}
