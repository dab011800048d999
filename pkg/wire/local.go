package wire

import (
	"context"
	"errors"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

// Local is the control plane on one machine without a server: for whoever
// gives it single requests or events, and settles before he tells the answer.
type Local struct {
	*plane.Plane
	Store   *sqlite.Store
	machine *machine
}

// Open makes a Local over a data folder, which no server may have open. What
// was under way goes on until Close.
func Open(ctx context.Context, cfg ServeConfig) (*Local, error) {
	m, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	l := &Local{Plane: m.plane, Store: m.store, machine: m}
	if err := m.resume(ctx); err != nil {
		return nil, errors.Join(err, l.Close(ctx))
	}
	return l, nil
}

// API answers requests.
func (l *Local) API() *api.Server { return l.machine.server }

// Settle returns when all that has been done is on disk: before that nobody may
// be told of it.
func (l *Local) Settle() error { return l.machine.db.Settle() }

// Close waits for what runs and closes the data folder.
func (l *Local) Close(ctx context.Context) error {
	return errors.Join(l.machine.machines.Close(ctx), l.machine.db.Close())
}
