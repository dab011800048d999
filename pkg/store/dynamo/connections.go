package dynamo

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// connections is store.Connections.
type connections struct{ table *table }

// longestConnection is when API Gateway ends a WebSocket at the latest.
const longestConnection = 2 * time.Hour

// PutConnection stores a delegate's connection over an older one.
func (s connections) PutConnection(ctx context.Context, c store.Connection) error {
	it := connectionAt(c.Scope.Account, c.Delegate).item()
	it["id"], it["opened"], it[Expires] = str(c.ID), num(millis(c.Opened)), num(c.Opened.Add(longestConnection).Unix())
	it["line"] = num(c.Line)
	it["account"], it["org"], it["project"] = str(c.Scope.Account), str(c.Scope.Org), str(c.Scope.Project)
	_, _, err := s.table.place(ctx, it, "")
	return err
}

// Connections lists an account's.
func (s connections) Connections(ctx context.Context, account string) ([]store.Connection, error) {
	found, err := s.table.query(ctx, query{pk: connectionsPK(account)})
	var out []store.Connection
	for _, it := range found {
		if !s.table.expired(it) {
			out = append(out, store.Connection{
				ID: text(it, "id"), Delegate: text(it, "sk"), Opened: fromMillis(number(it, "opened")), Line: number(it, "line"),
				Scope: ref.Scope{Account: text(it, "account"), Org: text(it, "org"), Project: text(it, "project")},
			})
		}
	}
	return out, err
}

// DeleteConnection forgets one that is still the delegate's.
func (s connections) DeleteConnection(ctx context.Context, c store.Connection) error {
	return s.table.drop(ctx, connectionAt(c.Scope.Account, c.Delegate), "#id = :id", item{":id": str(c.ID)})
}
