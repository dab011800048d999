// Package launch begins executions: it reads a saved pipeline with what it
// names, fills its inputs, makes its plan and starts its machine run.
//
// What becomes of an execution then is pkg/execution's and pkg/engine's; what
// only a run could know, such as expressions, stays open in the plan.
package launch

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/freeze/calendar"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Config is what a Launcher needs.
type Config struct {
	Store  store.Store
	Runner statemachine.Runner
	// Options say what a pipeline is checked against, wherever it lives.
	Options entity.Options
	// Policies are asked before a start; nil: there are none.
	Policies *judge.Judge
	Now      func() time.Time
}

// Launcher begins executions.
type Launcher struct {
	Config
	plans    *planner
	calendar *calendar.Reader
	grants   *grants.Reader
}

// New makes a Launcher.
func New(cfg Config) *Launcher {
	return &Launcher{Config: cfg, plans: newPlanner(cfg.Store.Entities, cfg.Options), calendar: calendar.New(cfg.Store.Entities), grants: grants.New(cfg.Store.Entities)}
}

// Request asks for an execution of a pipeline.
type Request struct {
	Scope    ref.Scope
	Pipeline string
	Inputs   Inputs
	By       audit.Author
	// Key makes starting idempotent: within KeyKept the same key starts one
	// execution. Empty: a new one.
	Key     string
	RetryOf string
	// Stages are the only ones to run; none: all (semantics/pipeline §8.5).
	Stages []string
	// Values are what expressions give that name the other stages, e.g. by
	// "<+pipeline.stages.build.variables.tag>".
	Values map[string]string

	Resume *store.Resume // from where it goes on; nil: from the start
	// Trigger is the event that starts it (trigger.Event, encoded), which its
	// expressions read; nil: a person does.
	Trigger json.RawMessage
	// Within is what the caller may touch; pipelines that this one chains must
	// be in it. None: the pipeline's own scope.
	Within ref.Scope

	// As is as whom it acts; nil: as nobody in particular.
	As *store.Identity

	// Override is why it runs in spite of deployment freezes; empty: they count.
	Override string

	ID        string          // of a chained execution
	Parent    store.Holder    // of a chained execution
	Inherited *store.Override // of a chained execution: its parent's

	overrides []ref.Scope // those whose freezes Override passes
}

// Plan reads what a pipeline is made of and gives its plan.
func (l *Launcher) Plan(ctx context.Context, r Request) (Planned, error) { return l.plans.plan(ctx, r) }

// Start plans a pipeline and starts its execution.
func (l *Launcher) Start(ctx context.Context, r Request) (store.Execution, error) {
	made, freezes, err := l.planIn(ctx, r)
	if err == nil {
		r.overrides, err = l.mayOverride(ctx, r)
	}
	if err != nil {
		return store.Execution{}, err
	}
	if err := r.Reach(made); err != nil {
		return store.Execution{}, err
	}
	if err := l.Permitted(ctx, r, made); err != nil {
		return store.Execution{}, err
	}
	if err := l.frozen(ctx, r, made, freezes); err != nil {
		return store.Execution{}, err
	}
	id := r.ID
	if id == "" {
		if id, err = l.NewID(ctx, r.Key); err != nil {
			return store.Execution{}, err
		}
	}
	if made, err = l.judged(ctx, r, id, made); err != nil {
		return store.Execution{}, err
	}
	what := fmt.Sprintf("pipeline %s, plan %s", r.Pipeline, made.Hash)
	if r.Override != "" {
		what += ", in spite of deployment freezes: " + r.Override
	}
	return l.Begin(ctx, store.Execution{
		ID: id, Scope: r.Scope, Pipeline: r.Pipeline, Name: made.Name, PlanHash: made.Hash,
		Inputs: made.Inputs, RetryOf: r.RetryOf, Resume: r.Resume, Parent: r.Parent, As: r.As, Override: r.override(), JudgesSteps: made.judgesSteps,
	}, made.Root, made.Doc, r.By, what)
}

// planIn plans a pipeline and reads the deployment freezes meanwhile.
func (l *Launcher) planIn(ctx context.Context, r Request) (made Planned, freezes []freeze.Freeze, err error) {
	var g errgroup.Group
	g.Go(func() (err error) {
		freezes, err = l.calendar.Around(ctx, r.Scope)
		return err
	})
	made, err = l.Plan(ctx, r)
	if read := g.Wait(); err == nil {
		err = read
	}
	return made, freezes, err
}

// Begin stores an execution, or finds the one with its id, and runs it from
// the plan's root. What it runs is told in the audit trail.
func (l *Launcher) Begin(ctx context.Context, e store.Execution, root plan.NodeID, doc []byte, by audit.Author, what string) (store.Execution, error) {
	e.Status, e.Actor, e.StartedAt = plan.Running, by.Actor, l.Now()
	e, err := l.Store.CreateExecution(ctx, e, doc, by.Record(l.Now(), e.Scope, audit.Start, "execution", e.ID, what))
	if err != nil {
		return store.Execution{}, err
	}
	return e, l.Run(ctx, e, root)
}

// Run starts the machine run of an execution's root; again is no change.
func (l *Launcher) Run(ctx context.Context, e store.Execution, root plan.NodeID) error {
	in := machineInput{Execution: e.ID, Node: root}
	in.Next.Value = nothing{TimeoutSeconds: 60, HeartbeatSeconds: 30}
	input, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the machine's input: %w", err)
	}
	if err := l.Runner.Start(ctx, statemachine.RunName(e.ID, string(root)), input); err != nil {
		return fmt.Errorf("start the state machine of execution %s: %w", e.ID, err)
	}
	return nil
}

// machineInput is the first state of statemachines/node.asl.json.
type machineInput struct {
	Execution string      `json:"execution"`
	Node      plan.NodeID `json:"node"`
	Event     struct{}    `json:"event"`
	Next      struct {
		Value nothing `json:"value"`
	} `json:"next"`
}

// KeyedID is the id of the first execution that is started with a key, so that
// starting twice starts one.
func KeyedID(key string) string { return "x" + shortHash(key) }

// KeyKept is how long a key stands for the execution that it has started.
const KeyKept = 24 * time.Hour

// NewID makes an execution's id: from the key, or at random. Ids sort by time
// only roughly; lists sort by StartedAt.
func (l *Launcher) NewID(ctx context.Context, key string) (string, error) {
	random := fmt.Sprintf("x%x%s", l.Now().Unix(), rand.Text()[:10])
	if key == "" {
		return random, nil
	}
	id := KeyedID(key)
	first, err := l.Store.Execution(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return id, nil
	case err != nil:
		return "", err
	case l.Now().Sub(first.StartedAt) < KeyKept:
		return id, nil
	}
	// The key's own id is taken for good. What it stands for now is kept as
	// long as it does.
	name := "start with " + key
	use, err := l.Store.Answer(ctx, name, l.Now())
	if fault.Is(err, fault.NotFound) {
		use, _, err = l.Store.PutAnswer(ctx, store.Answer{Key: name, Body: []byte(random), Expires: l.Now().Add(KeyKept)})
	}
	if err != nil {
		return "", fmt.Errorf("use the key of execution %s again: %w", id, err)
	}
	return string(use.Body), nil
}

// nothing is a wait for nothing: what a run's waits follow on when they are
// answered without a word about what comes next.
type nothing struct {
	At               struct{} `json:"at"`
	TimeoutSeconds   int      `json:"timeoutSeconds"`
	HeartbeatSeconds int      `json:"heartbeatSeconds"`
}
