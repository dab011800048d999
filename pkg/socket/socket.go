// Package socket is the WebSocket of delegates and of the console's pages where
// API Gateway holds it: what a function does when one connects, how a delegate is
// woken, and how pages are told that executions have changed.
//
// A connection promises nothing: who misses a word finds out by its poll or
// its heartbeat. What delegates claim and report, and what pages show, goes over
// HTTPS to pkg/api.
package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi/types"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/live"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// Lobby lets delegates and pages in: it answers the routes of the WebSocket API.
type Lobby struct {
	Account     string // of the installation
	Store       store.Store
	Connections store.Connections
	Viewers     store.Viewers
	Now         func() time.Time
	Log         *slog.Logger
}

// Handle answers one event. $connect needs a delegate token that has
// registered the delegate of the query, or a page's ticket; what comes later is only
// to keep the connection open. With $disconnect a delegate's silence no longer means
// that it is there.
func (l *Lobby) Handle(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
	switch e.RequestContext.RouteKey {
	case "$connect":
	case "$disconnect":
		return events.APIGatewayProxyResponse{StatusCode: 200}, l.leave(ctx, e.RequestContext.ConnectionID)
	default:
		return events.APIGatewayProxyResponse{StatusCode: 200}, nil
	}
	enter := l.enter
	if e.QueryStringParameters["ticket"] != "" {
		enter = l.view
	}
	err := enter(ctx, e)
	status := 200
	switch fault.CodeOf(err) {
	case "":
	case fault.Unauthenticated, fault.ExpiredToken:
		status = 401
	case fault.Forbidden, fault.NotFound, fault.Invalid:
		status = 403
	default:
		return events.APIGatewayProxyResponse{}, fmt.Errorf("let somebody in: %w", err)
	}
	if err != nil {
		l.Log.WarnContext(ctx, "turned a delegate or a page away", "connection", e.RequestContext.ConnectionID, "error", err)
	}
	return events.APIGatewayProxyResponse{StatusCode: status}, nil
}

func (l *Lobby) enter(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) error {
	t, err := access.Verify(ctx, l.Store.Keys, bearer(e.Headers), l.Now())
	if err != nil {
		return err
	}
	id := e.QueryStringParameters["delegate"]
	if t.Kind != store.TokenDelegate || id == "" {
		return fault.New(fault.Forbidden, "a %s token asks for the socket of delegate %q", t.Kind, id)
	}
	d, err := l.Store.Delegate(ctx, t.Scope.Account, id)
	if err == nil && d.TokenID != t.ID {
		err = fault.New(fault.Forbidden, "delegate %s registered with another token", id)
	}
	if err != nil {
		return err
	}
	line, _ := strconv.ParseInt(e.QueryStringParameters["line"], 10, 64) // older delegates don't number them
	return l.Connections.PutConnection(ctx, store.Connection{ID: e.RequestContext.ConnectionID, Delegate: id, Scope: t.Scope, Line: max(line, 0), Opened: l.Now()})
}

// view lets a page in that shows a ticket. A browser can't send a token here, nor a
// cookie: the socket has another host than the page.
func (l *Lobby) view(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) error {
	v, err := live.Take(ctx, l.Store.Keys, e.QueryStringParameters["ticket"], header(e.Headers, "Origin"), l.Now())
	if err != nil {
		return err
	}
	v.ID, v.Address, v.Opened = e.RequestContext.ConnectionID, e.RequestContext.Identity.SourceIP, l.Now()
	return l.Viewers.PutViewer(ctx, v)
}

// leave takes in that a connection has ended. One that the delegate has
// replaced by another is of no interest.
func (l *Lobby) leave(ctx context.Context, connection string) error {
	page, err := l.Viewers.DeleteViewer(ctx, l.Account, connection)
	if err != nil {
		return fmt.Errorf("forget the connection of a page: %w", err)
	}
	if page {
		return nil
	}
	all, err := l.Connections.Connections(ctx, l.Account)
	if err != nil {
		return fmt.Errorf("find the delegate of a connection: %w", err)
	}
	for _, c := range all {
		if c.ID != connection {
			continue
		}
		if err := l.Connections.DeleteConnection(ctx, c); err != nil {
			return fmt.Errorf("forget the connection of delegate %s: %w", c.Delegate, err)
		}
		return l.Store.UnplugDelegate(ctx, l.Account, c.Delegate, c.Line, l.Now())
	}
	return nil
}

// bearer is the token in the headers.
func bearer(headers map[string]string) string {
	scheme, token, _ := strings.Cut(header(headers, "Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// header is one of the headers, whose names come in any case.
func header(headers map[string]string, name string) string {
	for n, value := range headers {
		if strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// Waker wakes delegates through API Gateway (engine.Waker).
type Waker struct {
	connections store.Connections
	gateway     *apigatewaymanagementapi.Client
	now         func() time.Time
	log         *slog.Logger
}

// NewWaker makes a Waker; endpoint is the WebSocket API's, https://... with
// the stage.
func NewWaker(c store.Connections, gateway *apigatewaymanagementapi.Client, now func() time.Time, log *slog.Logger) *Waker {
	return &Waker{connections: c, gateway: gateway, now: now, log: log}
}

const (
	// wakeTimeout bounds a wake-up. A function is billed while it waits, and
	// the poll covers what is lost.
	wakeTimeout = 2 * time.Second
	wakeAtOnce  = 16
	// opening is how long a connection may be known here before words reach it.
	// API Gateway gives $connect half a minute, and says until its answer that the
	// connection is gone; the rest is for clocks that differ.
	opening = time.Minute
)

// Wake tells every connected delegate that may have work of the scope that
// there is some.
func (w *Waker) Wake(ctx context.Context, scope ref.Scope) {
	w.tell(ctx, scope.Account, protocol.Wake{Type: "work"}, func(c store.Connection) bool { return c.Scope.Covers(scope) })
}

// Look tells every connected delegate that may watch in the scope that there may
// be something new to watch.
func (w *Waker) Look(ctx context.Context, scope ref.Scope) {
	w.tell(ctx, scope.Account, protocol.Wake{Type: "watch"}, func(c store.Connection) bool { return c.Scope.Covers(scope) })
}

// Cancel tells a delegate to stop a task.
func (w *Waker) Cancel(ctx context.Context, account, delegate string, id task.ID) {
	w.tell(ctx, account, protocol.Wake{Type: "cancel", Task: id}, func(c store.Connection) bool { return c.Delegate == delegate })
}

// News tells a delegate that there is news for the GitOps agent that it is, too.
func (w *Waker) News(ctx context.Context, account, delegate string) {
	w.tell(ctx, account, protocol.Wake{Type: "news"}, func(c store.Connection) bool { return c.Delegate == delegate })
}

func (w *Waker) tell(ctx context.Context, account string, message protocol.Wake, whom func(store.Connection) bool) {
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	doc, err := json.Marshal(message)
	if err != nil {
		w.log.ErrorContext(ctx, "encode a wake-up", "error", err)
		return
	}
	all, err := w.connections.Connections(ctx, account)
	if err != nil {
		w.log.WarnContext(ctx, "nobody was woken", "error", err)
		return
	}
	var calls errgroup.Group
	calls.SetLimit(wakeAtOnce)
	for _, c := range all {
		if whom(c) {
			calls.Go(func() error {
				w.send(ctx, c, doc)
				return nil
			})
		}
	}
	_ = calls.Wait() // send logs
}

// send says a word over one connection, and forgets the connection if it is
// no more. One that is only opening is kept, or nobody would know of it once it is
// open; its delegate looks for work then by itself.
func (w *Waker) send(ctx context.Context, c store.Connection, doc []byte) {
	gone, err := post(ctx, w.gateway, c.ID, doc)
	if gone {
		if w.now().Sub(c.Opened) < opening {
			return
		}
		err = w.connections.DeleteConnection(ctx, c)
	}
	if err != nil {
		w.log.WarnContext(ctx, "a delegate wasn't woken", "delegate", c.Delegate, "error", err)
	}
}

// post says something over a connection; gone: there is none.
func post(ctx context.Context, gateway *apigatewaymanagementapi.Client, id string, doc []byte) (gone bool, err error) {
	_, err = gateway.PostToConnection(ctx, &apigatewaymanagementapi.PostToConnectionInput{ConnectionId: &id, Data: doc})
	var is *types.GoneException
	if errors.As(err, &is) {
		return true, nil
	}
	return false, err
}

// Address is the URL at which delegates connect: wss:// for the management
// endpoint https://.
func Address(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("the WebSocket API's endpoint: %w", err)
	}
	u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	return u.String(), nil
}
