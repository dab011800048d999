// Package notify tells people and systems of what pipelines do, as the
// pipelines' rules say (semantics/pipeline §10).
//
// It hears of events from pkg/feed, which gives each at least once and loses
// none; no execution waits for it. Each message is sent once: that it was is
// kept in the store. Only a process that dies between a channel's answer and
// that record sends a message twice. What messages say is pkg/notify/message's,
// and tries and addresses are pkg/notify/send's.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify/message"
	"github.com/slipway-cd/slipway/pkg/notify/send"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Config is what a Notifier works with.
type Config struct {
	Executions store.Executions
	Entities   store.Entities // user groups
	Sent       store.Keys     // keeps what was sent
	Engine     *engine.Handler
	Secret     *secret.Keeper
	Sender     *send.Sender
	Mail       *mail.Server // nil: no mail can be sent. Its password refers to a secret.
	// Alone says that no other process sends, and that this one gets one event
	// after the other: then nobody needs to be kept from sending the same.
	Alone bool
	// Settle returns when all that can be read is on disk, which a message may
	// tell; nil: it always is.
	Settle func() error
	Now    func() time.Time
	Log    *slog.Logger
}

// Notifier sends notifications. It is for many goroutines.
type Notifier struct{ Config }

// New makes a Notifier.
func New(cfg Config) *Notifier {
	if cfg.Settle == nil {
		cfg.Settle = func() error { return nil }
	}
	return &Notifier{cfg}
}

// Subscriber hears events for the Notifier.
func (n *Notifier) Subscriber() feed.Subscriber {
	return feed.Subscriber{Name: "notify", Handle: n.Handle}
}

// atOnce is how many messages of one event are sent at once.
const atOnce = 8

// Handle sends the messages that are due after an event. A channel that
// doesn't take its message is logged and is no error: the event needn't come
// again.
func (n *Notifier) Handle(ctx context.Context, e feed.Event) error {
	types := message.Types(e)
	if len(types) == 0 {
		return nil
	}
	var x store.Execution
	var all []delivery
	var err error
	if e.Detail.Trigger != nil {
		x, all, err = n.outside(ctx, e, types)
	} else {
		x, all, err = n.inside(ctx, e, types)
	}
	if err != nil {
		return err
	}
	g := errgroup.Group{} // one message's trouble is none of the others'
	g.SetLimit(atOnce)
	for _, d := range all {
		g.Go(func() error {
			if err := n.deliver(ctx, d); err != nil {
				return fmt.Errorf("rule %s of pipeline %s: %w", d.rule.Known(), x.Pipeline, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// inside lists the messages that are due after an event of an execution.
func (n *Notifier) inside(ctx context.Context, e feed.Event, types []string) (store.Execution, []delivery, error) {
	x, err := n.Executions.Execution(ctx, e.Detail.Execution)
	if err != nil {
		return x, nil, err
	}
	p, err := n.Engine.Reader.Plan(ctx, x.PlanHash)
	if err != nil {
		return x, nil, fmt.Errorf("read the plan of execution %s: %w", x.ID, err)
	}
	all, err := n.due(ctx, x, p, e, types)
	return x, all, err
}

// delivery is one message to be sent.
type delivery struct {
	execution store.Execution
	node      plan.NodeID   // in whose context expressions are resolved
	pipeline  *yamldoc.Node // instead of both, if nothing runs; execution has its place
	event     feed.Event
	rule      entity.NotificationRule
	method    entity.NotificationMethod
	typ       string // of the event, as rules name it
	target    int    // of the method's channel
	number    int    // of the message among those of the rule
}

// due lists the messages that rules want after an event.
func (n *Notifier) due(ctx context.Context, x store.Execution, p *plan.Plan, e feed.Event, types []string) ([]delivery, error) {
	var out []delivery
	node, stage, step := p.Root.ID, "", ""
	if s := e.Detail.Stage; s != nil {
		node, stage = s.Node, written(p, s)
	}
	if s := e.Detail.Step; s != nil {
		node, step = s.Node, written(p, s)
	}
	// The rules were checked when the pipeline was saved and when the plan was made.
	for _, rule := range entity.NotificationRules(p.Pipeline, x.Scope, yamldoc.NewReport("")) {
		for _, typ := range types {
			if !message.Meets(rule, typ, stage, step) {
				continue
			}
			some, err := n.deliveries(ctx, delivery{execution: x, node: node, event: e, rule: rule, typ: typ})
			if err != nil {
				return nil, err
			}
			out = append(out, some...)
		}
	}
	return out, nil
}

// deliveries are the messages of a rule after an event: one for each target of
// its channel.
func (n *Notifier) deliveries(ctx context.Context, d delivery) ([]delivery, error) {
	methods, err := n.methods(ctx, d)
	if err != nil {
		return nil, err
	}
	var out []delivery
	for _, m := range methods {
		d.method = m
		for d.target = range message.Targets(m) {
			out = append(out, d)
			d.number++
		}
	}
	return out, nil
}

// written is a node's identifier as it stands in the pipeline, without what a
// looping strategy adds.
func written(p *plan.Plan, of *feed.Node) string {
	n := p.Node(of.Node)
	if n == nil {
		return of.ID
	}
	return n.Identifier[:len(n.Identifier)-len(n.Postfix())]
}

// deliver sends a message unless that was done. Its error is one after which
// the event should come again.
func (n *Notifier) deliver(ctx context.Context, d delivery) error {
	mine, err := n.claim(ctx, d.key())
	if err != nil || !mine {
		return err
	}
	err = n.send(ctx, d)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !hopeless(err) {
		return err
	}
	log := n.Log.With("execution", d.execution.ID, "rule", d.rule.Known(), "channel", d.rule.Method.Type.Value, "event", d.typ)
	if err != nil {
		log.WarnContext(ctx, "a notification wasn't sent", "error", err)
	} else {
		log.InfoContext(ctx, "a notification was sent")
	}
	return n.done(ctx, d.key())
}

// refusal is the error of a message that its channel didn't take, after all
// tries.
type refusal struct{ message string }

// Error says why.
func (r refusal) Error() string { return r.message }

// hopeless says whether an event needn't come again for an error: a person has
// to change something, or all tries have been made.
func hopeless(err error) bool {
	if r := (refusal{}); errors.As(err, &r) {
		return true
	}
	switch fault.CodeOf(err) { //nolint:exhaustive // the others are the store's troubles
	case fault.Invalid, fault.NotFound, fault.Forbidden, fault.Unsupported, fault.UnresolvedExpression:
		return true
	}
	return false
}
