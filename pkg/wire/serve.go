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
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"golang.org/x/sync/errgroup"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/inprocess"
	"github.com/slipway-cd/slipway/delegate/pullsecret"
	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/audit/bucket"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/feed/webhook"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/login/ldap"
	"github.com/slipway-cd/slipway/pkg/login/oidc"
	"github.com/slipway-cd/slipway/pkg/login/saml"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/rate"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/statemachine/embedded"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/trace"
	"github.com/slipway-cd/slipway/pkg/trace/otlp"
	"github.com/slipway-cd/slipway/pkg/wire/door"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
	"github.com/slipway-cd/slipway/web"
)

// ServeConfig says how Serve runs.
type ServeConfig struct {
	Addr string // host:port; port 0 takes a free one
	Data string // the folder of the database and the key
	// TLSCert and TLSKey are files, in PEM; without them HTTP is spoken, off
	// loopback only if it is said to be Insecure.
	TLSCert, TLSKey string
	Insecure        bool
	// ACME gets a certificate for its Host, if it has one; its Cache is in the folder.
	ACME door.ACME
	// URL is where clouds reach the server; empty: it signs no tokens for them.
	URL string
	// Proxies are those that are believed for whom they ask. LetAllIn also lets in whom
	// the IP allow lists keep out.
	Proxies  []netip.Prefix
	LetAllIn bool
	// NewToken makes an API token even if this isn't the first start.
	NewToken bool
	// EmbeddedDelegate runs a delegate in the same process.
	EmbeddedDelegate bool
	Tags             []string // of the embedded delegate
	Capacity         int      // tasks that it runs at once; 0: 10
	// Kinds are what it does for each kind of task; what it keeps between tasks
	// is in the folder. HostKeys are those of hosts that it fetches from.
	Kinds    func(cache string) map[task.Kind]executor.Kind
	HostKeys gitfetch.HostKeys
	// GitOps is a GitOps agent beside the embedded delegate, until its context ends;
	// nil: none.
	GitOps func(ctx context.Context, client agent.Client, cache string) error
	// Heartbeat and NoDelegateAfter are plane.Parts'.
	Heartbeat       time.Duration
	NoDelegateAfter time.Duration
	// Mail is the server that Email steps and notifications send with.
	Mail    mail.Setting
	Limits  engine.Limits // on executions at the same time
	Rates   rate.Rates    // how often callers ask
	Version string
	Log     *slog.Logger
	// Traces sends traces to the endpoint of the OTEL_EXPORTER_OTLP_* variables.
	Traces bool
	// Events is the URL to which events are posted (events/README.md); none if
	// it is empty.
	Events string
	// AuditRetention is plane.Parts'. AWS reads the SDK's configuration, by which
	// parts of the audit trail get into buckets.
	AuditRetention time.Duration
	AWS            func(context.Context) (awssdk.Config, error)
	// Ready is told once the server answers.
	Ready func(Info)
}

// Info is what a started server tells.
type Info struct {
	URL string
	// Token is the API token that the first start makes, or one that
	// NewToken asks for; empty otherwise: only hashes are kept.
	Token string
}

func (c *ServeConfig) defaults() {
	if c.Capacity == 0 {
		c.Capacity = 10
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.AWS == nil {
		c.AWS = func(ctx context.Context) (awssdk.Config, error) { return config.LoadDefaultConfig(ctx) }
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
	m, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.db.Close()) }()
	cfg = m.cfg
	listener, url, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	token, err := m.firstToken(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := m.resume(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	cfg.Ready(Info{URL: url, Token: token})
	return m.run(ctx, listener)
}

// machine is the control plane on one machine.
type machine struct {
	cfg      ServeConfig
	db       *sqlitedb.DB
	store    *sqlite.Store
	machines *asl.Engine
	hub      *api.Hub
	changes  *api.Feed
	plane    *plane.Plane
	settled  settled
	server   *api.Server
	api      settledHandler
	traces   *trace.Recorder
}

// open makes the control plane over its data folder. Nothing runs yet.
func open(ctx context.Context, cfg ServeConfig) (*machine, error) {
	cfg.defaults()
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	db, err := sqlitedb.Open(ctx, filepath.Join(cfg.Data, "slipway.db"))
	if err != nil {
		return nil, err
	}
	m, err := newMachine(ctx, db, cfg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return m, nil
}

func newMachine(ctx context.Context, db *sqlitedb.DB, cfg ServeConfig) (*machine, error) {
	m := &machine{cfg: cfg, db: db, settled: settled{db}, hub: api.NewHub(), changes: api.NewFeed()}
	var err error
	if m.store, err = sqlite.New(ctx, db); err != nil {
		return nil, err
	}
	key, err := secret.LoadKey(filepath.Join(cfg.Data, "secret.key"))
	if err != nil {
		return nil, err
	}
	if err := issuer.CheckURL(cfg.URL); err != nil {
		return nil, err
	}
	server, err := cfg.Mail.Server()
	if err != nil {
		return nil, err
	}
	if cfg.Traces {
		if m.traces, err = otlp.New(ctx, db.Settle); err != nil {
			return nil, err
		}
	}
	definitions, err := embedded.Machines()
	if err != nil {
		return nil, err
	}
	m.machines, err = asl.Open(ctx, asl.Config{
		DB: db, Machines: definitions, Now: time.Now, Log: cfg.Log, Concurrency: 64, CallTimeout: time.Minute, // as the function on AWS
		Whose: newProjects(m.store.Executions).of,
		Functions: map[string]asl.Handler{embedded.Function: func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			answer, err := m.plane.Engine.Handle(ctx, in)
			if err != nil { // under a name that the machine's retries know
				return nil, &asl.Failure{Name: engine.ErrorName(err), Cause: err.Error()}
			}
			return answer, nil
		}},
	})
	if err != nil {
		return nil, err
	}
	m.plane = plane.New(plane.Parts{
		Store: m.store.Store, Runner: embedded.New(m.machines), Waker: m.settled.waker(m.hub), Settle: db.Settle, Master: key, URL: cfg.URL, Alone: true, Login: &login.Protocols{Tokens: oidc.New(true, time.Now), Assertions: saml.New(true, time.Now), Directory: ldap.New(true)}, Changed: m.changes.Changed,
		GitOpsEvery: gitOpsEvery, Mail: server, Policies: rego.New(), Limits: cfg.Limits, Heartbeat: cfg.Heartbeat, NoDelegateAfter: cfg.NoDelegateAfter, Bucket: bucket.New(cfg.AWS).Put, AuditRetention: cfg.AuditRetention, Trace: m.traces, Version: cfg.Version, Log: cfg.Log,
	})
	m.server = api.New(m.served())
	m.api = m.settled.handler(m.server)
	return m, nil
}

// gitOpsEvery is between the questions of a GitOps agent, which nothing wakes: a
// request costs nothing here, and who has asked for a sync waits for one.
const gitOpsEvery = time.Second

// served is what the API answers from.
func (m *machine) served() api.Config {
	p := m.plane
	return api.Config{
		Store: m.store.Store, Catalog: p.Catalog, Files: p.Files, Launch: p.Launch, Executions: p.Executions, Tasks: p.Tasks, Ledger: p.Ledger, Issuer: p.Issuer, Triggers: p.Triggers, GitOps: p.GitOps, Login: p.Login, Stream: p.Stream,
		Timing: p.Timing(), Now: time.Now, Log: p.Parts.Log, Version: m.cfg.Version, Account: plane.Account, Rates: m.cfg.Rates, Proxies: m.cfg.Proxies, LetAllIn: m.cfg.LetAllIn,
		Hub: m.hub, Feed: m.changes, Intake: api.NewIntake(), Work: api.NewWork(heavyAtOnce(), memoryFull), Disk: disk(m.cfg.Data),
	}
}

// heavyAtOnce is how many requests that take much are answered at once: some
// wait for the disk meanwhile.
func heavyAtOnce() int { return max(4*runtime.GOMAXPROCS(0), 8) }

// resume lets what was under way go on. An execution whose machine run the
// last process hadn't begun gets it now. One that can't be repaired keeps the
// others from nothing: the next start tries again.
func (m *machine) resume(ctx context.Context) error {
	if err := m.machines.Resume(ctx); err != nil {
		return err
	}
	if _, err := m.plane.Repair.Sweep(ctx, plane.Account, 0); err != nil {
		m.cfg.Log.ErrorContext(ctx, "couldn't repair every execution", "error", err)
	}
	return nil
}

// firstTokenID is the record by which a start knows that it isn't the first.
const firstTokenID = "FIRST"

// firstToken makes the API token of the first start; empty on later ones that
// don't ask for one.
func (m *machine) firstToken(ctx context.Context) (string, error) {
	_, err := m.store.Token(ctx, firstTokenID)
	if err == nil && !m.cfg.NewToken {
		return "", nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return "", err
	}
	t, text := access.Mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: plane.Account}, Name: "first", Actor: "admin"}, time.Now())
	if err := m.store.PutToken(ctx, t); err != nil {
		return "", err
	}
	t.ID, t.Revoked = firstTokenID, true // a mark only: nobody can present it
	return text, m.store.PutToken(ctx, t)
}

// run serves until ctx ends or a part fails.
func (m *machine) run(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: web.Handler(m.api), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(m.cfg.Log.Handler(), slog.LevelWarn),
	}
	g, running := errgroup.WithContext(ctx)
	drained := make(chan struct{})
	g.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	g.Go(func() error { return m.feed().Run(running) })
	g.Go(func() error { return m.plane.Triggers.Run(running) })
	g.Go(func() error { return m.plane.Stream.Run(running) })
	g.Go(func() error { return login.Sync{Desk: m.plane.Login}.Run(running) })
	g.Go(func() error {
		return notify.Reminder{Notifier: m.plane.Notifier, Account: plane.Account}.Run(running)
	})
	g.Go(func() error {
		defer close(drained)
		if !m.cfg.EmbeddedDelegate {
			return nil
		}
		return m.delegate(running)
	})
	g.Go(func() error {
		select {
		case <-running.Done():
			return nil
		case err := <-m.machines.Failed():
			return fmt.Errorf("the state machines stopped: %w", err) // a new start goes on from the disk
		case err := <-m.db.Failed():
			return err // as above
		}
	})
	g.Go(func() error {
		<-running.Done()
		<-drained // the delegate's last results still come in
		return m.stop(context.WithoutCancel(ctx), server)
	})
	err := g.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // a part was stopped before it had begun
		return nil
	}
	return err
}

// feed tells subscribers what happens.
func (m *machine) feed() *feed.Loop {
	l := &feed.Loop{
		Changes: m.store.Changes, Reader: m.plane.Feed, Subscribers: []feed.Subscriber{m.plane.Notifier.Subscriber()}, Now: time.Now, Log: m.cfg.Log,
	}
	if m.cfg.Log.Enabled(context.Background(), slog.LevelDebug) {
		l.Subscribers = append(l.Subscribers, feed.Logged(m.cfg.Log)) // it would read every change for nothing
	}
	if m.cfg.Events != "" {
		l.Subscribers = append(l.Subscribers, webhook.Subscriber(m.cfg.Events))
	}
	for i, s := range l.Subscribers {
		l.Subscribers[i] = m.settled.subscriber(s)
	}
	return l
}

// stop ends what answers requests, then what they have started.
func (m *machine) stop(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	m.hub.Close()
	m.changes.Close()
	err := server.Shutdown(ctx)
	return errors.Join(err, m.machines.Close(ctx), m.traces.Close(ctx))
}

// embeddedTokenID is that of the embedded delegate's token: each start makes
// another in its place, so that it may speak for what ran before it.
const embeddedTokenID = "EMBEDDED"

// delegate runs the embedded delegate, over the same protocol as any other.
func (m *machine) delegate(ctx context.Context) error {
	t, text := access.Mint(access.Grant{
		Kind: store.TokenDelegate, Scope: ref.Scope{Account: plane.Account}, Name: "embedded", Actor: "embedded delegate", ID: embeddedTokenID,
	}, time.Now())
	if err := m.store.PutToken(ctx, t); err != nil {
		return err
	}
	defer func() { // the next start makes another
		t.Revoked = true
		if err := m.store.PutToken(context.WithoutCancel(ctx), t); err != nil {
			m.cfg.Log.WarnContext(ctx, "the embedded delegate's token wasn't revoked", "error", err)
		}
	}()
	cache := filepath.Join(m.cfg.Data, "cache")
	here := &http.Client{Transport: inprocess.RoundTripper(m.api)}
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if m.cfg.GitOps != nil {
		beside.Go(func() {
			err := m.cfg.GitOps(ctx, agent.NewClient(agent.ClientConfig{URL: "http://embedded", Token: text, HTTP: here}), filepath.Join(cache, "gitops"))
			if ctx.Err() == nil { // all else goes on
				m.cfg.Log.ErrorContext(ctx, "the GitOps agent ended", "error", err)
			}
		})
	}
	a := agent.New(agent.Config{
		URL: "http://embedded", Token: text, Name: "embedded", Tags: m.cfg.Tags, Version: m.cfg.Version, Capacity: m.cfg.Capacity,
		PullSecret: pullsecret.New(), Git: gitfetch.New(filepath.Join(cache, "files"), m.cfg.HostKeys),
		Kinds:   m.cfg.Kinds(cache),
		HTTP:    here,
		Journal: filepath.Join(cache, "journal"),
		Drain:   grace / 2, Log: m.cfg.Log,
	})
	return a.Run(ctx)
}
