package agent

import (
	"context"
	"net/http"
	"time"

	"github.com/slipway-cd/slipway/delegate/journal"
	"github.com/slipway-cd/slipway/delegate/watchdog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// leftWithin bounds ending what killed processes have left running.
const leftWithin = 10 * time.Second

// begin begins the journal, and finds out which processes before this one were
// killed. What their tasks have started is ended before anybody is told that
// these are lost. Without a journal, the leases end by themselves.
func (a *Agent) begin(ctx context.Context) {
	if a.Journal == "" {
		return
	}
	for _, g := range journal.Left(a.Journal, a.URL, protocol.MaxReplaced) {
		var marks []string
		for _, e := range g.Begun {
			marks = append(marks, e.Mark)
		}
		within, stop := context.WithTimeout(ctx, leftWithin)
		err := watchdog.End(within, marks...)
		stop()
		if err != nil {
			a.Log.WarnContext(ctx, "what a killed process of this delegate has started doesn't end; its leases will", "id", g.ID, "error", err)
			continue
		}
		a.Log.InfoContext(ctx, "an earlier process of this delegate was killed", "id", g.ID, "tasks", len(g.Begun))
		a.claims.gone = append(a.claims.gone, replaced{Gone: g})
	}
	var err error
	if a.journal, err = journal.Open(a.Journal, a.id, a.URL); err != nil {
		a.Log.WarnContext(ctx, "no journal; if this process is killed, its tasks wait for their leases", "error", err)
		a.journal = nil
	}
}

// bury says goodbye for a killed process, of which all is told.
func (a *Agent) bury(ctx context.Context, g journal.Gone) {
	if err := a.api.call(ctx, http.MethodDelete, g.ID, nil, nil); err != nil && !fault.Is(err, fault.NotFound) {
		a.Log.InfoContext(ctx, "a killed process will be forgotten later", "id", g.ID, "error", err)
	} else {
		signal(a.look) // what it watched is anybody's now
	}
	g.Forget()
}

// note notes that a task begins.
func (a *Agent) note(r *running) error {
	return a.journal.Begin(journal.Entry{Held: protocol.Held{ID: r.ID, Fence: r.Fence}, Mark: r.mark})
}

// settled notes that the control plane knows how a task ended, or that it isn't
// this delegate's any more. Of any other end the task counts as begun.
func (a *Agent) settled(r *running) {
	if err := a.journal.End(protocol.Held{ID: r.ID, Fence: r.Fence}); err != nil {
		a.Log.WarnContext(r.ctx, "can't note the end of a task", "task", r.ID, "error", err)
	}
}
