// Package live is what pages hear of executions, and by which ticket one gets to
// hear it over a WebSocket that API Gateway holds.
//
// They hear hints: that some have changed, never how. Who sends them is pkg/api's
// where one machine serves all, and pkg/socket's on AWS.
package live

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Hint says that executions have changed, never how: whoever shows them asks again. One
// that comes twice, late or not at all costs nothing but time.
type Hint struct {
	Executions []string `json:"executions" nullable:"false" doc:"The ids of those of which something has changed"`
	All        bool     `json:"all,omitempty" doc:"Others may have, too: the first hint says so, as nobody knows what has changed before, and one after very many changes"`
	Bye        bool     `json:"bye,omitempty" doc:"Nothing more comes, because the session has ended; over a WebSocket alone"`
}

// Of is a hint of those executions that a page shows and its caller may see.
func Of(ctx context.Context, who grants.Caller, shown []store.Execution) (Hint, error) {
	shown, err := grants.Sees(ctx, who, action.ExecutionView, shown, Resource)
	if err != nil {
		return Hint{}, err
	}
	h := Hint{Executions: make([]string, len(shown))}
	for i, e := range shown {
		h.Executions[i] = e.ID
	}
	return h, nil
}

// Resource is what an execution belongs to.
func Resource(e store.Execution) right.Resource {
	return right.Resource{Scope: e.Scope, ID: e.Pipeline}
}

// ticketAge is how long a ticket lets somebody in: a page that has one connects at
// once.
const ticketAge = 30 * time.Second

// ticket is what is kept of one.
type ticket struct {
	Viewer store.Viewer
	Origin string // of the page that asked for it
}

// tickets are the store's.
func tickets(keys store.Keys) access.Tickets {
	return access.Tickets{Keys: keys, What: "live ticket", Age: ticketAge}
}

// Issue makes a ticket by which a page of an origin gets to hear what a viewer does,
// once.
func Issue(ctx context.Context, keys store.Keys, v store.Viewer, origin string, now time.Time) (text string, expires time.Time, err error) {
	body, err := json.Marshal(ticket{v, origin})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("encode a ticket: %w", err)
	}
	return tickets(keys).Make(ctx, body, now)
}

// Take is whom a ticket lets in that comes from a page of an origin. What is wrong with
// it isn't told: guesses learn nothing.
func Take(ctx context.Context, keys store.Keys, text, origin string, now time.Time) (store.Viewer, error) {
	var t ticket
	taken, err := tickets(keys).Take(ctx, text, now, func(body []byte) error {
		if err := json.Unmarshal(body, &t); err != nil {
			return fmt.Errorf("decode a ticket: %w", err)
		}
		if t.Origin != origin {
			return dead()
		}
		return nil
	})
	if err == nil && !taken {
		err = dead()
	}
	if err != nil {
		return store.Viewer{}, err
	}
	return t.Viewer, nil
}

func dead() error {
	return fault.New(fault.Forbidden, "the ticket isn't known, was taken before, is older than %s, or was made for a page of another origin", ticketAge)
}
