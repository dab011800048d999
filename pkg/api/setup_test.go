package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/gitops/mirror"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

// server is the API over a real store, with what callers need.
type server struct {
	t *testing.T
	*api.Server
	cfg   api.Config
	store store.Store
	token string // a user's, for the whole account
}

// setup starts an API whose account is empty but for one user.
func setup(t *testing.T) *server {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	kept, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, store: kept.Store}
	keeper, log := secret.New(key, kept, time.Now), slog.New(slog.DiscardHandler)
	s.cfg = api.Config{
		Store: kept.Store, Catalog: catalog.New(catalog.Config{Store: kept.Store, Secret: keeper, Options: builtin.Options(ref.Scope{}), Now: time.Now}),
		Files:    filestore.New(filestore.Config{Store: kept, Now: time.Now}),
		Triggers: firing.New(firing.Config{Account: "default", Store: kept, Secret: keeper, Types: builtin.Types(), Now: time.Now, Log: log}),
		GitOps:   mirror.New(mirror.Config{Store: kept.Store, Options: builtin.Options(ref.Scope{}), Now: time.Now}),
		Ledger:   ledger.New(ledger.Config{Store: kept.Store, Secret: keeper, Now: time.Now}),
		Issuer:   issuer.New(issuer.Config{URL: "https://slipway.example.com", Account: "default", Store: kept, Secret: keeper, Now: time.Now}),
		Hub:      api.NewHub(), Feed: api.NewFeed(), Timing: protocol.Registered{HeartbeatEvery: time.Minute, PollEvery: time.Minute},
		Now: time.Now, Log: log, Version: "test", Account: "default",
	}
	s.Server = api.New(s.cfg)
	s.token = s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default"}, Name: "admin", Actor: "ada"})
	return s
}

func (s *server) mint(g access.Grant) string {
	s.t.Helper()
	token, text := access.Mint(g, time.Now())
	if err := s.store.PutToken(s.t.Context(), token); err != nil {
		s.t.Fatal(err)
	}
	return text
}

// answer is what a request got.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// ask is one request; headers are pairs of name and value. The user's token
// is sent unless an Authorization is given.
func (s *server) ask(method, path, body string, headers ...string) answer {
	s.t.Helper()
	return s.send(s.request(method, path, body, headers...))
}

func (s *server) request(method, path, body string, headers ...string) *http.Request {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func (s *server) send(r *http.Request) answer {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return answer{t: s.t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
}

// want checks the status and decodes the body into out, unless that is nil.
func (a answer) want(status int, out any) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status is %d; want %d; the body is %s", a.status, status, a.body)
	}
	if out == nil {
		return a
	}
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		a.t.Fatalf("decode %s: %v", a.body, err)
	}
	return a
}

// problem checks the status and gives the error body.
func (a answer) problem(status int) api.Problem {
	a.t.Helper()
	var p api.Problem
	a.want(status, &p)
	return p
}

const scope = "?org=default&project=web"

// save saves a document in the test's project.
func (s *server) save(doc string) api.SavedEntity {
	s.t.Helper()
	var out api.SavedEntity
	s.ask("PUT", "/v1/entities"+scope, doc, "Content-Type", "application/yaml").want(200, &out)
	return out
}
