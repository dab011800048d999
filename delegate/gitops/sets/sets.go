// Package sets makes the applications of an agent's ApplicationSets, and changes and
// deletes them as the sets say (semantics/gitops §15): it asks generators for
// parameters, has delegate/gitops/generate put them into templates, and keeps which
// applications are a set's own.
//
// It deploys nothing: its applications are for delegate/gitops/reconcile, beside those
// that are documents. What is a set's own is kept before anything is done with it, so
// that neither a restart nor a generator that can't be asked loses or deletes anything.
package sets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/delegate/gitops/forge"
	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// Config is what Sets need.
type Config struct {
	Sources *source.Sources
	Sandbox *sandbox.Sandbox
	// Forge asks hosts of Git and plugins.
	Forge forge.Forge
	// List lists objects of the agent's own namespace.
	List func(ctx context.Context, which Listing) ([]map[string]any, error)
	// Kept is what Keep kept before.
	Kept []protocol.Document
	// Keep keeps all that is known of sets.
	Keep func(ctx context.Context, all []protocol.Document) error
	// Delete deletes an application, with cascade its objects, and says when that is
	// done; fault.NotFound if there is none.
	Delete func(name string, cascade bool, done func(error)) error
	// Sync has an application synced, once for each id, as its windows let one that
	// nobody asks for by hand.
	Sync func(app, id string, o gitops.Operation) error
	// Report is told how a set is; nil: it is gone. It must not block.
	Report func(name string, s *protocol.Set)
	Log    *slog.Logger
}

// Documents are what sets are made of.
type Documents struct {
	Sets         []appset.Set
	Applications []gitops.Application // whose names no set may have
	Projects     []gitops.Project
	Known        access.Known
	Clusters     []access.Cluster
}

// Sets are those of one agent.
type Sets struct {
	cfg     Config
	poked   chan struct{} // holds one signal: a set's turn may be earlier
	changed chan struct{} // holds one signal: there are other applications

	// saving is held by who keeps records, until that is done.
	saving sync.Mutex
	saved  []byte

	mu    sync.Mutex
	known bool // the documents
	docs  Documents
	sets  map[string]*set
	seen  map[string]Seen // how applications are
	clock func() time.Time
}

// set is one of the agent's. All of it is under the lock.
type set struct {
	name     string
	doc      *appset.Set // nil: there is no document
	rec      record
	due      time.Time // zero: not by itself
	stir     time.Time // when its steps go on; zero: not by themselves
	busy     bool
	fresh    bool // hosts are asked anew
	failures int
	deleted  []func() // told when it is gone
}

const (
	// workers is how many sets are made side by side.
	workers = 4
	// retryFirst and retryMost bound the pause after what went wrong.
	retryFirst, retryMost = 5 * time.Second, 3 * time.Minute
	// forgottenFor is how long it is known what was a set's own whose document has gone:
	// somebody may yet ask for that to be deleted.
	forgottenFor = 24 * time.Hour
	// doubtedFor is how long it takes until hosts are asked again that say that most of
	// a set's applications are to go.
	doubtedFor = time.Minute
	// lingers is how long a set that was deleted makes nothing although it has a document:
	// that goes later.
	lingers = time.Minute
)

// New makes Sets.
func New(cfg Config) (*Sets, error) {
	s := &Sets{cfg: cfg, poked: make(chan struct{}, 1), changed: make(chan struct{}, 1), sets: map[string]*set{}, seen: map[string]Seen{}, clock: time.Now}
	for _, d := range cfg.Kept {
		one := &set{name: d.ID}
		if err := json.Unmarshal(d.Body, &one.rec); err != nil {
			return nil, fmt.Errorf("read what is kept of set %s: %w", d.ID, err)
		}
		s.sets[d.ID] = one
	}
	return s, nil
}

func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default: // it rings already
	}
}

// Changed tells that there are other applications.
func (s *Sets) Changed() <-chan struct{} { return s.changed }

// Run makes applications until its context ends, and gives the cause of that.
func (s *Sets) Run(ctx context.Context) error {
	var work errgroup.Group
	work.SetLimit(workers)
	defer func() { _ = work.Wait() }() // they report of their sets
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		name, steps, wait := s.next()
		if name != "" {
			do := s.pass
			if steps {
				do = s.roll
			}
			work.Go(func() error { do(ctx, name); return nil })
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.poked:
		case <-timer.C:
		}
	}
}

// next takes the set whose turn it is, for its steps alone or for all, or says how long
// there is none.
func (s *Sets) next() (name string, steps bool, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first time.Time
	for of, one := range s.sets {
		if one.busy {
			continue
		}
		for i, at := range []time.Time{one.due, one.stir} {
			if !at.IsZero() && (name == "" || at.Before(first)) {
				name, first, steps = of, at, i == 1
			}
		}
	}
	now := s.clock()
	switch {
	case name == "" || !s.known:
		return "", false, time.Hour
	case first.After(now):
		return "", false, first.Sub(now)
	}
	one := s.sets[name]
	if one.busy = true; steps {
		one.stir = time.Time{}
	} else {
		one.due = time.Time{}
	}
	return name, steps, 0
}

// wake gives a set its turn now. The lock is held.
func (s *Sets) wake(one *set) {
	one.due = s.clock()
	ring(s.poked)
}

// SetDocuments has the sets go by other documents. What is the own of one that has none
// any more stays as it is, and is nobody's application.
func (s *Sets) SetDocuments(docs Documents) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.docs
	beside := reflect.DeepEqual(was.Applications, docs.Applications) && reflect.DeepEqual(was.Projects, docs.Projects) &&
		reflect.DeepEqual(was.Known, docs.Known) && reflect.DeepEqual(was.Clusters, docs.Clusters)
	first := !s.known
	s.docs, s.known = docs, true
	there := map[string]bool{}
	for i := range docs.Sets {
		doc := &docs.Sets[i]
		there[doc.Meta.Name] = true
		one := s.sets[doc.Meta.Name]
		if one == nil {
			one = &set{name: doc.Meta.Name}
			s.sets[doc.Meta.Name] = one
		}
		if first || !beside || one.doc == nil || !reflect.DeepEqual(one.doc, doc) {
			s.wake(one)
		}
		one.doc = doc
	}
	for name, one := range s.sets {
		if !there[name] && (one.doc != nil || first) {
			one.doc = nil
			s.wake(one)
		}
	}
	ring(s.changed)
}

// Join gives the applications of documents with those of sets to who reconciles them,
// and has those deleted that are to go. Nothing else becomes of them meanwhile.
func (s *Sets) Join(documents []gitops.Application, give func([]gitops.Application)) {
	s.mu.Lock()
	all := map[string]gitops.Application{}
	for _, app := range documents {
		all[app.Meta.Name] = app
	}
	var going []func()
	for name, one := range s.sets {
		for app, own := range one.rec.Applications {
			switch {
			case own.Deleting:
				own.Application.Spec.SyncPolicy = nil // nothing is deployed any more
				going = append(going, func() {
					if err := s.cfg.Delete(app, own.cascades(), func(error) { s.gone(name, app) }); err != nil {
						s.gone(name, app) // there is none
					}
				})
			case one.doc == nil && !one.rec.leaving():
				continue
			case (rolls(one.doc) || one.doc == nil) && own.Application.Spec.SyncPolicy != nil: // the set has it synced
				p := *own.Application.Spec.SyncPolicy
				p.Automated = nil
				own.Application.Spec.SyncPolicy = &p
			}
			all[app] = own.Application
		}
	}
	out := make([]gitops.Application, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	give(out)
	s.mu.Unlock()
	for _, delete := range going {
		delete()
	}
}

// gone notes that an application of a set was deleted. Its record is kept with the
// set's next turn: until then it is deleted once more after a restart.
func (s *Sets) gone(name, app string) {
	s.mu.Lock()
	if one := s.sets[name]; one != nil {
		one.rec = one.rec.without(app)
		s.wake(one)
	}
	s.mu.Unlock()
	ring(s.changed)
}

// Generated is what people are told of the applications of sets, by their names.
func (s *Sets) Generated() map[string]protocol.Generated {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]protocol.Generated{}
	for name, one := range s.sets {
		for app, own := range one.rec.Applications {
			if one.doc != nil || own.Deleting || one.rec.leaving() {
				out[app] = protocol.Generated{Set: name, Application: own.Application, Deleting: own.Deleting}
			}
		}
	}
	return out
}

// Refresh has a set made anew, by what hosts say now.
func (s *Sets) Refresh(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.sets[name]
	if one == nil || one.doc == nil {
		return fault.New(fault.NotFound, "this agent has no application set %s", name)
	}
	one.fresh = true
	s.wake(one)
	return nil
}

// Generate says which applications a set would have.
func (s *Sets) Generate(ctx context.Context, of appset.Set) ([]gitops.Application, error) {
	s.mu.Lock()
	docs, known := s.docs, s.known
	s.mu.Unlock()
	if !known {
		return nil, fault.New(fault.Unavailable, "the agent doesn't know its documents yet; ask again")
	}
	out, err := s.made(ctx, docs, of, s.clock())
	if err == nil && out.Reason != "" {
		err = fault.New(fault.Invalid, "%s: %s", out.Reason, out.Message)
	}
	return out.Applications, err
}

// Delete deletes the applications that are a set's own, each as its finalizers say, and
// tells when all are gone. It may be called of a set whose document has gone already.
func (s *Sets) Delete(name string, done func()) {
	s.mu.Lock()
	one := s.sets[name]
	if one == nil {
		s.mu.Unlock()
		done()
		return
	}
	one.deleted = append(one.deleted, done)
	s.wake(one)
	s.mu.Unlock()
}

// pass does what there is to do for a set now.
func (s *Sets) pass(ctx context.Context, name string) {
	s.mu.Lock()
	one := s.sets[name]
	doc, docs, now, since := one.doc, s.docs, s.clock(), time.Time{}
	if one.fresh {
		since = now
	}
	one.fresh = false
	lasts := len(one.deleted) > 0 || one.rec.lingering(now) || one.rec.leaving()
	s.mu.Unlock()
	var out generate.Outcome
	if doc != nil && !lasts {
		var err error
		if out, err = s.made(ctx, docs, *doc, since); err != nil {
			out = generate.Outcome{Reason: generate.ParametersFailed, Message: err.Error()}
		}
	}
	if ctx.Err() == nil {
		s.commit(ctx, one, doc, docs, out)
	}
	s.mu.Lock()
	if one.busy = false; rolls(one.doc) {
		one.stir = s.clock()
	}
	s.mu.Unlock()
	ring(s.poked)
}

// commit keeps what becomes of a set, and then has it done.
func (s *Sets) commit(ctx context.Context, one *set, doc *appset.Set, docs Documents, out generate.Outcome) {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	now, before, others := s.clock(), one.rec, map[string]string{}
	for name, other := range s.sets {
		for app, own := range other.rec.Applications {
			if other != one && (other.doc != nil || own.Deleting || other.rec.leaving()) {
				others[app] = name
			}
		}
	}
	removing := len(one.deleted) > 0 || one.rec.leaving()
	s.mu.Unlock()
	next := before.clone()
	switch {
	case removing:
		next.remove(now)
	case next.lingering(now):
	case doc == nil:
		next.forget(now)
	default:
		next.Forgotten, next.Removed = time.Time{}, time.Time{}
		if !rolls(doc) {
			next.Rolling = nil
			next.Conditions = slices.DeleteFunc(next.Conditions, func(c protocol.SetCondition) bool { return c.Type == rolloutProgressing })
		}
		next.take(ctx, *doc, out, func(app *gitops.Application) error { return docs.refuse(others, app) }, now)
		next.Order = next.order(doc)
	}
	err := s.keep(ctx, one, next)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "what is known of application sets isn't kept; nothing is changed", "error", err)
		s.later(one, now, retryMost)
		return
	}
	for app := range before.Applications {
		if _, still := one.rec.Applications[app]; !still { // it has gone meanwhile
			delete(next.Applications, app)
		}
	}
	changed := !reflect.DeepEqual(one.rec.Applications, next.Applications) || rolls(one.doc) != (one.rec.Rolling != nil)
	one.rec = next
	if changed {
		ring(s.changed)
	}
	s.settle(one, doc, now, out)
}

// settle says when a set has its next turn, and tells how it is. The lock is held.
func (s *Sets) settle(one *set, doc *appset.Set, now time.Time, out generate.Outcome) {
	name := one.name
	if len(one.rec.Applications) == 0 {
		for _, done := range one.deleted {
			go done()
		}
		one.deleted = nil
	}
	switch {
	case len(one.deleted) > 0: // its applications wake it
		return
	case doc == nil && len(one.rec.Applications) == 0, doc == nil && one.rec.over(now):
		if one.doc == nil {
			delete(s.sets, name)
		}
		s.cfg.Report(name, nil)
		return
	case doc == nil:
		s.cfg.Report(name, nil)
		s.at(one, one.rec.Forgotten.Add(forgottenFor))
		return
	case one.rec.lingering(now):
		s.at(one, one.rec.Removed.Add(lingers))
		return
	}
	s.cfg.Report(name, one.rec.summary())
	every := requeue(doc.Spec.Generators)
	if out.Reason != "" {
		s.later(one, now, every)
		return
	}
	one.failures = 0
	if one.rec.Doubted != "" {
		s.at(one, now.Add(doubtedFor))
	}
	if every > 0 {
		s.at(one, now.Add(every))
	}
}

// at brings a set's next turn forward. The lock is held.
func (s *Sets) at(one *set, at time.Time) {
	if one.due.IsZero() || at.Before(one.due) {
		one.due = at
		ring(s.poked)
	}
}

// later gives a set another turn after something went wrong. The lock is held.
func (s *Sets) later(one *set, now time.Time, most time.Duration) {
	wait := retryFirst << min(one.failures, 10)
	one.failures++
	if most <= 0 || most > retryMost {
		most = retryMost
	}
	s.at(one, now.Add(min(wait, most)))
}

// keep keeps what is known of all sets, of which one changes.
func (s *Sets) keep(ctx context.Context, changes *set, next record) error {
	s.mu.Lock()
	now := s.clock()
	var all []protocol.Document
	for _, name := range slices.Sorted(maps.Keys(s.sets)) {
		rec := s.sets[name].rec
		if s.sets[name] == changes {
			rec = next
		}
		if rec.over(now) {
			continue
		}
		body, err := json.Marshal(rec)
		if err != nil {
			s.mu.Unlock()
			return fmt.Errorf("encode what is known of set %s: %w", name, err)
		}
		all = append(all, protocol.Document{ID: name, Kind: protocol.KindApplicationSet, Body: body})
	}
	s.mu.Unlock()
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode what is known of sets: %w", err)
	}
	if bytes.Equal(text, s.saved) {
		return nil
	}
	if err := s.cfg.Keep(ctx, all); err != nil {
		return err
	}
	s.saved = text
	return nil
}
