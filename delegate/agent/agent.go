// Package agent is the long-running part of a delegate: it registers with the
// control plane, hears over a WebSocket that there is work, claims it over
// HTTPS, keeps its leases, sends logs and results, and stops gracefully.
//
// It only ever connects outwards. What a task does is its executor's (see
// delegate/executor); which tasks it may get is the control plane's.
//
//	socket loop ----wake----+
//	poll timer -------------+--> claim loop --> tasks --> logs, result
//	a place gets free ------+                     |
//	heartbeat loop: renews leases, carries cancels+
//	watch loop: asks with each poll which releases to watch --> watchers --> instances
package agent

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/journal"
	"github.com/slipway-cd/slipway/delegate/pullsecret"
	"github.com/slipway-cd/slipway/delegate/watchdog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// Config is what an agent needs.
type Config struct {
	URL     string // of the control plane, e.g. https://slipway.example.com
	Token   string // delegate token; its scope is the delegate's
	Name    string // replicas share one
	Host    string // empty: the machine's name
	Tags    []string
	Version string
	// Capacity is how many tasks run at once; 0 means 10.
	Capacity int
	Kinds    map[task.Kind]executor.Kind // what it does for each kind of task
	// PullSecret makes secrets that pull images; nil: tasks that need one fail.
	PullSecret pullsecret.Maker
	// Git fetches repositories whose files are part of a task's texts; nil: such
	// tasks fail.
	Git *gitfetch.Fetcher
	// HTTP carries every request, the WebSocket's included; nil makes one that
	// honours the proxies of the environment.
	HTTP *http.Client
	// TLS says how the server's certificate is checked where HTTP is nil; nil:
	// as the system does.
	TLS *tls.Config
	// Drain is how long running tasks may go on when the agent is told to stop;
	// 0 stops them at once.
	Drain time.Duration
	// Scratch is where tasks' scratch directories are made; empty: the system's
	// temporary directory.
	Scratch string
	// Journal is the folder in which processes of this delegate note what they
	// begin, for the next one if they are killed; empty: none does.
	Journal string
	Log     *slog.Logger // nil: the default logger
}

// Agent is one connected delegate. Its id is new at each start, so that tasks
// of an earlier life are never mistaken for its own.
type Agent struct {
	Config
	id  string
	api client

	// work asks the claim loop to look for tasks, beats the heartbeat loop to
	// look at its schedule. Each holds one signal: several are as good as one.
	// look asks the watch loop what to watch, news whoever follows News.
	work, beats, look, news chan struct{}
	// over asks the session loop to look whether sessions are.
	over chan struct{}

	mu       sync.Mutex
	timing   protocol.Registered
	running  map[task.ID]*running
	tasks    sync.WaitGroup
	backlog  bool // there may be more open tasks than there were free places
	draining bool
	// connected is whether the socket is open, so that polls are only for
	// wake-ups that got lost.
	connected bool
	line      int64         // counts sockets; the number of the latest
	beatAt    time.Time     // when the next heartbeat is due
	beatLast  time.Time     // when the last one was sent that arrived
	quiet     time.Duration // the silence that was announced then

	tools []string // that were found on the machine

	watching  watches
	claims    claims // the claim loop's
	lingering *lingering
	journal   *journal.Journal
	dog       *watchdog.Watchdog
}

// ID is what the agent registers by.
func (a *Agent) ID() string { return a.id }

// New makes an agent. It does nothing until Run.
func New(cfg Config) *Agent {
	if cfg.Capacity <= 0 {
		cfg.Capacity = 10
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.HTTP == nil {
		cfg.HTTP = newHTTP(cfg.Capacity, cfg.TLS)
	}
	if cfg.Host == "" {
		cfg.Host, _ = os.Hostname() // without a name it is found by its tags
	}
	cfg.Log = cfg.Log.With("delegate", cfg.Name)
	return &Agent{
		Config: cfg, id: rand.Text(),
		api:  client{http: cfg.HTTP, base: strings.TrimSuffix(cfg.URL, "/") + "/v1/delegate/", token: cfg.Token},
		work: make(chan struct{}, 1), beats: make(chan struct{}, 1), look: make(chan struct{}, 1), news: make(chan struct{}, 1), over: make(chan struct{}, 1),
		running:   map[task.ID]*running{},
		lingering: newLingering(),
		dog:       watchdog.New(cfg.Log),
	}
}

// Run works until ctx ends, then drains: it claims nothing more, gives
// running tasks the time of Config.Drain, stops the rest and says goodbye.
// It returns an error only if the control plane refuses the delegate.
func (a *Agent) Run(ctx context.Context) error {
	defer a.dog.Close()
	a.begin(ctx)
	if err := a.registerUntil(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	a.Log.InfoContext(ctx, "delegate is registered", "id", a.id, "host", a.Host, "tags", a.Tags, "capacity", a.Capacity)

	// Cancels and leases are needed until the last task has ended, so these
	// loops outlive ctx.
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var loops sync.WaitGroup
	loops.Go(func() { a.socketLoop(alive) })
	loops.Go(func() { a.heartbeatLoop(alive) })
	loops.Go(func() { a.watchLoop(ctx) })
	loops.Go(func() { a.sessionLoop(alive) })
	a.claimLoop(ctx, alive)
	a.disown(alive)
	a.drain(alive)
	if !a.lingering.end() {
		a.Log.WarnContext(ctx, "what goes on after its task didn't stop when told to", "after", stubborn)
	}
	stop()
	loops.Wait()
	a.goodbye(context.WithoutCancel(ctx))
	return nil
}

// registerUntil registers, again and again while the control plane can't be
// reached. A refusal is final.
func (a *Agent) registerUntil(ctx context.Context) error {
	for try := 0; ; try++ {
		err := a.register(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case fault.Is(err, fault.Unauthenticated), fault.Is(err, fault.Forbidden), fault.Is(err, fault.Invalid):
			return fmt.Errorf("register delegate %s: %w", a.Name, err)
		}
		a.Log.WarnContext(ctx, "can't register; will try again", "error", err)
		if err := pause(ctx, backOff(try)); err != nil {
			return err
		}
	}
}

func (a *Agent) register(ctx context.Context) error {
	in := protocol.Register{
		ID: a.id, Name: a.Name, Host: a.Host, Tags: a.Tags, Version: a.Version,
		Kinds: slices.Sorted(maps.Keys(a.Kinds)), Capacity: a.Capacity,
	}
	in.Machine, in.Tools = a.machine(ctx)
	var out protocol.Registered
	if err := a.api.post(ctx, "register", in, &out); err != nil {
		return err
	}
	if out.HeartbeatEvery <= 0 {
		out.HeartbeatEvery = time.Minute
	}
	if out.PollEvery <= 0 {
		out.PollEvery = 30 * time.Second
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timing = out
	a.beatLast = time.Now()
	a.beatAt = a.beatLast.Add(out.HeartbeatEvery)
	return nil
}

// known registers again if err says that the control plane has forgotten the
// delegate, e.g. because it was out of reach for long. The caller tries again
// after its usual pause.
func (a *Agent) known(ctx context.Context, err error) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := a.register(ctx); err != nil {
		return fmt.Errorf("register again: %w", err)
	}
	return fmt.Errorf("registered again: %w", err)
}

// stubborn is how long an executor may take to stop after it was told to.
const stubborn = 30 * time.Second

// drain lets running tasks end, for a time, and stops the others.
func (a *Agent) drain(ctx context.Context) {
	a.mu.Lock()
	a.draining = true
	left := len(a.running)
	a.beatAt = time.Now()
	a.mu.Unlock()
	signal(a.beats)

	ended := make(chan struct{})
	go func() { a.tasks.Wait(); close(ended) }()
	if left > 0 {
		a.Log.InfoContext(ctx, "delegate stops; waiting for running tasks", "tasks", left, "grace", a.Drain)
	}
	if within(ended, a.Drain) {
		return
	}
	a.cancelAll(executor.ErrDraining)
	if !within(ended, stubborn) {
		a.Log.ErrorContext(ctx, "tasks didn't stop when told to", "after", stubborn)
	}
}

// goodbye tells the control plane that the delegate is gone; without it, it
// would be found out by the lack of heartbeats.
func (a *Agent) goodbye(ctx context.Context) {
	if err := a.api.call(ctx, http.MethodDelete, a.id, nil, nil); err != nil {
		a.Log.WarnContext(ctx, "can't say goodbye", "error", err)
		return
	}
	if err := a.journal.Remove(); err != nil {
		a.Log.WarnContext(ctx, "can't remove the journal", "error", err)
	}
	a.Log.InfoContext(ctx, "delegate has stopped")
}

// signal leaves a signal unless there is one already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// within says whether done is closed before d is over.
func within(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		select { // both at once: done counts
		case <-done:
			return true
		default:
			return false
		}
	}
}
