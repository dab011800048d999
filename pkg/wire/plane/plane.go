// Package plane joins the parts of the control plane that don't depend on
// where it runs: the engine, the use cases and the API, over a store and
// something that runs state machines.
//
// It chooses nothing: pkg/wire brings SQLite, the embedded state machines and
// a delegate, pkg/wire/aws brings DynamoDB and Step Functions.
package plane

import (
	"cmp"
	"log/slog"
	"time"
	_ "time/tzdata" // schedules and deadlines name zones, which a function's or a container's image may lack

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify"
	"github.com/slipway-cd/slipway/pkg/notify/send"
	"github.com/slipway-cd/slipway/pkg/repair"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/trace"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

// Account is the one account of an installation.
const Account = "default"

// Parts are what differs from host to host.
type Parts struct {
	Store  store.Store
	Runner statemachine.Runner
	Waker  engine.Waker
	// Settle returns when all that can be read is on disk; nil: it always is.
	Settle func() error
	Master secret.Master // opens and closes secrets
	// Heartbeat is how long a running task may give no sign of life; 0: 30 s.
	Heartbeat time.Duration
	// NoDelegateAfter is how long a task waits for a delegate to become
	// eligible; 0: 5 min. One that is eligible gets twice that to claim it.
	NoDelegateAfter time.Duration
	// Live are the open sockets and streams; nil where answers are sent whole,
	// as by a Lambda function.
	Live *Live
	// Socket is where delegates open their WebSocket; empty: at the API.
	Socket string
	// Poll is how often a connected delegate looks for work that it wasn't
	// woken for; 0: 30 s.
	Poll    time.Duration
	Mail    *task.MailServer // nil: no mail can be sent
	Limits  engine.Limits    // on executions at the same time
	Trace   *trace.Recorder  // nil makes no spans
	Version string
	Log     *slog.Logger
}

// Live is what only a process that stays can have.
type Live struct {
	Hub    *api.Hub
	Feed   *api.Feed
	Intake *api.Intake
	Work   *api.Work
	// Disk tells of the room where the store is.
	Disk func() (free, total int64, err error)
}

// Plane is the control plane, put together.
type Plane struct {
	Engine     *engine.Handler
	Catalog    *catalog.Catalog
	Executions *execution.Service
	Triggers   *firing.Service
	Repair     *repair.Repairer
	Feed       *feed.Reader
	Notifier   *notify.Notifier

	api api.Config
}

// defaults are the times that delegates are given (semantics/pipeline §12.3).
func (p *Parts) defaults() {
	if p.Heartbeat == 0 {
		p.Heartbeat = 30 * time.Second
	}
	if p.NoDelegateAfter == 0 {
		p.NoDelegateAfter = 5 * time.Minute
	}
	if p.Log == nil {
		p.Log = slog.Default()
	}
}

// New puts the parts together.
func New(p Parts) *Plane {
	p.defaults()
	keeper := secret.New(p.Master, p.Store, time.Now)
	var hub *api.Hub
	var live *api.Feed
	var intake *api.Intake
	var work *api.Work
	var disk func() (free, total int64, err error)
	var changed func(string)
	if p.Live != nil {
		hub, live, changed = p.Live.Hub, p.Live.Feed, p.Live.Feed.Changed
		intake, work, disk = p.Live.Intake, p.Live.Work, p.Live.Disk
	}
	handler := engine.NewHandler(engine.Config{
		Store: p.Store, Runner: p.Runner, Waker: p.Waker, Steps: builtin.Engine(), Types: builtin.Types(), Now: time.Now, Log: p.Log,
		Mail: p.Mail, Limits: p.Limits,
		Windows: engine.Windows{Heartbeat: p.Heartbeat, NoOne: p.NoDelegateAfter, Unclaimed: 2 * p.NoDelegateAfter},
		Changed: changed, Trace: p.Trace,
	})
	places := ledger.New(ledger.Config{Store: p.Store, Secret: keeper, Now: time.Now})
	executions := execution.New(execution.Config{
		Store: p.Store, Runner: p.Runner, Engine: handler, Secret: keeper, Ledger: places, Lease: p.Heartbeat, Now: time.Now, Log: p.Log,
	})
	saved := catalog.New(catalog.Config{Store: p.Store, Secret: keeper, Now: time.Now})
	triggers := firing.New(firing.Config{Account: Account, Store: p.Store, Executions: executions, Secret: keeper, Now: time.Now, Log: p.Log})
	handler.StartChained = executions.StartChained
	return &Plane{
		Engine: handler, Catalog: saved, Executions: executions, Triggers: triggers,
		// In a function, what listens on loopback is the function's own runtime.
		Notifier: notify.New(notify.Config{
			Executions: p.Store, Entities: p.Store, Sent: p.Store, Engine: handler, Secret: keeper, Sender: send.New(mail.Sender{}, p.Live != nil), Mail: p.Mail, Alone: p.Live != nil,
			Settle: p.Settle, Now: time.Now, Log: p.Log,
		}),
		Repair: repair.New(repair.Config{
			Store: p.Store, Runner: p.Runner, Engine: handler, Executions: executions, Now: time.Now, Log: p.Log,
		}),
		Feed: feed.NewReader(p.Store, handler.Plan),
		api: api.Config{
			Store: p.Store, Catalog: saved, Files: filestore.New(filestore.Config{Store: p.Store, Now: time.Now}),
			Executions: executions, Ledger: places, Triggers: triggers, Hub: hub, Feed: live, Intake: intake, Work: work, Disk: disk, Now: time.Now, Log: p.Log, Version: p.Version,
			Timing: task.Registered{HeartbeatEvery: time.Minute, PollEvery: cmp.Or(p.Poll, 30*time.Second), Quiet: p.Poll, Socket: p.Socket},
		},
	}
}

// API makes the HTTP API. That describes every endpoint: functions that serve
// none don't wait for it at each cold start.
func (p *Plane) API() *api.Server { return api.New(p.api) }

// Webhooks makes the part of the HTTP API that takes in deliveries.
func (p *Plane) Webhooks() *api.Server { return api.NewWebhooks(p.api) }
