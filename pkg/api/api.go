// Package api is Slipway's HTTP interface: the /v1 endpoints for people and
// tools, those of delegates, and the OpenAPI description generated from them.
//
// A handler decodes, checks the caller's scope, makes one call and encodes.
// What the call means is pkg/catalog's (saved documents) and pkg/execution's
// (what runs). This is the only place that knows HTTP statuses.
package api

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit/stream"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/gitops/mirror"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/rate"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

// Config is what the API needs.
type Config struct {
	Store      store.Store
	Catalog    *catalog.Catalog
	Files      *filestore.Files
	Executions *execution.Service
	Tasks      *execution.Tasks
	Ledger     *ledger.Ledger
	Launch     *launch.Launcher
	Issuer     *issuer.Issuer
	Triggers   *firing.Service
	GitOps     *mirror.Mirror
	Login      *login.Desk         // logs people in by providers; nil: that is served elsewhere
	Stream     *stream.Streamer    // tells how far the audit trail has come to its destinations
	Hub        *Hub                // wakes delegates; the engine has the same one. nil: sockets are served elsewhere
	Feed       *Feed               // tells of changed executions; the engine has the same one. nil: answers are sent whole
	Viewers    store.Viewers       // knows pages that hear of executions over WebSockets; nil: they hear by streams
	Intake     *Intake             // bounds the bodies that are read at once; nil: requests come whole, one at a time
	Work       *Work               // divides the processor among projects; nil: there is one request at a time
	Timing     protocol.Registered // what delegates are told
	Now        func() time.Time
	Log        *slog.Logger
	Version    string         // of Slipway
	Account    string         // whose IP allow lists say from where people log in
	Proxies    []netip.Prefix // who says by X-Forwarded-For for whom it asks
	Rates      rate.Rates     // how often callers ask
	LetAllIn   bool           // whom the IP allow lists keep out, too, so that they can be mended
	// Disk tells of the room where a server keeps its state; nil: it has no disk.
	Disk func() (free, total int64, err error)
}

// Server answers the API's requests.
type Server struct {
	Config
	station   *station
	saved     *documents
	steering  *steering
	kept      kept
	mux       *http.ServeMux
	endpoints []func(huma.API) // each registers one
	grants    *grants.Reader   // what callers may do
	gate      gate
	rates     rates
	root      http.Handler
}

// New makes a Server.
func New(cfg Config) *Server {
	s := empty(cfg)
	s.entities()
	s.entitySets()
	s.templates()
	s.secrets()
	s.files()
	s.inputs()
	s.executions()
	searchEndpoint(s)
	waiting(s)
	s.nodes()
	s.approvalLinks()
	attestations(s)
	s.watching()
	hints(s)
	s.delegates()
	s.tokens()
	foundTokens(s)
	accessEndpoints(s)
	consoleSessions(s)
	loginProviders(s)
	s.audits()
	auditStreams(s)
	s.delegateLife()
	s.delegateTasks()
	s.delegateWatches()
	s.instances()
	provisioners(s)
	gitOpsAgents(s)
	gitOpsApplications(s)
	gitOpsSets(s)
	gitOpsDocuments(s)
	delegateGitOps(s)
	s.versions()
	s.probes()
	s.health()
	identityProvider(s)
	s.triggers()
	freezes(s)
	settingsEndpoint(s)
	evaluations(s)
	scimEndpoints(s)
	s.webhooks()
	if s.Hub != nil {
		s.mux.HandleFunc("GET /v1/delegate/{id}/socket", s.socket)
	}
	s.mux.HandleFunc("GET /openapi.json", s.openAPI)
	s.schemas()
	return s
}

// NewWebhooks makes a Server that takes in what Git hosts and others send, and
// has no other endpoint.
func NewWebhooks(cfg Config) *Server {
	s := empty(cfg)
	s.webhooks()
	return s
}

// NewLogins makes a Server that logs people in by identity providers, and has no
// other endpoint.
func NewLogins(cfg Config) *Server {
	s := empty(cfg)
	loginProviders(s)
	return s
}

// empty is a Server without endpoints.
func empty(cfg Config) *Server {
	s := &Server{
		Config: cfg, mux: http.NewServeMux(), grants: grants.New(cfg.Store.Entities), kept: kept{Store: cfg.Store.Keys, Now: cfg.Now},
		station: &station{Store: cfg.Store, Tasks: cfg.Tasks, Ledger: cfg.Ledger, Triggers: cfg.Triggers, GitOps: cfg.GitOps, Catalog: cfg.Catalog, Timing: cfg.Timing, Now: cfg.Now, Log: cfg.Log},
		saved:   &documents{Store: cfg.Store.Entities, Catalog: cfg.Catalog, Launch: cfg.Launch},
	}
	s.steering = &steering{
		Store: cfg.Store, Launch: cfg.Launch, Executions: cfg.Executions, Feed: cfg.Feed, Work: cfg.Work, Now: cfg.Now, Log: cfg.Log, saved: s.saved, kept: s.kept,
	}
	s.gate = gate{Store: cfg.Store, Grants: s.grants, Account: cfg.Account, Proxies: cfg.Proxies, LetAllIn: cfg.LetAllIn, Now: cfg.Now, Log: cfg.Log}
	s.rates = newRates(cfg.Rates, cfg.Now)
	s.mux.HandleFunc("/", s.nowhere)
	s.root = aliased(s.identify(s.guard(paced(s.gate.locate(s.authenticate(s.take(s.project(s.mux))))))))
	return s
}

// ServeHTTP answers one request (http.Handler).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.root.ServeHTTP(w, r) }

// nowhere answers what no endpoint matches.
func (s *Server) nowhere(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, notFound("no endpoint %s %s", r.Method, r.URL.Path))
}
