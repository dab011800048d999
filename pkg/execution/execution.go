// Package execution is what people and delegates do with executions: start,
// abort, repeat, decide, look at; claim, report, keep alive.
//
// Each method is one use case over the store, the engine and the state
// machine's runner. Who may call it is the API's matter; what comes next in
// an execution is pkg/engine's.
package execution

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Config is what a Service needs.
type Config struct {
	Store  store.Store
	Runner statemachine.Runner
	Engine *engine.Handler
	Secret *secret.Keeper
	Ledger *ledger.Ledger // of what tasks change
	Lease  time.Duration  // of a claimed task; heartbeats renew it
	Now    func() time.Time
	Log    *slog.Logger
}

// Service holds the use cases.
type Service struct {
	Config
	plans *planner
}

// New makes a Service.
func New(cfg Config) *Service {
	return &Service{Config: cfg, plans: newPlanner(cfg.Store)}
}

// StartRequest asks for an execution of a pipeline.
type StartRequest struct {
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

	resume *store.Resume
	// Trigger is the event that starts it (trigger.Event, encoded), which its
	// expressions read; nil: a person does.
	Trigger json.RawMessage
	// Within is what the caller may touch; pipelines that this one chains must
	// be in it. None: the pipeline's own scope.
	Within ref.Scope

	id     string       // of a chained execution
	parent store.Holder // of a chained execution
}

// Start plans a pipeline and starts its execution.
func (s *Service) Start(ctx context.Context, r StartRequest) (store.Execution, error) {
	made, err := s.plans.plan(ctx, r)
	if err != nil {
		return store.Execution{}, err
	}
	if err := r.reach(made); err != nil {
		return store.Execution{}, err
	}
	id := r.id
	if id == "" {
		if id, err = s.newID(ctx, r.Key); err != nil {
			return store.Execution{}, err
		}
	}
	return s.begin(ctx, store.Execution{
		ID: id, Scope: r.Scope, Pipeline: r.Pipeline, Name: made.name, PlanHash: made.hash,
		Inputs: made.inputs, RetryOf: r.RetryOf, Resume: r.resume, Parent: r.parent,
	}, made.root, made.doc, r.By, fmt.Sprintf("pipeline %s, plan %s", r.Pipeline, made.hash))
}

// begin stores an execution, or finds the one with its id, and runs it from
// the plan's root. What it runs is told in the audit trail.
func (s *Service) begin(ctx context.Context, e store.Execution, root plan.NodeID, doc []byte, by audit.Author, what string) (store.Execution, error) {
	e.Status, e.Actor, e.StartedAt = plan.Running, by.Actor, s.Now()
	e, err := s.Store.CreateExecution(ctx, e, doc, s.record(e, by, audit.Start, "execution", e.ID, what))
	if err != nil {
		return store.Execution{}, err
	}
	return e, s.Run(ctx, e, root)
}

// Run starts the machine run of an execution's root; again is no change.
func (s *Service) Run(ctx context.Context, e store.Execution, root plan.NodeID) error {
	in := machineInput{Execution: e.ID, Node: root}
	in.Next.Value = nothing{TimeoutSeconds: 60, HeartbeatSeconds: 30}
	input, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the machine's input: %w", err)
	}
	if err := s.Runner.Start(ctx, engine.RunName(e.ID, root), input); err != nil {
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

// newID makes an execution's id: from the key, or at random. Ids sort by time
// only roughly; lists sort by StartedAt.
func (s *Service) newID(ctx context.Context, key string) (string, error) {
	random := fmt.Sprintf("x%x%s", s.Now().Unix(), rand.Text()[:10])
	if key == "" {
		return random, nil
	}
	id := KeyedID(key)
	first, err := s.Store.Execution(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return id, nil
	case err != nil:
		return "", err
	case s.Now().Sub(first.StartedAt) < KeyKept:
		return id, nil
	}
	// The key's own id is taken for good. What it stands for now is kept as
	// long as it does.
	name := "start with " + key
	use, err := s.Store.Answer(ctx, name, s.Now())
	if fault.Is(err, fault.NotFound) {
		use, _, err = s.Store.PutAnswer(ctx, store.Answer{Key: name, Body: []byte(random), Expires: s.Now().Add(KeyKept)})
	}
	if err != nil {
		return "", fmt.Errorf("use the key of execution %s again: %w", id, err)
	}
	return string(use.Body), nil
}

// Abort ends an execution without rolling anything back
// (semantics/pipeline §5.6).
func (s *Service) Abort(ctx context.Context, id string, by audit.Author) (store.Execution, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return store.Execution{}, err
	}
	return s.Engine.Abort(ctx, id, s.record(e, by, audit.Abort, "execution", id, ""))
}

// Pause stops an execution from starting anything new
// (semantics/pipeline §5.6).
func (s *Service) Pause(ctx context.Context, id string, by audit.Author) (store.Execution, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return store.Execution{}, err
	}
	return s.Engine.Pause(ctx, id, s.record(e, by, audit.Pause, "execution", id, ""))
}

// Resume lets a paused execution go on.
func (s *Service) Resume(ctx context.Context, id string, by audit.Author) (store.Execution, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return store.Execution{}, err
	}
	return s.Engine.Resume(ctx, id, s.record(e, by, audit.Resume, "execution", id, ""))
}

// Mark ends a running step, or every one in a container, as Failed, or a Wait
// step as Success (semantics/pipeline §5.6).
func (s *Service) Mark(ctx context.Context, id string, node plan.NodeID, as plan.Status, by audit.Author) error {
	if as != plan.Failed && as != plan.Success {
		return fault.New(fault.Invalid, "a step can be marked as Failed or Success, not as %q", as)
	}
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return err
	}
	return s.Engine.Mark(ctx, id, node, as, s.record(e, by, audit.Mark, "node", id+"/"+string(node), string(as)))
}

// RetryRequest says how an execution is repeated: as a whole, or from a stage
// on.
type RetryRequest struct {
	// From is the identifier of the stage from which to go on; empty: the whole
	// pipeline is repeated. The stages before it keep what they came to.
	From string
	// FromFailed goes on from the first stage that failed.
	FromFailed bool
	// All repeats those stages of a parallel block that ended well, too.
	All bool
	By  audit.Author
	// Key starts one execution, and Within is what the caller may touch, as in
	// StartRequest.
	Key    string
	Within ref.Scope
}

// Retry starts the execution's pipeline again with the same inputs, as it is
// now (semantics/pipeline §8.4).
func (s *Service) Retry(ctx context.Context, id string, r RetryRequest) (store.Execution, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return store.Execution{}, err
	}
	if !e.Status.Terminal() {
		return store.Execution{}, fault.New(fault.Conflict, "execution %s is %s; only one that has ended can be repeated", id, e.Status)
	}
	if e.Preview {
		return store.Execution{}, fault.New(fault.Conflict, "execution %s is a preview of pipeline %s; start another", id, e.Pipeline)
	}
	if e.RollbackOf != "" {
		return store.Execution{}, fault.New(fault.Conflict, "execution %s has rolled %s back; repeat that one, or roll it back again", id, e.RollbackOf)
	}
	given, err := GivenTo(e)
	if err != nil {
		return store.Execution{}, err
	}
	inputs, err := given.inputs()
	if err != nil {
		return store.Execution{}, err
	}
	before, err := s.Engine.Plan(ctx, e.PlanHash)
	if err != nil {
		return store.Execution{}, err
	}
	start := StartRequest{
		Scope: e.Scope, Pipeline: e.Pipeline, Inputs: inputs, By: r.By, Key: r.Key, RetryOf: cmp.Or(e.RetryOf, e.ID), Stages: given.Stages, Values: given.Values,
		Trigger: before.Trigger, Within: r.Within,
	}
	if r.From != "" || r.FromFailed {
		if start.resume, err = s.resume(ctx, e, before, r, start); err != nil {
			return store.Execution{}, err
		}
	}
	return s.Start(ctx, start)
}

// maxAge is how old an execution may be that another goes on from.
const maxAge = 30 * 24 * time.Hour

// resume checks that an execution can go on from a stage of another.
func (s *Service) resume(ctx context.Context, e store.Execution, old *plan.Plan, r RetryRequest, start StartRequest) (*store.Resume, error) {
	if !e.Status.Bad() {
		return nil, fault.New(fault.Conflict, "execution %s is %s; only one that failed can go on from a stage", e.ID, e.Status)
	}
	if s.Now().Sub(e.StartedAt) > maxAge {
		return nil, fault.New(fault.Conflict, "execution %s is older than 30 days; run the pipeline as a whole", e.ID)
	}
	made, err := s.plans.plan(ctx, start)
	if err != nil {
		return nil, err
	}
	fresh, err := plan.Decode(made.doc)
	if err != nil {
		return nil, fmt.Errorf("decode the plan: %w", err)
	}
	from := r.From
	if r.FromFailed {
		if from, err = s.failedStage(ctx, e, old); err != nil {
			return nil, err
		}
	}
	return &store.Resume{Execution: e.ID, Stage: from, All: r.All}, engine.CanResume(old, fresh, from)
}

// nothing is a wait for nothing: what a run's waits follow on when they are
// answered without a word about what comes next.
type nothing struct {
	At               struct{} `json:"at"`
	TimeoutSeconds   int      `json:"timeoutSeconds"`
	HeartbeatSeconds int      `json:"heartbeatSeconds"`
}

// failedStage is the first stage of an execution that ended badly.
func (s *Service) failedStage(ctx context.Context, e store.Execution, p *plan.Plan) (string, error) {
	var stages []*plan.Node
	for _, c := range p.Root.Children {
		if c.Kind == plan.KindParallel {
			stages = append(stages, c.Children...)
		} else {
			stages = append(stages, c)
		}
	}
	for _, n := range stages {
		found, err := s.Store.Nodes(ctx, e.ID, n.ID)
		if err != nil {
			return "", err
		}
		if len(found) > 0 && found[0].State.Status.Bad() {
			return n.Identifier, nil
		}
	}
	return "", fault.New(fault.Conflict, "no stage of execution %s failed; run the pipeline as a whole", e.ID)
}

func (s *Service) record(e store.Execution, by audit.Author, a audit.Action, kind, id, after string) audit.Record {
	return audit.Record{Time: s.Now(), Actor: by.Actor, Request: by.Request, Scope: e.Scope, Action: a, Kind: kind, ID: id, After: after}
}

// maxRaces bounds how often a change is made again after somebody else's.
const maxRaces = 20

// decision is what a person decided on a node that waits.
type decision struct {
	node   plan.NodeID
	by     audit.Author
	action audit.Action
	kind   string // of the audit record
	after  string
}

// decide edits one waiting node and records who did, in one conditional
// write, then answers its wait if edit says so.
func (s *Service) decide(ctx context.Context, id string, d decision, edit func(store.Execution, *plan.State) (answer bool, err error)) error {
	for range maxRaces {
		e, err := s.Store.Execution(ctx, id)
		if err != nil {
			return err
		}
		nodes, err := s.Store.Nodes(ctx, id, d.node)
		if err != nil {
			return err
		}
		if len(nodes) == 0 {
			return fault.New(fault.NotFound, "execution %s has no node %s that has started", id, d.node)
		}
		n := nodes[0]
		before := n
		answer, err := edit(e, &n.State)
		if err != nil {
			return s.unanswerable(ctx, before, err)
		}
		record := s.record(e, d.by, d.action, d.kind, id+"/"+string(d.node), d.after)
		err = s.Store.CommitExecution(ctx, id, store.Commit{Nodes: []store.Node{n}, Audit: &record})
		if fault.Is(err, fault.StaleVersion) {
			continue
		}
		if err != nil {
			return err
		}
		s.Engine.Changed(id)
		if answer {
			return s.Engine.EndNode(ctx, n)
		}
		return nil
	}
	return fmt.Errorf("lost the race for node %s %d times", d.node, maxRaces)
}

// unanswerable is the error of a decision that can't be made. If another was
// made, whoever did may have died before the node's wait ended; that is made
// up for.
func (s *Service) unanswerable(ctx context.Context, n store.Node, why error) error {
	if !fault.Is(why, fault.Conflict) {
		return why
	}
	if err := s.Engine.EndAgain(ctx, n); err != nil {
		return err
	}
	return why
}
