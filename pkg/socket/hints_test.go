package socket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/live"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/socket"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

// audience is Viewers in memory, as list is Connections.
type audience struct {
	mu  sync.Mutex
	all []store.Viewer
}

func (a *audience) PutViewer(_ context.Context, v store.Viewer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, v)
	return nil
}

func (a *audience) Viewers(context.Context, string) ([]store.Viewer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.all), nil
}

func (a *audience) DeleteViewer(_ context.Context, _, id string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.all)
	a.all = slices.DeleteFunc(a.all, func(v store.Viewer) bool { return v.ID == id })
	return len(a.all) < before, nil
}

func (a *audience) ids() []string {
	var out []string
	for _, v := range a.all {
		out = append(out, v.ID)
	}
	slices.Sort(out)
	return out
}

// Each page hears of what it shows and its caller may see, and nobody of anything else;
// whose token has ended hears that, and who has gone is forgotten.
func TestPagesHearWhatTheyMaySee(t *testing.T) {
	t.Parallel()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	st, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	account := ref.Scope{Account: "default"}
	web, shop := ref.Scope{Account: "default", Org: "o", Project: "web"}, ref.Scope{Account: "default", Org: "o", Project: "shop"}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tokens := map[string]string{}
	for name, g := range map[string]access.Grant{
		"all": {Scope: account}, "web": {Scope: web}, "over": {Scope: account, ExpiresAt: at.Add(-time.Second)}, "revoked": {Scope: account},
		"nobody": {Scope: account, Principal: store.EntityKey{Scope: account, Kind: ref.User, ID: "gone"}},
	} {
		g.Kind, g.Name, g.Actor = store.TokenUser, name, name
		token, _ := access.Mint(g, at.Add(-time.Hour))
		token.Revoked = name == "revoked"
		if err := st.PutToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		tokens[name] = token.ID
	}
	// It was begun when sessions lasted longer.
	session, _ := access.Mint(access.Grant{Kind: store.TokenSession, Scope: account, ExpiresAt: at.Add(time.Hour)}, at.Add(-25*time.Hour))
	if err := st.PutToken(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	for id, e := range map[string]store.Execution{"x1": {Scope: web}, "x2": {Scope: shop}, "x3": {Scope: web, Preview: true}} {
		e.ID, e.Pipeline, e.Status, e.StartedAt = id, "p", plan.Running, at
		begin(t, st.Store, e)
	}
	pages := &audience{}
	for _, v := range []store.Viewer{
		{ID: "account", Token: tokens["all"], Scope: account},
		{ID: "web", Token: tokens["all"], Scope: web},
		{ID: "shop", Token: tokens["all"], Scope: shop},
		{ID: "elsewhere", Token: tokens["all"], Scope: ref.Scope{Account: "default", Org: "o", Project: "other"}},
		{ID: "x1", Token: tokens["all"], Scope: web, Execution: "x1"},
		{ID: "x3", Token: tokens["all"], Scope: web, Execution: "x3"},
		{ID: "x9", Token: tokens["all"], Scope: web, Execution: "x9"},
		{ID: "limited", Token: tokens["web"], Scope: account},
		{ID: "over", Token: tokens["over"], Scope: account},
		{ID: "revoked", Token: tokens["revoked"], Scope: account},
		{ID: "nobody", Token: tokens["nobody"], Scope: account},
		{ID: "session", Token: session.ID, Since: session.CreatedAt, Scope: account},
		{ID: "former", Token: tokens["all"], Since: at.Add(-2 * time.Hour), Scope: account}, // of a session whose id another has by now
		{ID: "unknown", Token: "unknown", Scope: account},
		{ID: "gone", Token: tokens["all"], Scope: account, Opened: at.Add(-time.Minute)},
		{ID: "opening", Token: tokens["all"], Scope: account, Opened: at.Add(-59 * time.Second)},
	} {
		if v.Since.IsZero() {
			v.Since = at.Add(-time.Hour)
		}
		if err := pages.PutViewer(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	heard := map[string]string{}
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.TrimPrefix(r.URL.Path, "/prod/@connections/")
		if id == "gone" || id == "opening" {
			w.Header().Set("X-Amzn-Errortype", "GoneException")
			w.WriteHeader(http.StatusGone)
			return
		}
		body, err := io.ReadAll(r.Body)
		var h live.Hint
		if err == nil {
			err = json.Unmarshal(body, &h)
		}
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		heard[id] += strings.Join(h.Executions, " ")
		if h.Bye {
			heard[id] += "bye"
		}
	}))
	defer gateway.Close()
	h := socket.Hints{
		Account: "default", Store: st.Store, Viewers: pages, Grants: grants.New(st.Entities), Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler),
		Gateway: apigatewaymanagementapi.New(apigatewaymanagementapi.Options{
			Region: "eu-west-1", BaseEndpoint: aws.String(gateway.URL + "/prod"), RetryMaxAttempts: 1,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "k", SecretAccessKey: "s"}, nil
			}),
		}),
	}
	h.Tell(t.Context(), []string{"x1", "x2", "x3", "x4"})
	want := map[string]string{
		"account": "x1 x2", "web": "x1", "shop": "x2", "x1": "x1", "x3": "x3", "limited": "x1", "over": "bye", "revoked": "bye", "nobody": "bye", "session": "bye", "former": "bye", "unknown": "bye",
	}
	mu.Lock()
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	mu.Unlock()
	if diff := cmp.Diff([]string{"account", "elsewhere", "limited", "opening", "shop", "web", "x1", "x3", "x9"}, pages.ids()); diff != "" {
		t.Errorf("pages that are left (-want +got):\n%s", diff)
	}

	var many []string
	for i := range 30 {
		id := fmt.Sprintf("m%02d", i)
		begin(t, st.Store, store.Execution{ID: id, Scope: shop, Pipeline: "p", Status: plan.Running, StartedAt: at})
		many = append(many, id)
	}
	clear(heard)
	h.Tell(t.Context(), many)
	if got := strings.Fields(heard["shop"]); len(got) != 20 {
		t.Errorf("a page of many hears of %d by name, want 20", len(got))
	}
}

// begin stores an execution.
func begin(t *testing.T, st store.Store, e store.Execution) {
	t.Helper()
	e.PlanHash = "h"
	if _, err := st.CreateExecution(t.Context(), e, []byte("{}"), audit.Record{Scope: e.Scope}); err != nil {
		t.Fatal(err)
	}
}
