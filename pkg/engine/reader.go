package engine

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/freeze/calendar"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/templatestore"
)

// Reader reads executions and what stands in their nodes, for decisions and for
// people. It changes nothing.
type Reader struct {
	store store.Store
	steps map[string]step.Type
	meets []string // types whose steps wait for each other
	holds []string // types whose steps keep turns
	types entity.Types
	mail  *mail.Server
	now   func() time.Time
	plans *plans
	// calendar has the deployment freezes.
	calendar *calendar.Reader
	// policies are asked when steps start, by Policy steps, and about what steps
	// enforce; nil: there are none.
	policies *judge.Judge
	// grants has what those may do as whom executions act.
	grants *grants.Reader
}

// scope is what names mean in a node, over the given states.
func (r *Reader) scope(ctx context.Context, snap *snapshot, n *plan.Node, state func(plan.NodeID) plan.State) *resolve.Scope {
	return resolve.New(resolve.Config{
		Context: ctx, Plan: snap.plan, Node: n, State: state, Execution: snap.execution,
		Entities: r.store.Entities, Files: snap.files(n), Types: r.types, Templates: templatestore.Lookup(r.store.Entity), Mail: r.mail, Now: r.now(),
		Last: func(stage *plan.Node, d *plan.Deployment) (*resolve.Past, error) {
			return r.lastGood(ctx, snap.execution, stage, d)
		},
	})
}
