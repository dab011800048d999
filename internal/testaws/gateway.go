package testaws

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/coder/websocket"
)

// HTTPGateway is API Gateway's HTTP API: it gives every request to a function,
// payload format 2.0, and sends its answer. It ends with the test.
func HTTPGateway(tb testing.TB, host *Host, function string) string {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := requestEvent(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		result, err := host.Invoke(r.Context(), function, event)
		if err != nil || result.Error != "" {
			http.Error(w, `{"message":"Internal Server Error"}`, http.StatusInternalServerError)
			return
		}
		answer(w, result.Payload)
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// requestEvent is a request as the function gets it.
func requestEvent(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "$default", RawPath: r.URL.EscapedPath(), RawQueryString: r.URL.RawQuery,
		Headers: map[string]string{"host": r.Host}, QueryStringParameters: map[string]string{},
	}
	for name, values := range r.Header {
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	for name, values := range r.URL.Query() {
		e.QueryStringParameters[name] = strings.Join(values, ",")
	}
	if e.Body = string(body); !utf8.Valid(body) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	e.RequestContext = events.APIGatewayV2HTTPRequestContext{
		RouteKey: "$default", AccountID: Account, Stage: "$default", RequestID: rand.Text(), APIID: "test",
		DomainName: r.Host, TimeEpoch: time.Now().UnixMilli(),
		HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
			Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: "127.0.0.1", UserAgent: r.UserAgent(),
		},
	}
	return json.Marshal(e)
}

func answer(w http.ResponseWriter, payload []byte) {
	var a events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(payload, &a); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	for name, values := range a.MultiValueHeaders {
		for _, v := range values {
			w.Header().Add(name, v)
		}
	}
	for name, v := range a.Headers {
		w.Header().Set(name, v)
	}
	for _, c := range a.Cookies {
		w.Header().Add("Set-Cookie", c)
	}
	body := []byte(a.Body)
	if a.IsBase64Encoded {
		body, _ = base64.StdEncoding.DecodeString(a.Body) // what isn't base64 is empty
	}
	w.WriteHeader(max(a.StatusCode, 200))
	_, _ = w.Write(body) // the client has gone; nobody is left to tell
}

// SocketGateway is API Gateway's WebSocket API with its management API, both
// below URL.
type SocketGateway struct {
	URL string // http://..., with the stage

	tb       testing.TB
	host     *Host
	function string

	mu    sync.Mutex
	open  map[string]*websocket.Conn
	count int
}

// NewSocketGateway makes one that gives its routes to a function. It ends with
// the test.
func NewSocketGateway(tb testing.TB, host *Host, function string) *SocketGateway {
	tb.Helper()
	g := &SocketGateway{tb: tb, host: host, function: function, open: map[string]*websocket.Conn{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /test", g.connect)
	mux.HandleFunc("POST /test/@connections/{id}", g.post)
	server := httptest.NewServer(mux)
	g.URL = server.URL + "/test"
	tb.Cleanup(func() {
		g.Drop()
		server.Close()
	})
	return g
}

// Drop closes every connection, as API Gateway does after two hours.
func (g *SocketGateway) Drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, conn := range g.open {
		_ = conn.CloseNow() // closed already is as good
		delete(g.open, id)
	}
}

// Connected counts the connections that were ever let in.
func (g *SocketGateway) Connected() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count
}

// tell gives an event of a connection to the function, and its status.
func (g *SocketGateway) tell(ctx context.Context, r *http.Request, id, route string) int {
	e := events.APIGatewayWebsocketProxyRequest{Headers: map[string]string{}, QueryStringParameters: map[string]string{}}
	for name := range r.Header {
		e.Headers[name] = r.Header.Get(name)
	}
	for name := range r.URL.Query() {
		e.QueryStringParameters[name] = r.URL.Query().Get(name)
	}
	e.RequestContext.RouteKey, e.RequestContext.ConnectionID, e.RequestContext.Stage = route, id, "test"
	e.RequestContext.EventType = map[string]string{"$connect": "CONNECT", "$disconnect": "DISCONNECT", "$default": "MESSAGE"}[route]
	doc, err := json.Marshal(e)
	if err != nil {
		return http.StatusInternalServerError
	}
	result, err := g.host.Invoke(ctx, g.function, doc)
	if err != nil || result.Error != "" {
		return http.StatusInternalServerError
	}
	var a events.APIGatewayProxyResponse
	if err := json.Unmarshal(result.Payload, &a); err != nil {
		return http.StatusInternalServerError
	}
	return a.StatusCode
}

func (g *SocketGateway) connect(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	if status := g.tell(r.Context(), r, id, "$connect"); status/100 != 2 {
		w.WriteHeader(status)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	g.mu.Lock()
	g.open[id] = conn
	g.count++
	g.mu.Unlock()
	for {
		if _, _, err := conn.Read(r.Context()); err != nil {
			break
		}
		g.tell(r.Context(), r, id, "$default")
	}
	g.mu.Lock()
	delete(g.open, id)
	g.mu.Unlock()
	_ = conn.CloseNow() // closed already is as good
	g.tell(context.WithoutCancel(r.Context()), r, id, "$disconnect")
}

// post is the management API's PostToConnection.
func (g *SocketGateway) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	conn := g.open[r.PathValue("id")]
	g.mu.Unlock()
	if conn == nil || conn.Write(r.Context(), websocket.MessageText, body) != nil {
		w.Header().Set("X-Amzn-Errortype", "GoneException")
		w.WriteHeader(http.StatusGone)
	}
}
