package testaws

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/coder/websocket"
)

// maxMessage is the most that a WebSocket message may have, both ways.
const maxMessage = 128 << 10

// SocketGateway is API Gateway's WebSocket API with its management API, both
// below URL.
type SocketGateway struct {
	URL string // http://..., with the stage

	tb       testing.TB
	host     *Host
	function string
	handlers sync.WaitGroup

	mu     sync.Mutex
	open   map[string]*connection
	count  int
	posted []string
}

// connection is an open WebSocket, and what its management API tells of it.
type connection struct {
	conn  *websocket.Conn
	since time.Time
	agent string
}

// NewSocketGateway makes one that gives its routes to a function. It ends with
// the test.
func NewSocketGateway(tb testing.TB, host *Host, function string) *SocketGateway {
	tb.Helper()
	g := &SocketGateway{tb: tb, host: host, function: function, open: map[string]*connection{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /test", g.connect)
	mux.HandleFunc("POST /test/@connections/{id}", g.post)
	mux.HandleFunc("GET /test/@connections/{id}", g.describe)
	mux.HandleFunc("DELETE /test/@connections/{id}", g.remove)
	server := httptest.NewServer(mux)
	g.URL = server.URL + "/test"
	tb.Cleanup(func() {
		g.Drop()
		g.handlers.Wait()
		server.Close()
	})
	return g
}

// Drop closes every connection, as API Gateway does after two hours.
func (g *SocketGateway) Drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, c := range g.open {
		_ = c.conn.CloseNow() // closed already is as good
		delete(g.open, id)
	}
}

// DropEvery closes every connection again and again until the test's end.
func (g *SocketGateway) DropEvery(d time.Duration) {
	g.handlers.Go(func() {
		ticker := time.NewTicker(d)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				g.Drop()
			case <-g.tb.Context().Done():
				return
			}
		}
	})
}

// Connected counts the connections that were ever let in.
func (g *SocketGateway) Connected() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count
}

// Posted counts the messages with a text in them that connections were sent.
func (g *SocketGateway) Posted(part string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, message := range g.posted {
		if strings.Contains(message, part) {
			n++
		}
	}
	return n
}

// connect is a client's WebSocket from $connect to $disconnect.
func (g *SocketGateway) connect(w http.ResponseWriter, r *http.Request) {
	g.handlers.Add(1)
	defer g.handlers.Done()
	id := connectionID()
	// Only $connect has the client's headers and query.
	e := events.APIGatewayWebsocketProxyRequest{Headers: map[string]string{"Host": r.Host}}
	for name := range r.Header {
		e.Headers[name] = r.Header.Get(name)
	}
	e.MultiValueHeaders = r.Header
	if query := r.URL.Query(); len(query) > 0 {
		e.QueryStringParameters, e.MultiValueQueryStringParameters = queryOf(query), query
	}
	if status := g.tell(r.Context(), e, id, "$connect"); status/100 != 2 {
		w.WriteHeader(status)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // API Gateway lets pages of all origins in
	if err != nil {
		return // Accept has answered
	}
	conn.SetReadLimit(maxMessage)
	g.mu.Lock()
	g.open[id] = &connection{conn: conn, since: time.Now(), agent: r.UserAgent()}
	g.count++
	g.mu.Unlock()
	for {
		_, message, err := conn.Read(r.Context())
		if err != nil {
			break
		}
		g.tell(r.Context(), events.APIGatewayWebsocketProxyRequest{Body: string(message)}, id, "$default")
	}
	g.mu.Lock()
	delete(g.open, id)
	g.mu.Unlock()
	_ = conn.CloseNow() // closed already is as good
	e = events.APIGatewayWebsocketProxyRequest{Headers: map[string]string{"Host": r.Host}}
	g.tell(context.WithoutCancel(r.Context()), e, id, "$disconnect")
}

// connectionID is like one of API Gateway's, which have to be escaped in a URL.
func connectionID() string {
	var b [11]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.StdEncoding.EncodeToString(b[:])
}

// tell gives an event of a connection to the function, and its status.
func (g *SocketGateway) tell(ctx context.Context, e events.APIGatewayWebsocketProxyRequest, id, route string) int {
	e.RequestContext = events.APIGatewayWebsocketProxyRequestContext{
		RouteKey: route, ConnectionID: id, Stage: "test", APIID: "test", RequestID: rand.Text(), MessageDirection: "IN",
		EventType:        map[string]string{"$connect": "CONNECT", "$disconnect": "DISCONNECT", "$default": "MESSAGE"}[route],
		RequestTimeEpoch: time.Now().UnixMilli(), Identity: events.APIGatewayRequestIdentity{SourceIP: "127.0.0.1"},
	}
	doc, err := json.Marshal(e)
	if err != nil {
		return http.StatusInternalServerError
	}
	result, err := g.host.Invoke(ctx, g.function, doc)
	if err != nil || result.Error != "" {
		return http.StatusInternalServerError
	}
	var a events.APIGatewayProxyResponse
	if err := json.Unmarshal(result.Payload, &a); err != nil || a.StatusCode == 0 {
		return http.StatusInternalServerError
	}
	return a.StatusCode
}

// find gives an open connection, or answers that it has gone.
func (g *SocketGateway) find(w http.ResponseWriter, r *http.Request) *connection {
	g.mu.Lock()
	c := g.open[r.PathValue("id")]
	g.mu.Unlock()
	if c == nil {
		refuseManagement(w, http.StatusGone, "GoneException")
	}
	return c
}

func refuseManagement(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("X-Amzn-Errortype", kind)
	w.WriteHeader(status)
}

// post is the management API's PostToConnection.
func (g *SocketGateway) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuseManagement(w, http.StatusBadRequest, "BadRequestException")
		return
	}
	if len(body) > maxMessage {
		refuseManagement(w, http.StatusRequestEntityTooLarge, "PayloadTooLargeException")
		return
	}
	c := g.find(w, r)
	if c == nil {
		return
	}
	if c.conn.Write(r.Context(), websocket.MessageText, body) != nil {
		refuseManagement(w, http.StatusGone, "GoneException")
		return
	}
	g.mu.Lock()
	g.posted = append(g.posted, string(body))
	g.mu.Unlock()
}

// describe is the management API's GetConnection.
func (g *SocketGateway) describe(w http.ResponseWriter, r *http.Request) {
	if c := g.find(w, r); c != nil {
		w.Header().Set("Content-Type", "application/json")
		since := c.since.UTC().Format(time.RFC3339)
		_, _ = fmt.Fprintf(w, `{"connectedAt":%q,"lastActiveAt":%q,"identity":{"sourceIp":"127.0.0.1","userAgent":%q}}`, since, since, c.agent)
	}
}

// remove is the management API's DeleteConnection.
func (g *SocketGateway) remove(w http.ResponseWriter, r *http.Request) {
	if c := g.find(w, r); c != nil {
		_ = c.conn.CloseNow() // closed already is as good
		w.WriteHeader(http.StatusNoContent)
	}
}
