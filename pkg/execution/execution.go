// Package execution is what people and delegates do with executions: abort,
// repeat, decide, look at; claim, report, keep alive.
//
// Service is for people, Tasks for delegates. Each method is one use case over
// the store, the engine and the state machine's runner. Who may call it is the
// API's matter; what comes next in an execution is pkg/engine's.
package execution

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/slipway-cd/slipway/pkg/attest"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Config is what a Service needs.
type Config struct {
	Store  store.Store
	Launch *launch.Launcher
	Engine *engine.Handler
	Types  entity.Types // of documents
	Steps  step.Types
	Secret *secret.Keeper
	// Sign signs the digests of attestations of approvals; nil: none are made.
	Sign attest.Sign
	Now  func() time.Time
}

// Service holds the use cases of people.
type Service struct {
	Config

	watched atomic.Int64 // how many nodes' states its watchers keep
}

// New makes a Service.
func New(cfg Config) *Service { return &Service{Config: cfg} }

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
	// Key starts one execution, Within is what the caller may touch, and Override
	// is why deployment freezes don't count, as in launch.Request.
	Key      string
	Within   ref.Scope
	Override string
	As       *store.Identity // as in launch.Request
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
	given, err := launch.GivenTo(e)
	if err != nil {
		return store.Execution{}, err
	}
	inputs, err := given.Again()
	if err != nil {
		return store.Execution{}, err
	}
	before, err := s.Engine.Reader.Plan(ctx, e.PlanHash)
	if err != nil {
		return store.Execution{}, err
	}
	start := launch.Request{
		Scope: e.Scope, Pipeline: e.Pipeline, Inputs: inputs, By: r.By, Key: r.Key, RetryOf: cmp.Or(e.RetryOf, e.ID), Stages: given.Stages, Values: given.Values,
		Trigger: before.Trigger, Within: r.Within, Override: r.Override, As: r.As,
	}
	if r.From != "" || r.FromFailed {
		if start.Resume, err = s.resume(ctx, e, before, r, start); err != nil {
			return store.Execution{}, err
		}
	}
	return s.Launch.Start(ctx, start)
}

// maxAge is how old an execution may be that another goes on from.
const maxAge = 30 * 24 * time.Hour

// resume checks that an execution can go on from a stage of another.
func (s *Service) resume(ctx context.Context, e store.Execution, old *plan.Plan, r RetryRequest, start launch.Request) (*store.Resume, error) {
	if !e.Status.Bad() {
		return nil, fault.New(fault.Conflict, "execution %s is %s; only one that failed can go on from a stage", e.ID, e.Status)
	}
	if s.Now().Sub(e.StartedAt) > maxAge {
		return nil, fault.New(fault.Conflict, "execution %s is older than 30 days; run the pipeline as a whole", e.ID)
	}
	made, err := s.Launch.Plan(ctx, start)
	if err != nil {
		return nil, err
	}
	fresh, err := plan.Decode(made.Doc)
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
	return by.Record(s.Now(), e.Scope, a, kind, id, after)
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
	// attestation is that of an approval, once it was edited.
	attestation string
}

// decide edits one waiting node and records who did, in one conditional
// write, then answers its wait if edit says so.
func (s *Service) decide(ctx context.Context, id string, d *decision, edit func(store.Execution, *plan.State) (answer bool, err error)) error {
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
		record.Attestation = d.attestation
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
