// Package plane joins the parts of the control plane that don't depend on
// where it runs: the engine and the use cases, over a store and something that
// runs state machines.
//
// It chooses nothing: pkg/wire brings SQLite, the embedded state machines and
// a delegate, pkg/wire/aws brings DynamoDB and Step Functions. Both put the API
// before it.
package plane

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"
	_ "time/tzdata" // schedules and deadlines name zones, which a function's or a container's image may lack

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/audit/stream"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/gitops/mirror"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify"
	"github.com/slipway-cd/slipway/pkg/notify/send"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/rate"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/repair"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
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
	// URL is where clouds reach the API, see issuer.Config.
	URL string
	// Heartbeat is how long a running task may give no sign of life; 0: 30 s.
	Heartbeat time.Duration
	// NoDelegateAfter is how long a task waits for a delegate to become
	// eligible; 0: 5 min. One that is eligible gets twice that to claim it.
	NoDelegateAfter time.Duration
	// Alone says that one process is all of it, and stays: nobody else listens
	// on its loopback, and nobody else sends its notifications.
	Alone bool
	// Changed is told of each execution that has changed; nil: nobody looks on.
	Changed func(execution string)
	// Socket is where delegates open their WebSocket; empty: at the API.
	Socket string
	// Viewers knows the pages that hear of executions over WebSockets; nil: they hear by
	// streams of the API.
	Viewers store.Viewers
	// Poll is how often a connected delegate looks for work that it wasn't
	// woken for; 0: 30 s.
	Poll time.Duration
	// GitOpsEvery is between the reports of a GitOps agent, and between its
	// questions; 0: 10 s and 30 s.
	GitOpsEvery time.Duration
	// Login asks identity providers; nil: others do it.
	Login *login.Protocols
	// NoDirectory says why no LDAP directory can be asked; empty: one can.
	NoDirectory string
	Mail        *mail.Server    // nil: no mail can be sent
	Limits      engine.Limits   // on executions at the same time
	Rates       rate.Rates      // how often callers ask
	Trace       *trace.Recorder // nil makes no spans
	// Bucket puts a part of the audit trail into a destination's; nil: none can.
	Bucket func(ctx context.Context, to audit.Destination, key string, body []byte) error
	// AuditRetention is how long audit records are kept; 0: for ever.
	AuditRetention time.Duration
	// Policies evaluates governance policies; nil: none can be saved.
	Policies policy.Engine
	Version  string
	Log      *slog.Logger
}

// Plane is the control plane, put together.
type Plane struct {
	Engine     *engine.Handler
	Catalog    *catalog.Catalog
	Files      *filestore.Files
	Launch     *launch.Launcher
	Executions *execution.Service
	Tasks      *execution.Tasks
	Ledger     *ledger.Ledger
	Issuer     *issuer.Issuer
	Triggers   *firing.Service
	GitOps     *mirror.Mirror
	Login      *login.Desk // nil: others log people in by providers
	Repair     *repair.Repairer
	Feed       *feed.Reader
	Notifier   *notify.Notifier
	Stream     *stream.Streamer
	Parts      Parts
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
	policies := judge.New(judge.Config{Entities: p.Store.Entities, Evaluations: p.Store.Evaluations, Engine: p.Policies, Now: time.Now, Alone: p.Alone})
	handler := engine.NewHandler(engine.Config{
		Store: p.Store, Runner: p.Runner, Waker: p.Waker, Steps: builtin.Engine(), Types: builtin.Types(), Now: time.Now, Log: p.Log,
		Mail: p.Mail, Limits: p.Limits, Policies: policies,
		Windows: engine.Windows{Heartbeat: p.Heartbeat, NoOne: p.NoDelegateAfter, Unclaimed: 2 * p.NoDelegateAfter},
		Changed: p.Changed, Trace: p.Trace,
	})
	signs := issuer.New(issuer.Config{URL: p.URL, Account: Account, Store: p.Store, Secret: keeper, Now: time.Now})
	places := ledger.New(ledger.Config{Store: p.Store, Secret: keeper, Issuer: signs, Now: time.Now})
	documents := builtin.Options(ref.Scope{})
	if p.Policies != nil {
		documents.CheckRego = p.Policies.Check
	}
	starts := launch.New(launch.Config{Store: p.Store, Runner: p.Runner, Options: documents, Policies: policies, Now: time.Now})
	executions := execution.New(execution.Config{
		Store: p.Store, Launch: starts, Engine: handler, Types: documents.Types, Steps: builtin.Steps(), Secret: keeper, Sign: signs.SignDigest, Now: time.Now,
	})
	tasks := execution.NewTasks(execution.TasksConfig{
		Store: p.Store, Engine: handler, Types: documents.Types, Secret: keeper, Issuer: signs, Ledger: places, Lease: p.Heartbeat, Now: time.Now, Log: p.Log,
	})
	gitOps := mirror.New(mirror.Config{Store: p.Store, Secret: keeper, Options: documents, ReportMin: p.GitOpsEvery, PollEvery: p.GitOpsEvery, Quiet: p.Poll, News: p.Waker.News, Now: time.Now})
	leaves := login.Leaves{Store: p.Store, Now: time.Now}
	saved := catalog.New(catalog.Config{Store: p.Store, Secret: keeper, Options: documents, Policies: policies, Now: time.Now, NoDirectory: p.NoDirectory, Saved: func(ctx context.Context, keys ...store.EntityKey) error {
		return errors.Join(gitOps.Saved(ctx, keys...), leaves.Saved(ctx, keys...))
	}})
	var desk *login.Desk
	if p.Login != nil {
		desk = login.New(login.Config{Account: Account, Store: p.Store, Join: saved.Join, Secret: keeper, Protocols: *p.Login, NoPasswords: !p.Alone, URL: p.URL, Now: time.Now, Log: p.Log})
	}
	triggers := firing.New(firing.Config{Account: Account, Store: p.Store, Launch: starts, Engine: handler, Types: documents.Types, Secret: keeper, Stored: p.Store.Polls, Files: p.Store.Files, Issuer: signs, Connected: places.Connected, Look: p.Waker.Look, Now: time.Now, Log: p.Log})
	handler.StartChained = executions.StartChained
	// In a function, what listens on loopback is the function's own runtime.
	sender := send.New(mail.Sender{}, p.Alone)
	return &Plane{
		Engine: handler, Catalog: saved, Files: filestore.New(filestore.Config{Store: p.Store.Files, Now: time.Now}), Launch: starts, Executions: executions, Tasks: tasks,
		Ledger: places, Issuer: signs, Triggers: triggers, GitOps: gitOps, Login: desk, Parts: p,
		Notifier: notify.New(notify.Config{
			Executions: p.Store.Executions, Entities: p.Store.Entities, Sent: p.Store.Keys, Engine: handler, Secret: keeper, Sender: sender, Mail: p.Mail, Alone: p.Alone,
			Settle: p.Settle, Now: time.Now, Log: p.Log,
		}),
		Stream: stream.New(stream.Config{
			Account: Account, Store: p.Store, Secret: keeper, Post: sender.Send, Put: p.Bucket, Settle: p.Settle, Retention: p.AuditRetention, Now: time.Now, Log: p.Log,
		}),
		Repair: repair.New(repair.Config{
			Store: p.Store, Runner: p.Runner, Engine: handler, Launch: starts, Now: time.Now, Log: p.Log,
		}),
		Feed: feed.NewReader(p.Store.Executions, handler.Reader.Plan),
	}
}

// Timing is what delegates are told of the times that they keep.
func (p *Plane) Timing() protocol.Registered {
	return protocol.Registered{HeartbeatEvery: time.Minute, PollEvery: cmp.Or(p.Parts.Poll, 30*time.Second), Quiet: p.Parts.Poll, Socket: p.Parts.Socket}
}
