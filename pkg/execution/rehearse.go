package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/dispatch"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Rehearsal is what a run of a pipeline would be, as far as that can be known
// before it runs. Nothing is stored and nothing starts.
type Rehearsal struct {
	Pipeline string
	Hash     string // of the plan; a run with the same inputs has the same
	Warnings []fault.Detail
	Refused  []Frozen // the freezes that a start would be refused for
	Root     *Rehearsed
}

// Rehearsed is a node of the tree that would run.
type Rehearsed struct {
	ID         plan.NodeID `json:"id"`
	Kind       plan.Kind   `json:"kind"`
	Identifier string      `json:"identifier,omitempty"`
	Name       string      `json:"name,omitempty"`
	Type       string      `json:"type,omitempty"`
	Rollback   bool        `json:"rollback,omitempty" doc:"It is in rollbackSteps"`
	Provisions bool        `json:"provisions,omitempty" doc:"It stands in the provisioner section of its stage, before the others or after their rollback"`
	Line       int         `json:"line,omitempty" doc:"In the pipeline's document"`
	Status     string      `json:"status,omitempty" doc:"What must have become of what comes before it: Success, Failure or All"`
	Condition  string      `json:"condition,omitempty" doc:"As written"`
	Runs       Answer      `json:"runs" enum:"yes,no,unknown" doc:"Whether its own condition lets it run"`
	Timeout    string      `json:"timeout,omitempty"`
	Unknown    []string    `json:"unknown,omitempty" nullable:"false" doc:"Expressions in it that only the run can resolve, or nothing can"`
	Selectors  []string    `json:"selectors,omitempty" nullable:"false" doc:"The delegate selectors of a step"`
	Delegates  []string    `json:"delegates,omitempty" nullable:"false" doc:"The connected delegates that could take a step now"`
	AtOnce     int         `json:"atOnce,omitempty" doc:"How many iterations of a loop run at the same time; 0: all"`
	Deploys    *Deploys    `json:"deploys,omitempty" doc:"What a Deployment stage deploys where, if that is known"`
	Frozen     []Frozen    `json:"frozen,omitempty" nullable:"false" doc:"The deployment freezes that stop such a stage"`

	Children []*Rehearsed `json:"children,omitempty" nullable:"false"`
	Hidden   *Hidden      `json:"hidden,omitempty" doc:"Nodes below it that the answer has no room for"`
}

// Deploys is what a Deployment stage deploys where.
type Deploys struct {
	Service        string `json:"service"`
	Environment    string `json:"environment"`
	Infrastructure string `json:"infrastructure"`
}

// Frozen is a deployment freeze that is active.
type Frozen struct {
	Freeze  string    `json:"freeze" doc:"Its identifier"`
	Name    string    `json:"name"`
	Org     string    `json:"org,omitempty"`
	Project string    `json:"project,omitempty"`
	Rule    string    `json:"rule,omitempty" doc:"The first of its rules that matches"`
	Until   time.Time `json:"until"`
}

// Answer is what a rehearsal knows.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// maxUnknown bounds the expressions that are listed of one node.
const maxUnknown = 20

// Rehearse says what Start would run at a time, of the wanted nodes as many as an
// answer has room for.
func (s *Service) Rehearse(ctx context.Context, r launch.Request, at time.Time, part Part) (Rehearsal, error) {
	made, err := s.Launch.Plan(ctx, r)
	if err != nil {
		return Rehearsal{}, err
	}
	if err := r.Reach(made); err != nil {
		return Rehearsal{}, err
	}
	p, err := plan.Decode(made.Doc)
	if err != nil {
		return Rehearsal{}, fmt.Errorf("decode the plan: %w", err)
	}
	e := store.Execution{Scope: r.Scope, Pipeline: r.Pipeline, Name: made.Name, Inputs: made.Inputs, Actor: r.By.Actor, StartedAt: s.Now()}
	given, err := launch.GivenTo(e)
	if err != nil {
		return Rehearsal{}, err
	}
	delegates, err := s.Store.ListDelegates(ctx, r.Scope.Account, s.Now().Add(-dispatch.Alive-dispatch.LongestQuiet))
	if err != nil {
		return Rehearsal{}, err
	}
	h := rehearsal{ctx: ctx, plan: p, execution: e, store: s.Store.Entities, files: s.Store.Files, types: s.Types, delegates: delegates, now: s.Now(), states: map[plan.NodeID]plan.State{}, steps: map[*Rehearsed]*plan.Node{}}
	root := h.node(p.Root)
	if err := ctx.Err(); err != nil {
		return Rehearsal{}, fmt.Errorf("rehearse: %w", err)
	}
	refused, err := s.frozen(ctx, r, made, at, root)
	if err != nil {
		return Rehearsal{}, err
	}
	if part.taken, err = answerSize(given.Warnings); err != nil {
		return Rehearsal{}, err
	}
	root, err = rehearsedOf(h.step).part(root, "pipeline "+r.Pipeline, part)
	return Rehearsal{Pipeline: r.Pipeline, Hash: made.Hash, Warnings: given.Warnings, Refused: refused, Root: root}, err
}

// frozen notes which freezes stop the stages of a tree at a time, and gives those
// that a start would be refused for.
func (s *Service) frozen(ctx context.Context, r launch.Request, made launch.Planned, at time.Time, root *Rehearsed) ([]Frozen, error) {
	var stages []*Rehearsed
	var targets []freeze.Target
	var gather func(n *Rehearsed)
	gather = func(n *Rehearsed) {
		if n.Runs == No {
			return
		}
		if n.Deploys != nil {
			t, err := freeze.NewTarget(ref.Ref{Scope: r.Scope, ID: r.Pipeline}, n.Deploys.Service, n.Deploys.Environment)
			if err == nil { // others are known when the stage begins
				stages, targets = append(stages, n), append(targets, t)
			}
		}
		for _, c := range n.Children {
			gather(c)
		}
	}
	gather(root)
	refused, stops, err := s.Launch.Foresee(ctx, r, made, at, targets)
	if err != nil {
		return nil, err
	}
	for i, n := range stages {
		n.Frozen = frozenBy(stops[i])
	}
	return frozenBy(refused), nil
}

// frozenBy tells of matches, of each freeze once.
func frozenBy(matches []freeze.Match) []Frozen {
	var out []Frozen
	for _, m := range matches {
		f := Frozen{Freeze: m.ID, Name: m.Name, Org: m.Scope.Org, Project: m.Scope.Project, Rule: m.Rule, Until: m.Until.UTC()}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// rehearsal is one in the making. Its states are those of loops alone, which
// say what their iterations would be.
type rehearsal struct {
	ctx       context.Context //nolint:containedctx // lives for one call
	plan      *plan.Plan
	execution store.Execution
	store     store.Entities
	files     store.Files
	types     entity.Types
	delegates []store.Delegate
	now       time.Time
	states    map[plan.NodeID]plan.State
	opened    int // nodes of loops that aren't written out
	steps     map[*Rehearsed]*plan.Node
}

func (h *rehearsal) scope(n *plan.Node) *resolve.Scope {
	return resolve.New(resolve.Config{
		Context: h.ctx, Plan: h.plan, Node: n, Execution: h.execution, Entities: h.store, Files: h.files, Now: h.now,
		Templates: templatestore.Lookup(h.store.Entity), Types: h.types,
		State: func(id plan.NodeID) plan.State { return h.states[id] },
	})
}

func (h *rehearsal) node(n *plan.Node) *Rehearsed {
	out := &Rehearsed{
		ID: n.ID, Kind: n.Kind, Identifier: n.Identifier, Name: n.Name, Type: n.Type, Rollback: n.InRollback(), Provisions: n.Provisions, Line: n.Line,
		Timeout: n.Timeout, Runs: Yes,
	}
	if h.ctx.Err() != nil { // nobody waits for it
		return out
	}
	if n.When != nil {
		out.Status, out.Condition = n.When.Status, n.When.Condition
		h.condition(n, out)
	}
	if n.Kind == plan.KindStep {
		h.steps[out] = n
	}
	if n.Kind == plan.KindLoop {
		h.loop(n, out)
		return out
	}
	if n.Kind == plan.KindStage && n.Deployment != nil {
		h.deploys(n, out)
	}
	for _, c := range slices.Concat(n.Children, n.Rollback) {
		out.Children = append(out.Children, h.node(c))
	}
	return out
}

// condition evaluates a node's condition, if all that it names is known.
func (h *rehearsal) condition(n *plan.Node, out *Rehearsed) {
	if strings.TrimSpace(n.When.Condition) == "" {
		return
	}
	s := h.scope(n)
	if out.Unknown = unknown(s, expr.References(n.When.Condition)); len(out.Unknown) > 0 {
		out.Runs = Unknown
		return
	}
	switch run, err := s.Condition(n.When.Condition); {
	case err != nil:
		out.Runs, out.Unknown = Unknown, []string{err.Error()}
	case !run:
		out.Runs = No
	}
}

// deploys says what a Deployment stage deploys where. What the stage would
// choose is kept, for the expressions of its steps.
func (h *rehearsal) deploys(n *plan.Node, out *Rehearsed) {
	if n.Deployment.Late {
		d, err := engine.Choosing(h.scope(n)).Choose(h.ctx)
		if err != nil {
			out.Unknown = append(out.Unknown, err.Error())
			return
		}
		h.states[n.ID] = plan.State{Deployment: d}
	}
	d := n.Deploys(h.states[n.ID])
	out.Deploys = &Deploys{Service: d.ServiceRef, Environment: d.EnvironmentRef, Infrastructure: d.InfrastructureID()}
}

// loop finds a loop's iterations, or shows its template where only the run
// knows them.
func (h *rehearsal) loop(n *plan.Node, out *Rehearsed) {
	its := h.iterations(n, out)
	if len(out.Unknown) > 0 {
		out.Runs = Unknown
		if when := n.Children[0].When; when != nil { // of each iteration
			out.Status, out.Condition = when.Status, when.Condition
		}
		return
	}
	if len(its.List) == 0 {
		out.Runs = No
	}
	h.opened = extent.Add(h.opened, n.Opens(len(its.List)))
	if err := extent.Nodes(extent.Add(h.plan.Nodes(), h.opened)); err != nil {
		out.Runs, out.Unknown = Unknown, []string{err.Error()}
		return
	}
	h.states[n.ID], out.AtOnce = plan.State{Iterations: &its}, its.MaxConcurrency
	for i, c := range h.plan.Children(n, h.states[n.ID]) {
		child := h.node(c)
		child.Name = its.List[i].Name
		out.Children = append(out.Children, child)
	}
}

// iterations finds a loop's iterations, or says what isn't known of them.
func (h *rehearsal) iterations(n *plan.Node, out *Rehearsed) plan.Iterations {
	s := h.scope(n)
	find := s.Iterations
	if n.Loop.Deploys {
		find = func() (plan.Iterations, error) { return engine.Choosing(s).Expand(h.ctx) }
	} else if out.Unknown = unknown(s, references(n.Loop.Doc.Without("matrix", "nodeName"))); len(out.Unknown) > 0 {
		return plan.Iterations{}
	}
	its, err := find()
	if err != nil {
		out.Unknown = []string{err.Error()}
	}
	return its
}

// step lists what of a step can't be resolved yet, and who could take it, if
// it is one.
func (h *rehearsal) step(out *Rehearsed) error {
	n := h.steps[out]
	if n == nil {
		return nil
	}
	s := h.scope(n)
	for _, text := range unknown(s, references(n.Doc.Get("spec"))) {
		if !slices.Contains(out.Unknown, text) && len(out.Unknown) < maxUnknown {
			out.Unknown = append(out.Unknown, text)
		}
	}
	selectors, err := s.Selectors(n.Selectors)
	if err != nil {
		out.Selectors = n.Selectors
		return nil
	}
	out.Selectors = selectors
	for _, d := range h.delegates {
		if dispatch.Fits(d, h.execution.Scope, selectors, h.now) {
			out.Delegates = append(out.Delegates, d.Name)
		}
	}
	slices.Sort(out.Delegates)
	out.Delegates = slices.Compact(out.Delegates)
	return nil
}

// unknown are the paths that have no value before the run.
func unknown(s *resolve.Scope, paths [][]string) []string {
	var out []string
	for _, path := range paths {
		text := "<+" + strings.Join(path, ".") + ">"
		if slices.Contains(out, text) || len(out) == maxUnknown {
			continue
		}
		if v, _, err := s.Lookup(path); err != nil || v.IsNull() {
			out = append(out, text)
		}
	}
	return out
}

// references are the paths that expressions in a document name.
func references(n *yamldoc.Node) [][]string {
	if n == nil {
		return nil
	}
	if n.Kind == yamldoc.Scalar {
		return expr.References(n.Value)
	}
	var out [][]string
	for _, e := range n.Entries {
		out = append(out, references(e.Value)...)
	}
	for _, item := range n.Items {
		out = append(out, references(item)...)
	}
	return out
}
