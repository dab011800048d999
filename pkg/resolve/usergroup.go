package resolve

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// UserGroup says whether there is a user group. Who is in it is read when it
// matters.
func (s *Scope) UserGroup(name string) error {
	if plan.EverybodysGroup(name) {
		return nil
	}
	r, err := ref.Parse(name, s.Execution.Scope)
	if err != nil {
		return fault.New(fault.Invalid, "user group %q: %w", name, err)
	}
	_, err = s.Entities.Entity(s.Context, store.EntityKey{Scope: r.Scope, Kind: ref.UserGroup, ID: r.ID})
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "user group %q isn't in %s", r.ID, r.Scope)
	}
	return err
}
