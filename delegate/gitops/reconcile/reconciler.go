package reconcile

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/live"
	"github.com/slipway-cd/slipway/delegate/gitops/render"
	"github.com/slipway-cd/slipway/delegate/gitops/script"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/settings"
	"github.com/slipway-cd/slipway/pkg/gitops/window"
)

// Config is what a Reconciler needs.
type Config struct {
	Agent     string            // the value of object.LabelAgent
	Home      *applying.Cluster // where the agent keeps its records
	Namespace string            // of Home: the agent's
	Sources   *source.Sources
	Renderer  *render.Renderer
	// Report is told how an application is whenever that has changed; nil: it is
	// gone. It must not block.
	Report func(Key, *View)
	// Synced is told of each entry of a history. It must not block.
	Synced func(Key, gitops.HistoryEntry)
	Log    *slog.Logger
}

// View is how an application is.
type View struct {
	gitops.ApplicationStatus

	Request string // whose the last operation is; empty: nobody asked for it
	Before  *Ended // the last one before it that somebody asked for
	Held    string // at which revision; empty: it isn't
	// Orphaned is how many objects of its namespace belong to nobody, as far as its
	// project has them looked for.
	Orphaned int
}

// Ended is an operation that has ended, with the request for it.
type Ended struct {
	Request string                `json:"request"`
	State   gitops.OperationState `json:"state"` // without what was asked for and what was done to each object
}

// Key names an application of the agent. Its namespace is empty for the agent's own.
type Key struct{ Namespace, Name string }

// tracked is the name that tracking ids have.
func (k Key) tracked() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "_" + k.Name
}

// Documents are what the agent is to go by.
type Documents struct {
	Applications []gitops.Application
	Projects     []gitops.Project
	Known        access.Known
	Clusters     []Cluster
	// Within are the only namespaces of the agent's own cluster that it may look into;
	// none: all.
	Within   []string
	Settings settings.Settings
	// Scripts are those of Settings.
	Scripts *script.Kinds
}

// The cluster that the agent runs in.
const (
	InClusterServer = "https://kubernetes.default.svc"
	InClusterName   = "in-cluster"
)

// Reconciler reconciles the applications of one agent.
type Reconciler struct {
	cfg   Config
	poked chan struct{} // holds one signal: an application's turn may be earlier

	mu    sync.Mutex
	docs  Documents
	apps  map[Key]*app
	named map[string]*app // by the name in tracking ids
	sites map[string]*site
	// records are those of applications that no document was seen of yet.
	records map[Key]*record
	clock   func() time.Time
}

const (
	// workers is how many applications are looked at side by side.
	workers = 8
	// pollEvery and pollJitter are how far apart the polls of an application are.
	pollEvery, pollJitter = 2 * time.Minute, time.Minute
	// pollLeast is how close they may be, and never is when those are that nobody asks
	// for.
	pollLeast, never = 5 * time.Second, 365 * 24 * time.Hour
	// debounce is how long after a change of an object it is looked at: changes
	// come in groups.
	debounce = 100 * time.Millisecond
	// lookEvery is how often a sync that waits looks without having been told to.
	lookEvery = 5 * time.Second
	// retryFirst and retryMost bound the pause after what couldn't be found out.
	retryFirst, retryMost = 5 * time.Second, 5 * time.Minute
)

// New makes a Reconciler, with what the agent's earlier processes kept.
func New(ctx context.Context, cfg Config) (*Reconciler, error) {
	r := &Reconciler{
		cfg: cfg, poked: make(chan struct{}, 1), apps: map[Key]*app{}, named: map[string]*app{}, sites: map[string]*site{}, records: map[Key]*record{},
		clock: time.Now,
	}
	return r, r.load(ctx)
}

// Run reconciles until its context ends, and gives the cause of that.
func (r *Reconciler) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var loops sync.WaitGroup
	defer loops.Wait()
	var work errgroup.Group
	work.SetLimit(workers)
	defer func() { _ = work.Wait() }() // they report to their applications
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		a, wait := r.next()
		if a != nil {
			work.Go(func() error { r.pass(ctx, &loops, a); return nil })
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.poked:
		case <-timer.C:
		}
	}
}

// next takes the application whose turn it is, or says how long there is none.
func (r *Reconciler) next() (*app, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	var first *app
	busy := map[string]int{}
	for _, a := range r.apps {
		if a.busy {
			busy[a.at]++
		}
	}
	for _, a := range r.apps {
		if !a.busy && !a.due.IsZero() && (first == nil || a.due.Before(first.due)) && busy[a.at] < r.share(a.at) {
			first = a
		}
	}
	switch {
	case first == nil:
		return nil, time.Hour
	case first.due.After(now):
		return nil, first.due.Sub(now)
	}
	first.busy, first.due = true, time.Time{}
	return first, 0
}

// share is how many workers may be at a cluster's applications at once: one that is
// away, or that nobody has asked yet, keeps one. The lock is held.
func (r *Reconciler) share(server string) int {
	switch s := r.sites[server]; {
	case server == "" || server == InClusterServer:
		return workers
	case s == nil || !s.answers():
		return 1
	}
	return workers / 2
}

// pass has an application do what there is to do now.
func (r *Reconciler) pass(ctx context.Context, loops *sync.WaitGroup, a *app) {
	r.mu.Lock()
	in := a.in
	a.in = inputs{doc: in.doc, remove: in.remove, forget: in.forget}
	docs := r.docs
	r.mu.Unlock()
	next := a.step(ctx, loops, in, docs)
	for _, v := range in.visits {
		v <- a.visited() // there is room for it
	}
	var removed *removal
	r.mu.Lock()
	a.busy = false
	if a.gone {
		removed = r.leaveLocked(a)
	} else if a.due.IsZero() || next.Before(a.due) {
		a.due = next
	}
	r.mu.Unlock()
	r.poke()
	removed.told(nil)
}

// leaveLocked takes leave of an application that was forgotten or removed, unless
// somebody has come meanwhile who wants something of it. It gives the removal that is
// done. The lock is held.
func (r *Reconciler) leaveLocked(a *app) (removed *removal) {
	delete(r.apps, a.key)
	delete(r.named, a.key.tracked())
	in := a.in
	wanted := in.remove != nil || !in.forget
	if a.rec == nil {
		removed, in.remove = in.remove, nil
		wanted = !in.forget && !removed.now // it goes from the documents next
	} else {
		r.records[a.key] = a.rec
	}
	if !wanted {
		for _, v := range in.visits {
			v <- &app{} // there is room for it
		}
		return removed
	}
	again := r.addLocked(a.key)
	again.in, again.at = in, a.at
	r.wakeLocked(again, r.clock())
	return removed
}

// addLocked makes an application, with the record that is kept of it. The lock is held.
func (r *Reconciler) addLocked(k Key) *app {
	a := &app{r: r, key: k, rec: r.records[k], log: r.cfg.Log.With("app", k.tracked())}
	if a.rec == nil {
		a.rec = &record{App: k}
	}
	a.asked = a.rec.Asked
	delete(r.records, k)
	r.apps[k], r.named[k.tracked()] = a, a
	return a
}

func (r *Reconciler) poke() {
	select {
	case r.poked <- struct{}{}:
	default:
	}
}

// SetDocuments has the agent go by other documents. An application that is in none
// any more is forgotten, and its objects stay.
func (r *Reconciler) SetDocuments(docs Documents) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	r.docs = docs
	there := map[Key]bool{}
	for i := range docs.Applications {
		doc := &docs.Applications[i]
		k := Key{doc.Meta.Namespace, doc.Meta.Name}
		there[k] = true
		a := r.apps[k]
		if a == nil {
			a = r.addLocked(k)
			if a.rec.Removing && a.rec.RemovingNow { // its removal goes on
				a.in.remove = &removal{cascade: true, now: true, asked: now}
			}
		}
		a.in.doc, a.in.forget, a.at = doc, false, ""
		if c, err := docs.cluster(r.cfg.Home, doc.Spec.Destination); err == nil { // else it is told at once
			a.at = c.Server
		}
		r.wakeLocked(a, now)
	}
	for server, s := range r.sites {
		if c, err := docs.cluster(r.cfg.Home, gitops.Destination{Server: server}); err != nil || c.Cluster != s.cluster || docs.Scripts != s.scripts {
			s.stop()
			delete(r.sites, server)
		}
	}
	for k, rec := range r.records {
		if rec.Removing && !there[k] { // its removal goes on
			a := r.addGoneLocked(k, rec)
			a.in.remove = &removal{cascade: true, now: rec.RemovingNow, asked: now}
		}
	}
	for k, a := range r.apps {
		if !there[k] {
			a.in.forget = true
			r.wakeLocked(a, now)
		}
	}
}

// wakeLocked brings the turn of an application forward. The lock is held.
func (r *Reconciler) wakeLocked(a *app, at time.Time) {
	if a.due.IsZero() || at.Before(a.due) {
		a.due = at
	}
	r.poke()
}

// ask gives an application something to do.
func (r *Reconciler) ask(k Key, change func(*app) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.apps[k]
	if a == nil {
		return fault.New(fault.NotFound, "this agent has no application %s", k.tracked())
	}
	if err := change(a); err != nil {
		return err
	}
	r.wakeLocked(a, r.clock())
	return nil
}

// Sync asks for a sync. There is one at a time. The id is the request's: what was
// begun for it isn't begun again.
func (r *Reconciler) Sync(k Key, id string, o gitops.Operation) error {
	return r.operation(k, id, window.Asked{Manual: true}, func(a *app) error {
		a.in.sync = &o
		return nil
	})
}

// Roll is Sync by nobody's hand.
func (r *Reconciler) Roll(k Key, id string, o gitops.Operation) error {
	return r.operation(k, id, window.Asked{}, func(a *app) error {
		a.in.sync = &o
		return nil
	})
}

// ErrBusy is that something can't be begun before something else has ended.
var ErrBusy = errors.New("another operation is in progress")

// operation has an application begin something, unless it has begun something else,
// or may not now.
func (r *Reconciler) operation(k Key, id string, how window.Asked, begin func(*app) error) error {
	return r.ask(k, func(a *app) error {
		if id != "" && id == a.asked {
			return nil
		}
		if err := a.followed(); err != nil {
			return err
		}
		if a.operating || a.in.sync != nil {
			return fault.New(fault.Conflict, "%w on application %s", ErrBusy, k.tracked())
		}
		if err := r.open(a.in.doc, how); err != nil {
			return err
		}
		if err := begin(a); err != nil {
			return err
		}
		a.asked = id
		return nil
	})
}

// open says which windows keep off a sync of an application now; nil: none. The lock is
// held.
func (r *Reconciler) open(doc *gitops.Application, how window.Asked) error {
	c, err := r.docs.cluster(r.cfg.Home, doc.Spec.Destination)
	if err != nil {
		return err
	}
	b, err := r.docs.bounds(doc, c)
	if err != nil {
		return err
	}
	if why := b.blocked(how, r.clock()); why != "" {
		return fault.New(fault.Conflict, "%s", why)
	}
	return nil
}

// Refresh asks for a look at the sources, and for a comparison. A hard one goes by
// nothing that is remembered.
func (r *Reconciler) Refresh(k Key, hard bool) error {
	return r.ask(k, func(a *app) error {
		a.in.refresh, a.in.hard = true, a.in.hard || hard
		return a.followed()
	})
}

// followed refuses what is asked of an application that nobody follows.
func (a *app) followed() error {
	if a.in.doc != nil && a.in.doc.Meta.Annotations[object.AnnotationSkipReconcile] == "true" {
		return fault.New(fault.Conflict, "application %s isn't followed, as its annotation %s says; take that away first", a.key.tracked(), object.AnnotationSkipReconcile)
	}
	return nil
}

// Terminate ends the operation under way.
func (r *Reconciler) Terminate(k Key) error {
	return r.ask(k, func(a *app) error {
		if !a.operating {
			return fault.New(fault.Conflict, "no operation is in progress on application %s", k.tracked())
		}
		a.in.terminate = true
		return nil
	})
}

// Status is how an application is.
func (r *Reconciler) Status(k Key) (gitops.ApplicationStatus, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.apps[k]
	if a == nil || a.shown == nil {
		return gitops.ApplicationStatus{}, false
	}
	return *a.shown, true
}

// changed is told by a watch.
func (r *Reconciler) changed(e live.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range []*live.Object{e.Before, e.After} {
		if o == nil {
			continue
		}
		if a := r.named[o.App]; a != nil {
			at := r.clock()
			if !a.operating {
				at = at.Add(debounce)
			}
			r.wakeLocked(a, at)
		}
	}
}

// nextPoll is when an application looks at its sources again.
func (r *Reconciler) nextPoll() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	jitter := pollJitter
	if p := r.docs.Settings.PollJitter; p != nil {
		jitter = *p
	}
	if p := r.docs.Settings.Poll; p != nil && *p == 0 {
		return r.clock().Add(never)
	}
	return r.clock().Add(r.pollEveryLocked() + rand.N(jitter+1)) //nolint:gosec // it only spreads polls
}

// pollEvery is how far apart the looks at sources are.
func (r *Reconciler) pollEvery() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pollEveryLocked()
}

func (r *Reconciler) pollEveryLocked() time.Duration {
	if p := r.docs.Settings.Poll; p != nil {
		return max(*p, pollLeast)
	}
	return pollEvery
}

// cluster finds the cluster of a destination.
func (d *Documents) cluster(home *applying.Cluster, to gitops.Destination) (Cluster, error) {
	var found Cluster
	for _, c := range slices.Concat(d.Clusters, []Cluster{{Name: InClusterName, Server: InClusterServer}}) {
		if to.Server != "" && c.Server == to.Server || to.Server == "" && c.Name == to.Name {
			found = c
			break
		}
	}
	switch {
	case found.Server == "":
		return Cluster{}, fault.New(fault.Invalid, "this agent has no cluster %s", cmp.Or(to.Server, to.Name))
	case found.Cluster != nil || found.Problem != nil:
	case d.Settings.NoHome:
		return Cluster{}, fault.New(fault.Forbidden, "the setting cluster.inClusterEnabled keeps applications out of the agent's own cluster")
	default:
		found.Cluster = home
		if len(d.Within) > 0 {
			found.Wide = false
			if len(found.Namespaces) == 0 {
				found.Namespaces = d.Within
			}
		}
	}
	return found, nil
}

// bound is the document of an application's project; nil: there is none.
func (d *Documents) bound(doc *gitops.Application) *gitops.Project {
	p, _ := d.project(doc.Spec.Project) // that there is none is told elsewhere
	return p
}

// project is the one of an application; the one that there always is bounds
// nothing, unless a document says otherwise.
func (d *Documents) project(name string) (*gitops.Project, error) {
	name = cmp.Or(name, "default")
	for i := range d.Projects {
		if d.Projects[i].Meta.Name == name {
			return &d.Projects[i], nil
		}
	}
	if name == "default" {
		return &gitops.Project{Meta: gitops.Meta{Name: name}, Spec: gitops.ProjectSpec{
			SourceRepos: []string{"*"}, Destinations: []gitops.Destination{{Server: "*", Namespace: "*"}}, ClusterResourceWhitelist: []gitops.KindPattern{{Group: "*", Kind: "*"}},
		}}, nil
	}
	return nil, fault.New(fault.Invalid, "this agent has no project %s", name)
}

// describe is an object as messages have it.
func describe(k object.Key) string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}
