package elastigroup_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/elastigroup"
	"github.com/slipway-cd/slipway/internal/testaws"
	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
)

// counted notes the requests that come by.
type counted struct {
	http.RoundTripper
	mu    sync.Mutex
	calls []string
}

// RoundTrip notes a request by its method and what it is about.
func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(path) > 3 {
		path[3] = "ID"
	}
	c.mu.Lock()
	c.calls = append(c.calls, r.Method+" /"+strings.Join(path, "/"))
	c.mu.Unlock()
	return c.RoundTripper.RoundTrip(r)
}

func (c *counted) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// What deployments ask of Spot is as the docs say.
func TestCalls(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	via := &counted{RoundTripper: s.via()}
	bill := testaws.NewBill("../../docs/delegate.md", *update, via.all)
	s.kind = elastigroup.Kind(elastigroup.Config{Accesses: accesses(), Via: via, Pace: bill.Pace, Patience: time.Millisecond})
	bill.Costs(t, "Elastigroup, in phases, the first", func() { s.phases(t) })
	s = s.next(t, "ami-2")
	bill.Costs(t, "Elastigroup, in phases", func() { s.phases(t) })
	bill.Costs(t, "Elastigroup, in phases, taken back", func() { s.succeeds(t, spot.OpRollback) })
}
