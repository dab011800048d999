package dynamo

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

var _ store.Connections = (*Store)(nil)

// connectionLife is longer than API Gateway holds a connection: two hours.
const connectionLife = 3 * time.Hour

// connectionDoc is what no condition asks a connection for.
type connectionDoc struct {
	Scope  ref.Scope `json:"scope"`
	Opened int64     `json:"opened"`
}

// PutConnection stores a delegate's connection.
func (s *Store) PutConnection(ctx context.Context, c store.Connection) error {
	it := connectionAt(c.Scope.Account, c.Delegate).item()
	it["connection"], it[Expires] = str(c.ID), num(c.Opened.Add(connectionLife).Unix())
	if err := s.encode(ctx, it, "doc", connectionDoc{Scope: c.Scope, Opened: millis(c.Opened)}, largestValue); err != nil {
		return err
	}
	_, _, err := s.place(ctx, it, "")
	return err
}

// Connections lists an account's.
func (s *Store) Connections(ctx context.Context, account string) ([]store.Connection, error) {
	found, err := s.query(ctx, query{pk: connectionsPK(account)})
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s, found, func(ctx context.Context, s *Store, it item) (store.Connection, error) {
		var d connectionDoc
		err := s.decode(ctx, it, "doc", &d)
		return store.Connection{ID: text(it, "connection"), Delegate: text(it, "sk"), Scope: d.Scope, Opened: fromMillis(d.Opened)}, err
	})
}

// DeleteConnection forgets a connection that is the delegate's latest.
func (s *Store) DeleteConnection(ctx context.Context, c store.Connection) error {
	return s.drop(ctx, connectionAt(c.Scope.Account, c.Delegate), "#connection = :connection", item{":connection": str(c.ID)})
}
