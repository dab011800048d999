package api_test

import (
	"context"
	"testing"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// crowd is so many pages that hear of executions over WebSockets.
type crowd int

func (c crowd) PutViewer(context.Context, store.Viewer) error { return nil }

func (c crowd) Viewers(context.Context, string) ([]store.Viewer, error) {
	return make([]store.Viewer, c), nil
}

func (c crowd) DeleteViewer(context.Context, string, string) (bool, error) { return false, nil }

// At most 1000 pages of an account hear over WebSockets; the others look by themselves.
// Where there are streams there are no tickets.
func TestTicketsForPagesAreBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		viewers store.Viewers
		query   string
		status  int
		code    fault.Code
		live    string
	}{
		"one machine":                 {nil, scope, 400, fault.Unsupported, "events"},
		"the last one":                {crowd(999), scope, 200, "", "socket"},
		"one more":                    {crowd(1000), scope, 429, fault.TooMany, "socket"},
		"of an execution there isn't": {crowd(0), scope + "&execution=x9", 404, fault.NotFound, "socket"},
	} {
		s := setup(t)
		cfg := s.cfg
		cfg.Viewers = tt.viewers
		s.Server = api.New(cfg)
		made := s.ask("POST", "/v1/live/tickets"+tt.query, "")
		if tt.status == 200 {
			var got struct{ URL, Ticket, ExpiresAt string }
			if made.want(200, &got); got.Ticket == "" {
				t.Errorf("%s: %+v has no ticket", name, got)
			}
		} else if p := made.problem(tt.status); p.Code != tt.code {
			t.Errorf("%s: %+v; want %q", name, p, tt.code)
		}
		var who access.Whoami
		s.ask("GET", "/v1/whoami", "").want(200, &who)
		if who.Live != tt.live {
			t.Errorf("%s: pages hear by %q, want %q", name, who.Live, tt.live)
		}
	}
}
