// Package firing starts the executions that events ask for: deliveries of
// webhooks, the minutes of schedules and new versions of artifacts
// (semantics/pipeline §11).
//
// Everything in it may happen twice. An execution's id is made of the trigger
// and the event, so that an event that is taken in again starts nothing more.
// What an event is, and whether it fits a trigger, is pkg/trigger's.
package firing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/match"
)

// Store is what a Service reads triggers from and writes their history to.
type Store interface {
	store.Entities
	store.Executions
	store.Keys
	store.Fires
}

// Config is what a Service needs.
type Config struct {
	Account string // of the installation
	Store   Store
	Launch  *launch.Launcher
	Engine  *engine.Handler
	Secret  *secret.Keeper
	Stored  store.Polls // how far triggers have come
	Files   store.Files
	Issuer  *issuer.Issuer // of the tokens that polls come with
	Types   entity.Types   // of documents
	// Connected are the ids of an account's delegates that do what they took.
	Connected func(ctx context.Context, account string) (map[string]bool, error)
	// Look tells the delegates of a scope that there is something to ask for.
	Look func(ctx context.Context, scope ref.Scope)
	Now  func() time.Time
	Log  *slog.Logger
}

// Service takes events in.
type Service struct {
	Config
	grants *grants.Reader
}

// New makes a Service.
func New(cfg Config) *Service { return &Service{cfg, grants.New(cfg.Store)} }

// atOnce bounds how much of one event's work is done at the same time.
const atOnce = 16

// event is one event for one trigger.
type event struct {
	listener
	trigger.Event
	id string    // the same again is the same event
	at time.Time // when it came in
}

// fireAll lets events start what they ask for. One that can't doesn't hold up
// the others. The error is of what may work when the event comes again; what
// people have to mend is in the fires.
func (s *Service) fireAll(ctx context.Context, events []event) ([]store.Fire, error) {
	var mu sync.Mutex
	var fires []store.Fire
	var errs []error
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, e := range events {
		g.Go(func() error {
			f, err := s.fire(ctx, e)
			mu.Lock()
			defer mu.Unlock()
			fires, errs = append(fires, f), append(errs, err)
			return nil
		})
	}
	return fires, errors.Join(g.Wait(), errors.Join(errs...))
}

// fire takes one event in and keeps what became of it.
func (s *Service) fire(ctx context.Context, e event) (store.Fire, error) {
	f := store.Fire{Trigger: e.key, ID: e.id, At: e.at, Subject: e.Subject()}
	started, mismatch, err := s.start(ctx, e)
	switch {
	case fault.Is(err, fault.Frozen), fault.Is(err, fault.PolicyDenied):
		f.Outcome, f.Reason = store.FireRejected, fault.Told(err)
		s.Log.InfoContext(ctx, "a deployment freeze or a policy rejects what a trigger would start", "trigger", e.key.ID, "pipeline", e.key.Env, "event", e.id, "error", err)
	case err != nil:
		f.Outcome, f.Reason = store.FireFailed, reason(err)
		s.Log.WarnContext(ctx, "a trigger started nothing", "trigger", e.key.ID, "pipeline", e.key.Env, "event", e.id, "error", err)
	case mismatch != "":
		f.Outcome, f.Reason = store.FireSkipped, mismatch
	default:
		// The same event again has the execution of the first time, and so is
		// the same fire.
		f.Outcome, f.Execution, f.At = store.FireStarted, started.ID, started.StartedAt
		s.Log.InfoContext(ctx, "a trigger started an execution", "trigger", e.key.ID, "pipeline", e.key.Env, "event", e.id, "execution", started.ID)
	}
	if people(err) {
		err = nil
	}
	if kept := s.Store.PutFire(ctx, f); kept != nil {
		err = errors.Join(err, fmt.Errorf("keep what trigger %s did: %w", e.key.ID, kept))
	}
	return f, err
}

// people says whether an error is one that somebody can act on; others may
// pass.
func people(err error) bool {
	return !fault.Passing(err)
}

// reason is an error as the history shows it.
func reason(err error) string {
	if people(err) {
		return err.Error()
	}
	return "something broke; the log has more"
}

// start starts what one event asks for, unless a condition doesn't hold.
func (s *Service) start(ctx context.Context, e event) (started store.Execution, mismatch string, err error) {
	switch {
	case e.Source == trigger.Scheduled:
	case e.Artifact != nil:
		mismatch, err = match.Artifact(e.trigger.Artifact, e.Event)
	default:
		mismatch, err = match.Webhook(e.trigger.Webhook, e.Event)
	}
	if mismatch != "" || err != nil {
		return store.Execution{}, mismatch, err
	}
	// Not before the id is known: what came since must not be aborted, nor must
	// a pipeline that was deleted since be an error.
	key := fmt.Sprintf("trigger %s %s %s %s %s", e.key.Scope, e.key.Env, e.key.ID, e.id, e.Ref)
	started, err = s.Store.Execution(ctx, launch.KeyedID(key))
	if !fault.Is(err, fault.NotFound) {
		return started, "", err
	}
	inputs, err := inputsOf(e.trigger, e.Event)
	if err != nil {
		return store.Execution{}, "", err
	}
	doc, err := e.Encode()
	if err != nil {
		return store.Execution{}, "", err
	}
	by := audit.Author{Actor: "trigger " + e.key.ID, Request: e.id}
	if e.trigger.Webhook.AbortOthers.Value {
		if err := s.abortOthers(ctx, e, launch.KeyedID(key), by); err != nil {
			return store.Execution{}, "", err
		}
	}
	started, err = s.Launch.Start(ctx, launch.Request{
		Scope: e.key.Scope, Pipeline: e.key.Env, Inputs: inputs, By: by, Key: key, Trigger: doc, Stages: e.trigger.Stages.Value, As: e.by,
	})
	return started, "", err
}

// supersedable is how far back executions are looked for that an event
// supersedes.
const supersedable = 7 * 24 * time.Hour

// abortOthers ends what earlier events about the same subject have started
// and what still runs (semantics/pipeline §11.2, auto-abort). The same event may have
// come at the same time and have started its execution, which own names; so may one
// that came later.
func (s *Service) abortOthers(ctx context.Context, e event, own string, by audit.Author) error {
	subject := e.Subject()
	if subject == "" {
		return nil
	}
	page := store.Page{Limit: 100}
	for {
		fires, next, err := s.Store.ListFires(ctx, e.key, e.at.Add(-supersedable), page)
		if err != nil {
			return err
		}
		for _, f := range fires {
			if f.Outcome != store.FireStarted || f.Subject != subject || f.Execution == own || f.At.After(e.at) {
				continue
			}
			if err := s.abort(ctx, f.Execution, by); err != nil {
				return fmt.Errorf("abort execution %s, which is superseded: %w", f.Execution, err)
			}
		}
		if page.Token = next; next == "" {
			return nil
		}
	}
}

// abort ends an execution unless it has ended.
func (s *Service) abort(ctx context.Context, id string, by audit.Author) error {
	e, err := s.Store.Execution(ctx, id)
	if err != nil || e.Status.Terminal() {
		return err
	}
	_, err = s.Engine.Abort(ctx, id, by.Record(s.Now(), e.Scope, audit.Abort, "execution", id, ""))
	if fault.Is(err, fault.Conflict) { // it has just ended
		return nil
	}
	return err
}

// bearer finds whose token a delivery shows.
func (s *Service) bearer(ctx context.Context, text string) (grants.Caller, error) {
	t, err := access.Verify(ctx, s.Store, text, s.Now())
	if err != nil {
		return grants.Caller{}, err
	}
	if t.Kind != store.TokenUser {
		return grants.Caller{}, fault.New(fault.Forbidden, "a %s token doesn't fire triggers", t.Kind)
	}
	if err := access.Use(ctx, s.Store, t, s.Now()); err != nil {
		s.Log.WarnContext(ctx, "lost that a token was used today", "error", err)
	}
	return s.grants.Caller(t.Identity(), t.Actor), nil
}

// runs says whether a caller may have something run in a scope: any pipeline,
// unless one is named.
func runs(ctx context.Context, who grants.Caller, scope ref.Scope, pipeline string) error {
	if !who.As().Within.Covers(scope) {
		return fault.New(fault.Forbidden, "the token is for %s, not for %s", who.As().Within, scope)
	}
	return who.Allow(ctx, action.PipelineRun, right.Resource{Scope: scope, ID: pipeline})
}
