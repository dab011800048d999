package firing

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/match"
)

// Artifact takes in a new image or object, as EventBridge tells of it, and
// fires the triggers that it fits. The same version again fires nothing more. Of
// a machine image it is told too little: a delegate looks at it first.
func (s *Service) Artifact(ctx context.Context, body []byte) (Report, error) {
	return s.artifact(ctx, body, func(store.EntityKey) bool { return true })
}

// DeliverAWS is Artifact for an event that somebody forwards. He shows an API
// token, and reaches the triggers of the pipelines that it may run.
func (s *Service) DeliverAWS(ctx context.Context, d trigger.Delivery) (Report, error) {
	text := d.Header.Get("X-Api-Key")
	if text == "" {
		return Report{}, fault.New(fault.Unauthenticated, "an event needs an API token in the header X-Api-Key")
	}
	who, err := s.bearer(ctx, text)
	if err != nil {
		return Report{}, err
	}
	return s.artifact(ctx, d.Body, func(key store.EntityKey) bool { return runs(ctx, who, key.Scope, key.Env) == nil })
}

func (s *Service) artifact(ctx context.Context, body []byte, may func(trigger store.EntityKey) bool) (Report, error) {
	e, err := trigger.ReadAWS(body)
	if err != nil {
		return Report{}, err
	}
	report := Report{ID: e.ArtifactID()}
	all, err := s.listeners(ctx, entity.ArtifactSourceName(e.Source, e.Artifact.Name))
	if err != nil {
		return Report{}, err
	}
	now := s.Now()
	var events []event
	for _, l := range all {
		if !may(l.key) {
			continue
		}
		owner, err := s.owner(ctx, l)
		if err != nil {
			return Report{}, err
		}
		if !match.ConcernsArtifact(l.trigger.Artifact, owner, e) {
			continue
		}
		if e.Source == trigger.AmazonMachineImage {
			if err := s.ask(ctx, l, e.Artifact.Build); err != nil {
				return Report{}, err
			}
			s.Look(ctx, l.key.Scope)
			continue
		}
		events = append(events, event{listener: l, Event: match.For(e, l.key.ID, l.trigger.Artifact), id: report.ID, at: now})
	}
	report.Fires, err = s.fireAll(ctx, events)
	return report, err
}

// owner is the account whose registry a trigger means: its own registryId, or
// that of the role which its connector assumes. Empty: any account whose
// events come here.
func (s *Service) owner(ctx context.Context, l listener) (string, error) {
	a := l.trigger.Artifact
	if a.Type.Value == trigger.AmazonS3 || a.RegistryID.Value != "" {
		return a.RegistryID.Value, nil
	}
	r, err := ref.Parse(a.Connector.Value, l.key.Scope)
	if err != nil {
		return "", nil //nolint:nilerr // it was checked when the trigger was saved
	}
	e, err := s.read(ctx, store.EntityKey{Scope: r.Scope, Kind: ref.Connector, ID: r.ID})
	switch {
	case fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid):
		s.Log.WarnContext(ctx, "a trigger's connector can't be read", "trigger", l.key.ID, "connector", r.ID, "error", err)
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the connector of trigger %s: %w", l.key.ID, err)
	}
	if aws, ok := e.Connector.Spec.(connector.AWS); ok {
		return aws.Account(), nil
	}
	return "", nil
}
