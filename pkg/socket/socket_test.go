package socket_test

import (
	"context"
	"encoding/json"
	"errors"
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

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/socket"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// list is Connections in memory, for what the functions do with them; that
// DynamoDB keeps them is the store's test.
type list struct {
	mu  sync.Mutex
	all map[string]store.Connection // by delegate
}

func (l *list) PutConnection(_ context.Context, c store.Connection) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]store.Connection{}
	}
	l.all[c.Delegate] = c
	return nil
}

func (l *list) Connections(context.Context, string) ([]store.Connection, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []store.Connection
	for _, c := range l.all {
		out = append(out, c)
	}
	return out, nil
}

func (l *list) DeleteConnection(_ context.Context, c store.Connection) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[c.Delegate].ID == c.ID {
		delete(l.all, c.Delegate)
	}
	return nil
}

func (l *list) ids() []string {
	all, _ := l.Connections(context.Background(), "")
	var out []string
	for _, c := range all {
		out = append(out, c.ID)
	}
	slices.Sort(out)
	return out
}

func TestOnlyARegisteredDelegateIsLetIn(t *testing.T) {
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
	mint := func(kind store.TokenKind) (string, string) {
		token, text := access.Mint(access.Grant{Kind: kind, Scope: ref.Scope{Account: "default"}, Name: "t", Actor: "t"}, time.Now())
		if err := st.PutToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		return token.ID, text
	}
	id, mine := mint(store.TokenDelegate)
	_, other := mint(store.TokenDelegate)
	_, user := mint(store.TokenUser)
	if err := st.PutDelegate(t.Context(), store.Delegate{ID: "d1", Scope: ref.Scope{Account: "default"}, TokenID: id, LastSeen: time.Now()}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, route, header, token, delegate string
		want                                 int
		in                                   bool
	}{
		{"its own token", "$connect", "Authorization", mine, "d1", 200, true},
		{"headers in lower case", "$connect", "authorization", mine, "d1", 200, true},
		{"another delegate's token", "$connect", "Authorization", other, "d1", 403, false},
		{"a person's token", "$connect", "Authorization", user, "d1", 403, false},
		{"a delegate that hasn't registered", "$connect", "Authorization", mine, "d2", 403, false},
		{"no delegate", "$connect", "Authorization", mine, "", 403, false},
		{"no token", "$connect", "Authorization", "", "d1", 401, false},
		{"a forged token", "$connect", "Authorization", mine + "x", "d1", 401, false},
		{"a ping needs nothing", "$default", "", "", "", 200, false},
		{"nor does the end", "$disconnect", "", "", "", 200, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			connections := &list{}
			lobby := socket.Lobby{Store: st.Store, Connections: connections, Viewers: &audience{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
			e := events.APIGatewayWebsocketProxyRequest{
				Headers: map[string]string{tt.header: "Bearer " + tt.token}, QueryStringParameters: map[string]string{"delegate": tt.delegate},
			}
			e.RequestContext.RouteKey, e.RequestContext.ConnectionID = tt.route, "c1"
			got, err := lobby.Handle(t.Context(), e)
			if err != nil || got.StatusCode != tt.want {
				t.Errorf("status %d, %v; want %d", got.StatusCode, err, tt.want)
			}
			if in := len(connections.ids()) > 0; in != tt.in {
				t.Errorf("let in: %t, want %t", in, tt.in)
			}
		})
	}
}

// When its socket closes, a silent delegate has two minutes to say something;
// a connection that it has replaced says nothing about it.
func TestAClosedSocketEndsSilence(t *testing.T) {
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
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	scope := ref.Scope{Account: "default"}
	for _, tt := range []struct {
		name, connection string
		quiet            time.Duration
		seen             time.Time
		left             []string
	}{
		{"another one, of before", "older", 5 * time.Minute, at.Add(-4 * time.Minute), []string{"c1"}},
		{"its own", "c1", 0, at, nil},
		{"its own again", "c1", 0, at, nil},
	} {
		connections := &list{}
		if err := errors.Join(
			st.PutDelegate(t.Context(), store.Delegate{ID: "d1", Scope: scope, Name: "blue", LastSeen: at.Add(-4 * time.Minute), Quiet: 5 * time.Minute}),
			connections.PutConnection(t.Context(), store.Connection{ID: "c1", Delegate: "d1", Scope: scope}),
		); err != nil {
			t.Fatal(err)
		}
		lobby := socket.Lobby{Account: "default", Store: st.Store, Connections: connections, Viewers: &audience{}, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
		e := events.APIGatewayWebsocketProxyRequest{}
		e.RequestContext.RouteKey, e.RequestContext.ConnectionID = "$disconnect", tt.connection
		if _, err := lobby.Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		d, err := st.Delegate(t.Context(), "default", "d1")
		if err != nil || d.Quiet != tt.quiet || !d.LastSeen.Equal(tt.seen) {
			t.Errorf("%s: the delegate is %+v, %v; want it silent for %s since %s", tt.name, d, err, tt.quiet, tt.seen)
		}
		if diff := cmp.Diff(tt.left, connections.ids()); diff != "" {
			t.Errorf("%s: connections that are left (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDelegatesAreWoken(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	heard := map[string][]string{} // by connection
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.TrimPrefix(r.URL.Path, "/prod/@connections/")
		if id == "gone" || id == "opening" { // API Gateway tells them not apart
			w.Header().Set("X-Amzn-Errortype", "GoneException")
			w.WriteHeader(http.StatusGone)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var wake protocol.Wake
		if err := json.Unmarshal(body, &wake); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		heard[id] = append(heard[id], wake.Type+string(wake.Task))
	}))
	defer gateway.Close()
	connections := &list{}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []store.Connection{
		{ID: "all", Delegate: "d1", Scope: ref.Scope{Account: "default"}},
		{ID: "web", Delegate: "d2", Scope: ref.Scope{Account: "default", Org: "o", Project: "web"}},
		{ID: "shop", Delegate: "d3", Scope: ref.Scope{Account: "default", Org: "o", Project: "shop"}},
		{ID: "gone", Delegate: "d4", Scope: ref.Scope{Account: "default"}, Opened: at.Add(-time.Minute)},
		{ID: "opening", Delegate: "d5", Scope: ref.Scope{Account: "default"}, Opened: at.Add(-59 * time.Second)},
	} {
		if err := connections.PutConnection(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	w := socket.NewWaker(connections, apigatewaymanagementapi.New(apigatewaymanagementapi.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(gateway.URL + "/prod"), RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "k", SecretAccessKey: "s"}, nil
		}),
	}), func() time.Time { return at }, slog.New(slog.DiscardHandler))
	w.Wake(t.Context(), ref.Scope{Account: "default", Org: "o", Project: "web"})
	w.Cancel(t.Context(), "default", "d3", "t1")
	w.News(t.Context(), "default", "d2")
	want := map[string][]string{"all": {"work"}, "web": {"work", "news"}, "shop": {"cancelt1"}}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"all", "opening", "shop", "web"}, connections.ids()); diff != "" {
		t.Errorf("connections that are left (-want +got):\n%s", diff)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"https://x.execute-api.eu-west-1.amazonaws.com/prod": "wss://x.execute-api.eu-west-1.amazonaws.com/prod",
		"http://127.0.0.1:80/prod":                           "ws://127.0.0.1:80/prod",
	} {
		if got, err := socket.Address(endpoint); err != nil || got != want {
			t.Errorf("%s gives %s, %v; want %s", endpoint, got, err, want)
		}
	}
}
