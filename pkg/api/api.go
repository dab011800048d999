// Package api is Slipway's HTTP interface: the /v1 endpoints for people and
// tools, those of delegates, and the OpenAPI description generated from them.
//
// A handler decodes, checks the caller's scope, makes one call and encodes.
// What the call means is pkg/catalog's (saved documents) and pkg/execution's
// (what runs). This is the only place that knows HTTP statuses.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

// Config is what the API needs.
type Config struct {
	Store      store.Store
	Catalog    *catalog.Catalog
	Executions *execution.Service
	Ledger     *ledger.Ledger
	Triggers   *firing.Service
	Hub        *Hub            // wakes delegates; the engine has the same one. nil: sockets are served elsewhere
	Feed       *Feed           // tells of changed executions; the engine has the same one. nil: answers are sent whole
	Timing     task.Registered // what delegates are told
	Now        func() time.Time
	Log        *slog.Logger
	Version    string // of Slipway
}

// Server answers the API's requests.
type Server struct {
	Config
	api  huma.API
	root http.Handler
}

// New makes a Server.
func New(cfg Config) *Server {
	s, mux := empty(cfg)
	s.entities()
	s.templates()
	s.secrets()
	s.inputs()
	s.executions()
	s.nodes()
	s.approvalLinks()
	s.watching()
	s.delegates()
	s.tokens()
	s.audits()
	s.delegateLife()
	s.delegateTasks()
	s.delegateWatches()
	s.instances()
	s.triggers()
	s.webhooks()
	if s.Hub != nil {
		mux.HandleFunc("GET /v1/delegate/{id}/socket", s.socket)
	}
	mux.HandleFunc("GET /openapi.json", s.openAPI)
	s.schemas(mux)
	tidy(s.api.OpenAPI())
	return s
}

// NewWebhooks makes a Server that takes in what Git hosts and others send, and
// has no other endpoint: it is there in no time.
func NewWebhooks(cfg Config) *Server {
	s, _ := empty(cfg)
	s.webhooks()
	return s
}

// empty is a Server without endpoints.
func empty(cfg Config) (*Server, *http.ServeMux) {
	s := &Server{Config: cfg}
	mux := http.NewServeMux()
	s.api = humago.New(mux, description(cfg.Version))
	s.api.UseMiddleware(translate)
	mux.HandleFunc("/", s.nowhere)
	s.root = s.identify(s.guard(s.authenticate(mux)))
	return s, mux
}

// ServeHTTP answers one request (http.Handler).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.root.ServeHTTP(w, r) }

// handle registers an endpoint. Its errors become problems with a code.
func handle[I, O any](s *Server, op huma.Operation, f func(context.Context, *I) (*O, error)) {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = &huma.Response{
		Description: "What went wrong",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[Problem](s)}},
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
}

// schemaOf refers to the schema of a type.
func schemaOf[T any](s *Server) *huma.Schema {
	return s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// nothing is the answer of an endpoint that only says that it was done.
type nothing struct{}

// nowhere answers what no endpoint matches.
func (s *Server) nowhere(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, notFound("no endpoint %s %s", r.Method, r.URL.Path))
}
