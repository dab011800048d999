package firing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// listener is a trigger that listens to a source.
type listener struct {
	key     store.EntityKey
	trigger *entity.Trigger
	saved   string // which version of it this is
	by      *store.Identity
}

// listeners are the enabled triggers of a source, of the whole account.
func (s *Service) listeners(ctx context.Context, source string) ([]listener, error) {
	target := store.EntityKey{Scope: ref.Scope{Account: s.Account}, Kind: entity.TriggerSource, ID: source}
	var keys []store.EntityKey
	for key, err := range store.Naming(ctx, s.Store, target) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	found := make([]listener, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, key := range keys {
		g.Go(func() (err error) {
			found[i], err = s.listener(ctx, key)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(l listener) bool { return l.trigger == nil }), nil
}

// listener reads a trigger; an empty one if it is disabled, was deleted or can't
// be read any more, which must not keep others from firing.
func (s *Service) listener(ctx context.Context, key store.EntityKey) (listener, error) {
	saved, err := s.Store.Entity(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return listener{}, nil
	}
	if err != nil {
		return listener{}, err
	}
	e, err := s.decode(saved)
	if err != nil {
		s.Log.WarnContext(ctx, "a saved trigger can't be read", "trigger", key.ID, "pipeline", key.Env, "error", err)
		return listener{}, nil
	}
	if !e.Trigger.Active() {
		return listener{}, nil
	}
	return listener{key, e.Trigger, fmt.Sprintf("%d of %d", saved.Version, saved.CreatedAt.UnixMilli()), saved.By}, nil
}

// read reads and decodes a saved document.
func (s *Service) read(ctx context.Context, key store.EntityKey) (*entity.Entity, error) {
	saved, err := s.Store.Entity(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.decode(saved)
}

func (s *Service) decode(saved store.Entity) (*entity.Entity, error) {
	key := saved.Key
	docs, report := yamldoc.Parse(string(key.Kind)+" "+key.ID, saved.YAML)
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, fault.New(fault.Invalid, "%s %s has %d documents", key.Kind, key.ID, len(docs))
	}
	e := entity.Decode(docs[0], report, entity.Options{Scope: key.Scope, Types: s.Types})
	return e, report.Err()
}

// proven are the triggers whose secret proves where a delivery is from.
func (s *Service) proven(ctx context.Context, d trigger.Delivery, all []listener) ([]listener, error) {
	proves := map[ref.Ref]bool{} // most triggers share a few secrets
	for _, l := range all {
		if r, ok := l.secret(); ok {
			proves[r] = false
		}
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, r := range slices.Collect(maps.Keys(proves)) {
		g.Go(func() error {
			value, err := s.Secret.Reveal(ctx, secret.Name(r))
			if fault.Is(err, fault.NotFound) {
				s.Log.WarnContext(ctx, "a trigger's secret has no value", "secret", r.String(), "error", err)
				return nil
			}
			if err != nil {
				return fmt.Errorf("read the secret %s of a trigger: %w", r, err)
			}
			mu.Lock()
			defer mu.Unlock()
			proves[r] = d.Proves(value)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []listener
	for _, l := range all {
		if r, ok := l.secret(); ok && proves[r] {
			out = append(out, l)
		}
	}
	return out, nil
}

// secret names the trigger's secret; false if it has none.
func (l listener) secret() (ref.Ref, bool) {
	r, err := ref.Parse(l.trigger.Secret.Value, l.key.Scope)
	return r, err == nil
}

// repositories are the URLs that the connectors of triggers give, each
// connector read once. A connector that doesn't exist gives none.
func (s *Service) repositories(ctx context.Context, all []listener) (map[store.EntityKey]string, error) {
	urls := map[store.EntityKey]string{}
	for _, l := range all {
		key, ok := l.connector()
		if _, known := urls[key]; known || !ok {
			continue
		}
		e, err := s.read(ctx, key)
		switch {
		case fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid):
			s.Log.WarnContext(ctx, "a trigger's connector can't be read", "trigger", l.key.ID, "connector", key.ID, "error", err)
			urls[key] = ""
		case err != nil:
			return nil, fmt.Errorf("read the connector of trigger %s: %w", l.key.ID, err)
		default:
			urls[key] = ""
			if git, ok := e.Connector.Spec.(connector.Repositories); ok {
				urls[key] = git.Listens()
			}
		}
	}
	return urls, nil
}

// connector is where the trigger's connector is; false if it has none.
func (l listener) connector() (store.EntityKey, bool) {
	r, err := ref.Parse(l.trigger.Webhook.Connector.Value, l.key.Scope)
	return store.EntityKey{Scope: r.Scope, Kind: ref.Connector, ID: r.ID}, err == nil
}

// repository is the URL of the repository that the trigger listens to: its
// connector's, or below that of an account.
func (l listener) repository(urls map[store.EntityKey]string) string {
	key, _ := l.connector()
	url := urls[key]
	if strings.HasSuffix(url, "/") {
		url += strings.TrimLeft(l.trigger.Webhook.Repository.Value, "/")
	}
	return url
}
