package testaws_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi/types"
	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// script deploys a function that answers as the test says, and keeps its
// events.
func script(t *testing.T, answer string) (*testaws.Host, *eventLog) {
	t.Helper()
	file, err := scripted()
	if err != nil {
		t.Fatal(err)
	}
	seen := &eventLog{came: make(chan []byte, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen.came <- body
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	host := testaws.NewHost(t)
	host.Add(testaws.Function{Name: "f", Binary: file, Env: []string{"SCRIPT=" + server.URL}, Timeout: 20 * time.Second})
	return host, seen
}

// eventLog is what a function was given.
type eventLog struct{ came chan []byte }

// next decodes the next event.
func (l *eventLog) next(t *testing.T, event any) {
	t.Helper()
	select {
	case doc := <-l.came:
		if err := json.Unmarshal(doc, event); err != nil {
			t.Fatal(err)
		}
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

func TestHTTPRequests(t *testing.T) {
	t.Parallel()
	type request struct {
		Method, Path, Query, Body string
		Headers                   map[string]string
		Parameters                map[string]string
		Cookies                   []string
		Base64                    bool
	}
	tests := []struct {
		name              string
		method, target    string
		contentType, body string
		header            http.Header
		want              request
	}{
		{
			name: "JSON", method: "PUT", target: "/v1/things/a%2Fb?x=1&x=2", contentType: "application/json; charset=utf-8", body: `{"a":"é"}`,
			want: request{
				Method: "PUT", Path: "/v1/things/a%2Fb", Query: "x=1&x=2", Body: `{"a":"é"}`, Parameters: map[string]string{"x": "1,2"},
				Headers: map[string]string{"content-type": "application/json; charset=utf-8"},
			},
		},
		{
			name: "headers and cookies", method: "GET", target: "/", header: http.Header{"X-Many": {"a", "b"}, "Cookie": {"a=1; b=2"}},
			want: request{Method: "GET", Path: "/", Headers: map[string]string{"x-many": "a,b"}, Cookies: []string{"a=1", "b=2"}},
		},
		{
			name: "a form", method: "POST", target: "/", contentType: "application/x-www-form-urlencoded", body: "a=1",
			want: request{Method: "POST", Path: "/", Body: "YT0x", Base64: true, Headers: map[string]string{"content-type": "application/x-www-form-urlencoded"}},
		},
		{
			name: "bytes", method: "POST", target: "/", contentType: "application/octet-stream", body: "\x00\xff",
			want: request{Method: "POST", Path: "/", Body: "AP8=", Base64: true, Headers: map[string]string{"content-type": "application/octet-stream"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host, seen := script(t, `{"statusCode":204}`)
			req, err := http.NewRequestWithContext(t.Context(), tt.method, testaws.HTTPGateway(t, host, "f")+tt.target, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			for name, values := range tt.header {
				req.Header[name] = values
			}
			if tt.contentType != "" {
				req.Header.Set("Content-Type", tt.contentType)
			}
			exchange(t, req)
			var e events.APIGatewayV2HTTPRequest
			seen.next(t, &e)
			for _, name := range []string{"host", "user-agent", "accept-encoding", "content-length"} {
				delete(e.Headers, name) // the client's own
			}
			got := request{
				Method: e.RequestContext.HTTP.Method, Path: e.RawPath, Query: e.RawQueryString, Body: e.Body, Base64: e.IsBase64Encoded,
				Headers: e.Headers, Parameters: e.QueryStringParameters, Cookies: e.Cookies,
			}
			if tt.want.Headers == nil {
				tt.want.Headers = map[string]string{}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("event (-want +got):\n%s", d)
			}
		})
	}
}

// response is what a client gets.
type response struct {
	Status  int
	Body    string
	Headers map[string][]string
}

func exchange(t *testing.T, req *http.Request) response {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Header.Del("Date")
	resp.Header.Del("Content-Length")
	return response{Status: resp.StatusCode, Body: string(body), Headers: resp.Header}
}

func TestHTTPAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, answer string
		want         response
	}{
		{
			name: "a response", answer: `{"statusCode":201,"headers":{"X-A":"b","Content-Type":"text/plain"},"cookies":["a=1","b=2"],"body":"hello"}`,
			want: response{201, "hello", map[string][]string{"X-A": {"b"}, "Content-Type": {"text/plain"}, "Set-Cookie": {"a=1", "b=2"}}},
		},
		{
			name: "bytes", answer: `{"statusCode":200,"headers":{"Content-Type":"image/png"},"body":"AP8=","isBase64Encoded":true}`,
			want: response{200, "\x00\xff", map[string][]string{"Content-Type": {"image/png"}}},
		},
		{
			name: "headers of format 1.0 aren't read", answer: `{"statusCode":200,"headers":{"Content-Type":"text/plain"},"multiValueHeaders":{"X-A":["b"]}}`,
			want: response{200, "", map[string][]string{"Content-Type": {"text/plain"}}},
		},
		{
			name: "any other JSON", answer: `{"a":1}`,
			want: response{200, `{"a":1}`, map[string][]string{"Content-Type": {"application/json"}}},
		},
		{
			name: "a function that fails", answer: `{`,
			want: response{500, `{"message":"Internal Server Error"}`, map[string][]string{"Content-Type": {"application/json"}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host, _ := script(t, tt.answer)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, testaws.HTTPGateway(t, host, "f"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, exchange(t, req)); d != "" {
				t.Errorf("response (-want +got):\n%s", d)
			}
		})
	}
}

// A request that makes an event over 6 MB doesn't reach the function.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	host, _ := script(t, `{"statusCode":200}`)
	url := testaws.HTTPGateway(t, host, "f")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(make([]byte, 6<<20)))
	if err != nil {
		t.Fatal(err)
	}
	if got := exchange(t, req); got.Status != http.StatusRequestEntityTooLarge || host.Usage("f").Invocations != 0 {
		t.Errorf("status %d after %d invocations, want 413 after none", got.Status, host.Usage("f").Invocations)
	}
}

// dial opens a WebSocket and gives it with its ID.
func dial(t *testing.T, g *testaws.SocketGateway, seen *eventLog) (*websocket.Conn, string) {
	t.Helper()
	conn, resp, err := websocket.Dial(t.Context(), g.URL+"?delegate=d1", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer x"}}})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	var e events.APIGatewayWebsocketProxyRequest
	seen.next(t, &e)
	if e.RequestContext.RouteKey != "$connect" || e.RequestContext.EventType != "CONNECT" ||
		e.Headers["Authorization"] != "Bearer x" || e.QueryStringParameters["delegate"] != "d1" {
		t.Errorf("the event of $connect is %+v", e)
	}
	return conn, e.RequestContext.ConnectionID
}

func TestSockets(t *testing.T) {
	t.Parallel()
	host, seen := script(t, `{"statusCode":200}`)
	g := testaws.NewSocketGateway(t, host, "f")
	conn, id := dial(t, g, seen)
	api := apigatewaymanagementapi.NewFromConfig(testaws.Config(g.URL))
	post := func() error {
		_, err := api.PostToConnection(t.Context(), &apigatewaymanagementapi.PostToConnectionInput{ConnectionId: &id, Data: []byte("wake")})
		return err
	}
	for !open(t, api, id) { // the client is told before the gateway keeps it
		wait(t.Context(), t)
	}
	if err := post(); err != nil {
		t.Fatal(err)
	}
	if _, got, err := conn.Read(t.Context()); err != nil || string(got) != "wake" {
		t.Errorf("the client got %q, %v; want wake", got, err)
	}
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	var e events.APIGatewayWebsocketProxyRequest
	seen.next(t, &e)
	if e.RequestContext.RouteKey != "$default" || e.Body != "hello" || e.RequestContext.ConnectionID != id || e.Headers["Authorization"] != "" {
		t.Errorf("the event of a message is %+v", e)
	}
	if _, err := api.DeleteConnection(t.Context(), &apigatewaymanagementapi.DeleteConnectionInput{ConnectionId: &id}); err != nil {
		t.Fatal(err)
	}
	seen.next(t, &e)
	if e.RequestContext.RouteKey != "$disconnect" || e.RequestContext.ConnectionID != id {
		t.Errorf("the event of a closed connection is %+v", e)
	}
	var gone *types.GoneException
	if err := post(); !errors.As(err, &gone) {
		t.Errorf("a message for a closed connection: %v, want GoneException", err)
	}
}

func open(t *testing.T, api *apigatewaymanagementapi.Client, id string) bool {
	t.Helper()
	var gone *types.GoneException
	_, err := api.GetConnection(t.Context(), &apigatewaymanagementapi.GetConnectionInput{ConnectionId: &id})
	if err != nil && !errors.As(err, &gone) {
		t.Fatal(err)
	}
	return err == nil
}

// A function that refuses $connect keeps the client out.
func TestSocketsAreRefused(t *testing.T) {
	t.Parallel()
	host, _ := script(t, `{"statusCode":401}`)
	g := testaws.NewSocketGateway(t, host, "f")
	conn, resp, err := websocket.Dial(t.Context(), g.URL, nil)
	if err == nil {
		_ = conn.CloseNow()
		t.Fatal("the client was let in")
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusUnauthorized || g.Connected() != 0 {
		t.Errorf("status %d, %d connections; want 401 and none", resp.StatusCode, g.Connected())
	}
}

// Connections are dropped again and again; a client that returns is let in.
func TestSocketsAreDropped(t *testing.T) {
	t.Parallel()
	host, seen := script(t, `{"statusCode":200}`)
	g := testaws.NewSocketGateway(t, host, "f")
	g.DropEvery(20 * time.Millisecond)
	ids := map[string]bool{}
	for range 2 {
		conn, id := dial(t, g, seen)
		if ids[id] {
			t.Errorf("connection %s was let in twice", id)
		}
		ids[id] = true
		if _, _, err := conn.Read(t.Context()); err == nil {
			t.Error("the connection lives on")
		}
		var e events.APIGatewayWebsocketProxyRequest
		seen.next(t, &e)
		if e.RequestContext.RouteKey != "$disconnect" || e.RequestContext.ConnectionID != id {
			t.Errorf("the event of a dropped connection is %+v", e)
		}
	}
}
