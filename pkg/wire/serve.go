// Package wire puts the parts together for mains: the whole control plane on
// one machine, over SQLite and the embedded state-machine engine.
//
// It holds no rules; nothing in the parts that it joins can tell which host
// they run on.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/inprocess"
	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/statemachine/embedded"
	"github.com/slipway-cd/slipway/pkg/step/builtin"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/trace"
)

// Account is the one account of a machine of its own.
const Account = "default"

// ServeConfig says how Serve runs.
type ServeConfig struct {
	Addr string // host:port; port 0 takes a free one
	Data string // the folder of the database and the key
	// EmbeddedDelegate runs a delegate in the same process.
	EmbeddedDelegate bool
	Tags             []string // of the embedded delegate
	Capacity         int      // tasks that it runs at once; 0: 10
	// Heartbeat is how long a running task may give no sign of life; 0: 30 s.
	Heartbeat time.Duration
	// NoDelegateAfter is how long a task waits for a delegate to become
	// eligible; 0: 5 min. One that is eligible gets twice that to claim it.
	NoDelegateAfter time.Duration
	Version         string
	Log             *slog.Logger
	// Traces sends traces to the endpoint of the OTEL_EXPORTER_OTLP_* variables.
	Traces bool
	// Ready is told once the server answers.
	Ready func(Info)
}

// Info is what a started server tells.
type Info struct {
	URL string
	// Token is the API token that the first start makes; empty later: only
	// its hash is kept.
	Token string
}

func (c *ServeConfig) defaults() {
	if c.Heartbeat == 0 {
		c.Heartbeat = 30 * time.Second
	}
	if c.NoDelegateAfter == 0 {
		c.NoDelegateAfter = 5 * time.Minute
	}
	if c.Capacity == 0 {
		c.Capacity = 10
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Ready == nil {
		c.Ready = func(Info) {}
	}
}

// grace is how long handlers, requests and running tasks may take to end.
const grace = 20 * time.Second

// Serve runs the control plane until ctx ends, then stops in order: no new
// requests, the embedded delegate drained, the engine, the database.
func Serve(ctx context.Context, cfg ServeConfig) (err error) {
	cfg.defaults()
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	db, err := sqlitedb.Open(ctx, filepath.Join(cfg.Data, "slipway.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	p, err := newPlane(ctx, db, cfg)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	token, err := p.firstToken(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := p.machines.Resume(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	cfg.Ready(Info{URL: "http://" + listener.Addr().String(), Token: token})
	return p.run(ctx, listener)
}

// plane is the control plane's parts.
type plane struct {
	cfg      ServeConfig
	store    *sqlite.Store
	machines *asl.Engine
	hub      *api.Hub
	feed     *api.Feed
	handler  http.Handler
	traces   *trace.Recorder
}

func newPlane(ctx context.Context, db *sqlitedb.DB, cfg ServeConfig) (*plane, error) {
	p := &plane{cfg: cfg, hub: api.NewHub(), feed: api.NewFeed()}
	var err error
	if p.store, err = sqlite.New(ctx, db); err != nil {
		return nil, err
	}
	key, err := secret.LoadKey(filepath.Join(cfg.Data, "secret.key"))
	if err != nil {
		return nil, err
	}
	keeper := secret.New(key, p.store, time.Now)
	if cfg.Traces {
		if p.traces, err = trace.OTLP(ctx); err != nil {
			return nil, err
		}
	}
	definitions, err := embedded.Machines()
	if err != nil {
		return nil, err
	}
	var handler *engine.Handler // made below: it needs the machines, and they need it
	p.machines, err = asl.Open(ctx, asl.Config{
		DB: db, Machines: definitions, Now: time.Now, Log: cfg.Log, Concurrency: 64,
		Functions: map[string]asl.Handler{embedded.Function: func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			return handler.Handle(ctx, in)
		}},
	})
	if err != nil {
		return nil, err
	}
	runner := embedded.New(p.machines)
	handler = engine.NewHandler(engine.Config{
		Store: p.store, Runner: runner, Waker: p.hub, Steps: builtin.Steps(), Now: time.Now, Log: cfg.Log,
		Windows: engine.Windows{Heartbeat: cfg.Heartbeat, NoOne: cfg.NoDelegateAfter, Unclaimed: 2 * cfg.NoDelegateAfter},
		Changed: p.feed.Changed, Trace: p.traces,
	})
	p.handler = api.New(api.Config{
		Store: p.store, Catalog: catalog.New(catalog.Config{Store: p.store, Secret: keeper, Now: time.Now}),
		Executions: execution.New(execution.Config{
			Store: p.store, Runner: runner, Engine: handler, Secret: keeper, Lease: cfg.Heartbeat, Now: time.Now, Log: cfg.Log,
		}),
		Hub: p.hub, Feed: p.feed, Now: time.Now, Log: cfg.Log, Version: cfg.Version,
		Timing: task.Registered{HeartbeatEvery: time.Minute, PollEvery: 30 * time.Second},
	})
	return p, nil
}

// firstTokenID is the record by which a start knows that it isn't the first.
const firstTokenID = "FIRST"

// firstToken makes the API token of the first start; empty on later ones.
func (p *plane) firstToken(ctx context.Context) (string, error) {
	_, err := p.store.Token(ctx, firstTokenID)
	if err == nil {
		return "", nil
	}
	if !fault.Is(err, fault.NotFound) {
		return "", err
	}
	t, text := access.Mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: Account}, Name: "first", Actor: "admin"}, time.Now())
	if err := p.store.PutToken(ctx, t); err != nil {
		return "", err
	}
	t.ID, t.Revoked = firstTokenID, true // a mark only: nobody can present it
	return text, p.store.PutToken(ctx, t)
}

// run serves until ctx ends or a part fails.
func (p *plane) run(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: p.handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(p.cfg.Log.Handler(), slog.LevelWarn)}
	g, running := errgroup.WithContext(ctx)
	drained := make(chan struct{})
	g.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		defer close(drained)
		if !p.cfg.EmbeddedDelegate {
			return nil
		}
		return p.delegate(running)
	})
	g.Go(func() error {
		<-running.Done()
		<-drained // the delegate's last results still come in
		return p.stop(context.WithoutCancel(ctx), server)
	})
	return g.Wait()
}

// stop ends what answers requests, then what they have started.
func (p *plane) stop(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	p.hub.Close()
	p.feed.Close()
	err := server.Shutdown(ctx)
	return errors.Join(err, p.machines.Close(ctx), p.traces.Close(ctx))
}

// delegate runs the embedded delegate, over the same protocol as any other.
func (p *plane) delegate(ctx context.Context) error {
	t, text := access.Mint(access.Grant{Kind: store.TokenDelegate, Scope: ref.Scope{Account: Account}, Name: "embedded", Actor: "embedded delegate"}, time.Now())
	if err := p.store.PutToken(ctx, t); err != nil {
		return err
	}
	defer func() { // the next start makes another
		t.Revoked = true
		if err := p.store.PutToken(context.WithoutCancel(ctx), t); err != nil {
			p.cfg.Log.WarnContext(ctx, "the embedded delegate's token wasn't revoked", "error", err)
		}
	}()
	a := agent.New(agent.Config{
		URL: "http://embedded", Token: text, Name: "embedded", Tags: p.cfg.Tags, Version: p.cfg.Version, Capacity: p.cfg.Capacity,
		Executors: delegate.Executors(filepath.Join(p.cfg.Data, "cache")), HTTP: &http.Client{Transport: inprocess.RoundTripper(p.handler)},
		Drain: grace / 2, Log: p.cfg.Log,
	})
	return a.Run(ctx)
}
