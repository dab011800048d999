package firing

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/match"
)

// Report says what a delivery did.
type Report struct {
	ID    string // of the delivery
	Fires []store.Fire
}

// Deliver takes in what a Git host sent: it fires every trigger of the account
// whose secret proves where it is from, and which it fits. The same delivery
// again fires nothing more. fault.Unauthenticated: no trigger's secret fits.
func (s *Service) Deliver(ctx context.Context, d trigger.Delivery) (Report, error) {
	if d.Proof() == "" {
		return Report{}, d.Unproven()
	}
	all, err := s.listeners(ctx, d.Source)
	if err != nil {
		return Report{}, err
	}
	proven, err := s.proven(ctx, d, all)
	if err != nil {
		return Report{}, err
	}
	if len(proven) == 0 {
		return Report{}, d.Unproven()
	}
	return s.accept(ctx, d, proven)
}

// Target is whom a custom delivery is for.
type Target struct {
	Scope ref.Scope // a project
	// Pipeline and Trigger name one trigger; both empty: all of the project.
	Pipeline, Trigger string
}

// DeliverCustom takes in what anybody sent to the custom triggers of a
// project. The sender shows an API token for the project, or signs with the
// trigger's secret (semantics/pipeline §11.2, Auth).
func (s *Service) DeliverCustom(ctx context.Context, d trigger.Delivery, to Target) (Report, error) {
	trusted, err := s.trusted(ctx, d, to.Scope, to.Pipeline)
	if err != nil {
		return Report{}, err
	}
	all, err := s.customListeners(ctx, to)
	if err != nil {
		return Report{}, err
	}
	if !trusted {
		if all, err = s.proven(ctx, d, all); err != nil {
			return Report{}, err
		}
	}
	switch {
	case len(all) > 0:
		return s.accept(ctx, d, all)
	case !trusted:
		return Report{}, mandatory(to.Scope)
	}
	return Report{}, fault.New(fault.NotFound, "no custom trigger in %s is enabled and meant", to.Scope)
}

// Listened says which steps a delivery has come to.
type Listened struct {
	ID    string // of the delivery
	Steps []engine.Heard
}

// DeliverEvent takes in what anybody with a token for the project sent to the
// steps that listen to one of its webhooks.
func (s *Service) DeliverEvent(ctx context.Context, d trigger.Delivery, scope ref.Scope, webhook string) (Listened, error) {
	if d.Header.Get("X-Api-Key") == "" {
		return Listened{}, fault.New(fault.Unauthenticated, "an event for steps comes with an API token for the project, in the header X-Api-Key")
	}
	if _, err := s.trusted(ctx, d, scope, ""); err != nil {
		return Listened{}, err
	}
	read, err := trigger.Read(d)
	if err != nil {
		return Listened{}, err
	}
	out := Listened{ID: cmp.Or(d.ID(), rand.Text()[:16])}
	for _, e := range read {
		doc, err := e.Document()
		if err != nil {
			return out, err
		}
		heard, err := s.Engine.Hear(ctx, scope, webhook, doc)
		if err != nil {
			return out, err
		}
		out.Steps = append(out.Steps, heard...)
	}
	return out, nil
}

// mandatory is the error of a custom delivery that may be anybody's.
func mandatory(scope ref.Scope) error {
	return fault.New(fault.Unauthenticated,
		"Authorization is mandatory for custom triggers in %s:%s:%s. Please add X-Api-Key header in the request", scope.Account, scope.Org, scope.Project)
}

// trusted says whether a custom delivery comes with an API token by which the
// pipeline may be run, or any of the project if none is named; one with neither a token nor a signature is refused.
func (s *Service) trusted(ctx context.Context, d trigger.Delivery, scope ref.Scope, pipeline string) (bool, error) {
	token := d.Header.Get("X-Api-Key")
	switch {
	case token == "" && d.Proof() == "":
		return false, mandatory(scope)
	case token == "":
		return false, nil
	}
	who, err := s.bearer(ctx, token)
	if err != nil {
		return false, err
	}
	return true, runs(ctx, who, scope, pipeline)
}

// customListeners are those of a target.
func (s *Service) customListeners(ctx context.Context, to Target) ([]listener, error) {
	if to.Trigger == "" {
		all, err := s.listeners(ctx, trigger.Custom)
		var out []listener
		for _, l := range all {
			if l.key.Scope == to.Scope && (to.Pipeline == "" || l.key.Env == to.Pipeline) {
				out = append(out, l)
			}
		}
		return out, err
	}
	key := store.EntityKey{Scope: to.Scope, Kind: ref.Trigger, Env: to.Pipeline, ID: to.Trigger}
	l, err := s.listener(ctx, key)
	if err != nil || l.trigger == nil || l.trigger.Webhook.Host.Value != trigger.Custom {
		return nil, err
	}
	return []listener{l}, nil
}

// accept fires the listeners that a delivery fits; it is known who sent it.
func (s *Service) accept(ctx context.Context, d trigger.Delivery, to []listener) (Report, error) {
	read, err := trigger.Read(d)
	if err != nil {
		return Report{}, err
	}
	report := Report{ID: d.ID()}
	if report.ID == "" {
		report.ID = rand.Text()[:16]
	}
	urls, err := s.repositories(ctx, to)
	if err != nil {
		return Report{}, err
	}
	now := s.Now()
	var events []event
	for _, l := range to {
		for i, e := range read {
			if !match.Concerns(l.trigger.Webhook, l.repository(urls), e) {
				continue
			}
			e.Trigger = l.key.ID
			one := event{listener: l, Event: e, id: report.ID, at: now}
			if i > 0 {
				one.id = fmt.Sprintf("%s/%d", report.ID, i)
			}
			events = append(events, one)
		}
	}
	report.Fires, err = s.fireAll(ctx, events)
	return report, err
}
