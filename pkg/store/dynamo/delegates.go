package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// remembered is how long a silent delegate stays on record.
const remembered = 24 * time.Hour

// delegateDoc is what no condition asks a delegate for.
type delegateDoc struct {
	Scope     ref.Scope     `json:"scope"`
	Name      string        `json:"name"`
	Host      string        `json:"host,omitempty"`
	Tags      []string      `json:"tags,omitempty"`
	Version   string        `json:"version,omitempty"`
	Kinds     []task.Kind   `json:"kinds,omitempty"`
	Capacity  int           `json:"capacity"`
	Running   int           `json:"running"`
	Draining  bool          `json:"draining,omitempty"`
	TokenID   string        `json:"token,omitempty"`
	StartedAt int64         `json:"started,omitempty"`
	Quiet     time.Duration `json:"quiet,omitempty"`
}

// PutDelegate registers or refreshes one.
func (s *Store) PutDelegate(ctx context.Context, d store.Delegate) error {
	it := delegateAt(d.Scope.Account, d.ID).item()
	it["seen"], it[Expires] = num(millis(d.LastSeen)), num(d.LastSeen.Add(remembered).Unix())
	if err := s.encode(ctx, it, "doc", delegateDoc{
		Scope: d.Scope, Name: d.Name, Host: d.Host, Tags: d.Tags, Version: d.Version, Kinds: d.Kinds, Capacity: d.Capacity,
		Running: d.Running, Draining: d.Draining, TokenID: d.TokenID, StartedAt: millis(d.StartedAt), Quiet: d.Quiet,
	}, largestValue); err != nil {
		return err
	}
	_, _, err := s.place(ctx, it, "")
	return err
}

func readDelegate(ctx context.Context, s *Store, it item) (store.Delegate, error) {
	var d delegateDoc
	if err := s.decode(ctx, it, "doc", &d); err != nil {
		return store.Delegate{}, err
	}
	return store.Delegate{
		ID: text(it, "sk"), Scope: d.Scope, Name: d.Name, Host: d.Host, Tags: d.Tags, Version: d.Version, Kinds: d.Kinds,
		Capacity: d.Capacity, Running: d.Running, Draining: d.Draining, TokenID: d.TokenID,
		LastSeen: fromMillis(number(it, "seen")), StartedAt: fromMillis(d.StartedAt), Quiet: d.Quiet,
	}, nil
}

// expired says whether DynamoDB will remove an item: it takes its time.
func (s *Store) expired(it item) bool { return number(it, Expires) <= s.cfg.Now().Unix() }

// ListDelegates lists those of an account seen since the given time, by id.
func (s *Store) ListDelegates(ctx context.Context, account string, since time.Time) ([]store.Delegate, error) {
	found, err := s.query(ctx, query{pk: delegatesPK(account), filter: "#seen >= :since", values: item{":since": num(millis(since))}})
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s, slices.DeleteFunc(found, s.expired), readDelegate)
}

// Delegate reads one.
func (s *Store) Delegate(ctx context.Context, account, id string) (store.Delegate, error) {
	it, err := s.find(ctx, delegateAt(account, id), "delegate %q", id)
	if err != nil {
		return store.Delegate{}, err
	}
	if s.expired(it) {
		return store.Delegate{}, absent("delegate %q", id)
	}
	return readDelegate(ctx, s, it)
}

// DeleteDelegate forgets one.
func (s *Store) DeleteDelegate(ctx context.Context, account, id string) error {
	return s.drop(ctx, delegateAt(account, id), "", nil)
}
