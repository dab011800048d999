package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// slow is a store in which a project's entities don't come before they are let go.
type slow struct {
	store.Entities
	project string
	in      chan struct{}
	free    chan struct{}
}

func (s *slow) Entity(ctx context.Context, k store.EntityKey) (store.Entity, error) {
	if k.Scope.Project == s.project {
		s.in <- struct{}{}
		<-s.free
	}
	return s.Entities.Entity(ctx, k)
}

// greedy is an API of which eight heavy requests are answered at once, with a
// token of a project whose requests take for ever.
func greedy(t *testing.T, full func() bool) (s *server, plane http.Handler, kept *slow, token string) {
	t.Helper()
	s = setup(t)
	kept = &slow{Entities: s.store.Entities, project: "greedy", in: make(chan struct{}, 1000), free: make(chan struct{})}
	held := s.store
	held.Entities = kept
	s.cfg.Catalog = catalog.New(catalog.Config{Store: held, Options: builtin.Options(ref.Scope{}), Now: time.Now})
	s.cfg.Work = api.NewWork(8, full)
	scope := ref.Scope{Account: "default", Org: "default", Project: "greedy"}
	token = s.mint(access.Grant{Kind: store.TokenUser, Scope: scope, Name: "greedy", Actor: "eve"})
	return s, api.New(s.cfg), kept, token
}

// read is a heavy request: it resolves a pipeline that there isn't.
func read(t *testing.T, plane http.Handler, token, project string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/entities/pipeline/p/resolved?org=default&project="+project, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	plane.ServeHTTP(w, r)
	return w
}

// However many requests of a project wait, another's is answered at once, and
// those of the project itself that have to wait for too many are told to come
// again. It holds for a token of the account that names the projects, too.
func TestAProjectsRequestsKeepNobodyElseWaiting(t *testing.T) {
	t.Parallel()
	for name, ofAccount := range map[string]bool{"a project's token": false, "the account's token": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, plane, kept, token := greedy(t, func() bool { return false })
			if ofAccount {
				token = s.token
			}
			const half, waiting = 4, 256
			answers := make(chan *httptest.ResponseRecorder, half+waiting+1)
			for range half + waiting + 1 {
				go func() { answers <- read(t, plane, token, "greedy") }()
			}
			for range half {
				<-kept.in
			}
			if first := <-answers; first.Code != http.StatusTooManyRequests || first.Header().Get("Retry-After") == "" {
				t.Errorf("one too many is answered %d, Retry-After %q: %s", first.Code, first.Header().Get("Retry-After"), first.Body)
			}
			if w := read(t, plane, s.token, "web"); w.Code != http.StatusNotFound {
				t.Errorf("the other project's request is answered %d: %s; want that it was looked for", w.Code, w.Body)
			}
			if len(kept.in) > 0 {
				t.Errorf("%d more of the greedy project's are under way than half of all", len(kept.in))
			}
			close(kept.free)
			for range half + waiting {
				if w := <-answers; w.Code != http.StatusNotFound {
					t.Errorf("one that waited is answered %d: %s", w.Code, w.Body)
				}
			}
		})
	}
}

// Near the limit of memory what takes much is put off, and nothing else.
func TestHeavyRequestsArePutOffWithoutMemory(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	full.Store(true)
	s, plane, _, _ := greedy(t, full.Load)
	web := ref.Scope{Account: "default", Org: "default", Project: "web"}
	run := store.Execution{ID: "x1", Scope: web, Pipeline: "hello", PlanHash: "h", Status: plan.Success, StartedAt: time.Now()}
	if _, err := s.store.CreateExecution(t.Context(), run, []byte("{}"), audit.Record{Scope: web}); err != nil {
		t.Fatal(err)
	}
	if w := read(t, plane, s.token, "web"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("without memory: %d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	for path, want := range map[string]int{
		"/v1/entities/pipeline" + scope:  http.StatusOK, // a list
		"/v1/executions/x1/attestations": http.StatusServiceUnavailable,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer "+s.token)
		w := httptest.NewRecorder()
		if plane.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s without memory: %d; want %d: %s", path, w.Code, want, w.Body)
		}
	}
	full.Store(false)
	if w := read(t, plane, s.token, "web"); w.Code != http.StatusNotFound {
		t.Errorf("with memory again: %d: %s", w.Code, w.Body)
	}
}
