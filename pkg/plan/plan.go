// Package plan is the immutable tree that the engine walks: every node of a
// pipeline with its stable id, its condition, its timeout and its failure
// strategies.
//
// A plan is a pure function of documents and inputs (pkg/planning); two
// executions of the same pipeline with the same inputs share one plan, found by
// its hash. What happens to the nodes is State; deciding it is pkg/engine.
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// NodeID is a node's place in the pipeline: the fully qualified name by which
// expressions find it, e.g. "pipeline.stages.deploy.spec.execution.steps.rollout"
// (semantics/pipeline §3.5). A parallel block has no name of its own; its id is
// that of its container with "#" and its index.
type NodeID string

// Kind says what a node is.
type Kind string

// The kinds of node.
const (
	KindPipeline Kind = "pipeline"
	KindStage    Kind = "stage"
	KindGroup    Kind = "stepGroup"
	KindParallel Kind = "parallel"
	KindStep     Kind = "step"
	KindLoop     Kind = "strategy"
)

// Plan is the tree and what its expressions read.
type Plan struct {
	Root     *Node         `json:"root"`
	Pipeline *yamldoc.Node `json:"pipeline"` // the resolved document below the key "pipeline"
	// Inputs are the pipeline's inputs with their values, as a part of its
	// document: <+inputSet>. nil: it has none.
	Inputs *yamldoc.Node `json:"inputs,omitempty"`
	// Templates are the versions that its links were resolved with.
	Templates []Template `json:"templates,omitempty"`
	// Trigger is the event that the execution was started by (trigger.Event,
	// encoded): <+trigger>, <+eventPayload>. nil: a person started it.
	Trigger json.RawMessage `json:"trigger,omitempty"`

	// Values are of expressions that name stages which don't run
	// (semantics/pipeline §8.5), by their path, e.g.
	// "pipeline.stages.build.variables.tag".
	Values map[string]string `json:"values,omitempty"`

	index   map[NodeID]*Node
	loops   bool // there are any
	failAll bool // likewise strategies with FailAll
	nodes   int  // see Nodes

	mu   sync.Mutex
	made map[NodeID]*Node // of iterations, from templates
}

// Template is a version of a template as it was when the plan was made.
type Template struct {
	Scope    ref.Scope `json:"scope"`
	ID       string    `json:"id"`
	Version  string    `json:"version"`
	Revision int64     `json:"revision"` // how often the version had been saved
}

// Node is one node of the tree.
type Node struct {
	ID         NodeID   `json:"id"`
	Kind       Kind     `json:"kind"`
	Identifier string   `json:"identifier,omitempty"`
	Name       string   `json:"name,omitempty"`
	Type       string   `json:"type,omitempty"` // of a step or a stage, as in YAML
	Children   []*Node  `json:"children,omitempty"`
	Rollback   []*Node  `json:"rollback,omitempty"` // the rollbackSteps of a stage or a group
	Line       int      `json:"line,omitempty"`
	When       *When    `json:"when,omitempty"`
	Timeout    string   `json:"timeout,omitempty"` // "10m" or an expression; empty: the default
	Strategies Levels   `json:"strategies,omitempty"`
	Selectors  []string `json:"selectors,omitempty"` // the most specific non-empty list (semantics/pipeline §1.6)

	// Asks says whether a step's spec or a stage's variables have inputs that
	// are asked for when it starts (semantics/pipeline §2.2).
	Asks Asks `json:"asks,omitempty"`

	// Manual is how long a stage waits for somebody to run it, as it stands in
	// its runMode; empty: it begins by itself.
	Manual string `json:"manual,omitempty"`

	// Doc is the node's own document: a step's, group's or stage's mapping.
	Doc *yamldoc.Node `json:"doc,omitempty"`
	// Deployment is what a Deployment stage deploys where, as far as the plan
	// knows; see Deploys.
	Deployment *Deployment `json:"deployment,omitempty"`
	// Looks says that a Deployment stage changes nothing, so that it waits for
	// no turn.
	Looks bool `json:"looks,omitempty"`
	// Provisions says that the node stands in its stage's provisioner section:
	// see Provisioning.
	Provisions bool  `json:"provisions,omitempty"`
	Loop       *Loop `json:"loop,omitempty"`
	// Needs are what the machine must be on which the node opens a session, such as
	// os=linux.
	Needs []string `json:"needs,omitempty"`

	parent     *Node
	inRollback bool
}

// Asks says which inputs a node asks for when it starts.
type Asks string

// The kinds of asking. The zero value is none.
const (
	AsksDefaulted Asks = "defaulted" // all of them have defaults
	AsksNeeded    Asks = "needed"    // some need a value
)

// When is a condition (semantics/pipeline §4).
type When struct {
	Status    string `json:"status"` // Success, Failure or All
	Condition string `json:"condition,omitempty"`
}

// Levels are the failure strategies that apply to a step: its own, then those
// of its groups inner to outer, then its stage's (semantics/pipeline §5.2).
type Levels [][]Strategy

func (l Levels) failAll() bool {
	for _, level := range l {
		for _, s := range level {
			for a := &s.Action; a != nil; a = a.Then {
				if a.FailAll {
					return true
				}
			}
		}
	}
	return false
}

// Strategy says what to do about some failures.
type Strategy struct {
	Errors []fault.FailureType `json:"errors"`
	Action Action              `json:"action"`
}

// ActionType is a failure strategy's action, spelled as in YAML.
type ActionType string

// The actions (semantics/pipeline §5.1).
const (
	Ignore             ActionType = "Ignore"
	MarkAsSuccess      ActionType = "MarkAsSuccess"
	MarkAsFailure      ActionType = "MarkAsFailure"
	Abort              ActionType = "Abort"
	Retry              ActionType = "Retry"
	StageRollback      ActionType = "StageRollback"
	ManualIntervention ActionType = "ManualIntervention"
	PipelineRollback   ActionType = "PipelineRollback"
	StepGroupRollback  ActionType = "StepGroupRollback"
	RetryStepGroup     ActionType = "RetryStepGroup"
	// ProceedWithDefaultValues takes the defaults of inputs that weren't given.
	ProceedWithDefaultValues ActionType = "ProceedWithDefaultValues"
)

// Action is what a strategy does.
type Action struct {
	Type ActionType `json:"type"`
	// Retry: how often, the waits before each, and a condition that must hold.
	RetryCount     int             `json:"retryCount,omitempty"`
	RetryIntervals []time.Duration `json:"retryIntervals,omitempty"`
	Condition      string          `json:"condition,omitempty"`
	// ManualIntervention: how long to wait for a person.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Then is Retry's onRetryFailure or ManualIntervention's onTimeout.
	Then *Action `json:"then,omitempty"`
	// Depth is that of the group that StepGroupRollback and RetryStepGroup are
	// about: 1 for the outermost of the stage.
	Depth int `json:"depth,omitempty"`
	// FailAll says that StageRollback and PipelineRollback don't wait for the
	// other members of a parallel block to come to their end.
	FailAll bool `json:"failAll,omitempty"`
}

// Node finds a node by id; nil if the plan has none such. A node of a loop's
// iteration is made, if the loop could have that iteration. The same node may
// be another pointer the next time: compare ids.
func (p *Plan) Node(id NodeID) *Node {
	if n := p.index[id]; n != nil || !p.loops {
		return n
	}
	return p.iteration(id)
}

// Loops says whether anything in the plan is looped.
func (p *Plan) Loops() bool { return p.loops }

// FailsAll says whether a failure strategy in the plan has FailAll.
func (p *Plan) FailsAll() bool { return p.failAll }

// Parent is the node's container; nil for the pipeline.
func (n *Node) Parent() *Node { return n.parent }

// InRollback says whether the node is within a stage's rollbackSteps.
func (n *Node) InRollback() bool { return n.inRollback }

// Stage is the stage that the node is in or is; nil above stages.
func (n *Node) Stage() *Node {
	for ; n != nil; n = n.parent {
		if n.Kind == KindStage {
			return n
		}
	}
	return nil
}

// Outside is the plan of a pipeline that doesn't run: its own node alone.
func Outside(pipeline *yamldoc.Node) *Plan {
	doc := pipeline.Without("stages")
	p := &Plan{Pipeline: doc, Root: &Node{
		ID: "pipeline", Kind: KindPipeline, Doc: doc, Identifier: doc.Text("identifier"), Name: doc.Text("name"), Timeout: doc.Text("timeout"),
	}}
	p.Link()
	return p
}

// Decode reads a plan document as Encode wrote it.
func Decode(doc []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(doc, &p); err != nil {
		return nil, err
	}
	p.Link()
	return &p, nil
}

// Encode is the plan's document. The same plan has the same bytes.
func (p *Plan) Encode() ([]byte, error) { return json.Marshal(p) }

// Hash names a plan's document.
func Hash(doc []byte) string {
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:])
}

// Link sets what isn't in the document: the index and the way upwards.
func (p *Plan) Link() {
	p.index, p.made = map[NodeID]*Node{}, map[NodeID]*Node{}
	var walk func(n, parent *Node, rollback bool)
	walk = func(n, parent *Node, rollback bool) {
		n.parent, n.inRollback = parent, rollback
		p.loops = p.loops || n.Kind == KindLoop
		p.failAll = p.failAll || n.Strategies.failAll()
		for _, c := range n.Children {
			walk(c, n, rollback)
		}
		for _, c := range n.Rollback {
			walk(c, n, true)
		}
	}
	walk(p.Root, nil, false)
	indexNodes(p.Root, p.index)
	p.nodes = p.Root.nodes()
}
