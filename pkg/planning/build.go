// Package planning makes the plan of a pipeline: of what pkg/entity has decoded
// of it, so that what was checked is what runs.
//
// Of the document itself a plan keeps the nodes' parts, whose expressions get
// their values when the nodes begin.
package planning

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Source is what a plan is made of: a pipeline and documents with their runtime
// inputs filled in.
type Source struct {
	Pipeline *entity.Pipeline
	// Deployments are those of the Deployment stages, by stage identifier.
	Deployments map[string]*plan.Deployment
	Inputs      *yamldoc.Node   // the pipeline's inputs with their values; nil: it has none
	Templates   []plan.Template // that the documents were resolved with
	Trigger     json.RawMessage
	Values      map[string]string // Plan.Values
	// LookedUp says whether a delegate must ask an artifact source, {type, spec},
	// which version is deployed, or what it is. Nil: none is asked.
	LookedUp func(source *yamldoc.Node) bool
	// Steps are the step types; those unknown to it run in no session.
	Steps step.Types
}

// Limits of a plan (semantics/pipeline §1.3).
const (
	maxGroupDepth = 10
	// maxID is how long a node's id may be, in bytes: DynamoDB's keys have 1,024,
	// and iterations of loops add their indexes.
	maxID = 800
)

// Build makes the plan. The same source gives the same plan.
func Build(src Source) (*plan.Plan, error) {
	b := builder{src: src, seen: map[plan.NodeID]bool{}}
	p := src.Pipeline
	root := &plan.Node{
		ID: "pipeline", Kind: plan.KindPipeline, Doc: p.Doc.Without("stages"),
		Identifier: p.Identifier.Text, Name: p.Name.Text, Timeout: p.Timeout.Text,
	}
	root.Children = b.stages(p.Stages, place{id: "pipeline.stages", selectors: words(p.DelegateSelectors)})
	b.checkLoops()
	if b.err != nil {
		return nil, b.err
	}
	made := &plan.Plan{Root: root, Pipeline: root.Doc, Inputs: src.Inputs, Templates: src.Templates, Trigger: src.Trigger, Values: src.Values}
	made.Link()
	if b.refuse(p.Doc.Line, extent.Nodes(made.Nodes())); b.err != nil {
		return nil, b.err
	}
	return made, nil
}

// builder keeps the first error, so that the walk reads plainly.
type builder struct {
	src   Source
	seen  map[plan.NodeID]bool
	loops []*plan.Node // the templates
	err   error
}

func (b *builder) fail(line int, format string, args ...any) {
	if b.err == nil {
		b.err = fault.New(fault.Invalid, "line %d: %s", line, fmt.Sprintf(format, args...))
	}
}

// refuse fails for a bound that is passed.
func (b *builder) refuse(line int, err error) {
	if b.err == nil && err != nil {
		b.err = fault.Wrap(err, "line %d", line)
	}
}

// place is where the walk is, and what holds for everything below.
type place struct {
	id        plan.NodeID // of the container's list, e.g. pipeline.stages
	selectors []string
	levels    plan.Levels // inner to outer
	depth     int         // of step groups
	rollback  bool
}

func (p place) below(name string) plan.NodeID { return p.id + "." + plan.NodeID(name) }

func (b *builder) add(id plan.NodeID, line int) {
	if b.seen[id] {
		b.fail(line, "two nodes have the name %s", id)
	}
	if len(id) > maxID {
		b.refuse(line, fault.New(fault.TooLarge, "the names from the pipeline down to this node have %d bytes; the limit is %d", len(id), maxID))
	}
	b.seen[id] = true
}

// stages builds the list of a pipeline or of a parallel block of stages.
func (b *builder) stages(list entity.StageList, at place) []*plan.Node {
	var out []*plan.Node
	for i, item := range list.Flat() {
		switch {
		case item.Stage != nil:
			out = append(out, b.stage(item.Stage, at))
		case len(item.Parallel.Items) > 0:
			out = append(out, b.parallel(item.Parallel.Line, at, i, b.stages(item.Parallel, at)))
		}
	}
	return out
}

// parallel builds a block whose members keep the names that they would have
// without it. A nested block is flattened (semantics/pipeline §1.3).
func (b *builder) parallel(line int, at place, index int, members []*plan.Node) *plan.Node {
	n := &plan.Node{ID: plan.NodeID(fmt.Sprintf("%s#%d", at.id, index)), Kind: plan.KindParallel, Line: line}
	for _, c := range members {
		if c.Kind == plan.KindParallel {
			n.Children = append(n.Children, c.Children...)
		} else {
			n.Children = append(n.Children, c)
		}
	}
	b.refuse(line, extent.Members(len(n.Children)))
	return n
}

func (b *builder) stage(s *entity.Stage, at place) *plan.Node {
	n := &plan.Node{
		Kind: plan.KindStage, Identifier: s.Identifier.Text, Name: s.Name.Text, Type: s.Type.Text,
		Timeout: s.Timeout.Text, When: when(s.When), Deployment: b.src.Deployments[s.Identifier.Text],
	}
	selectors := b.node(n, s.Doc, at, words(s.DelegateSelectors))
	if own := strategies(s.FailureStrategies); len(own) > 0 {
		n.Strategies = plan.Levels{own}
	}
	base := n.ID + ".spec.execution."
	in := place{id: base + "steps", selectors: selectors, levels: n.Strategies}
	n.Children = b.opened(b.steps(s.Steps, in), s.Steps, in)
	n.Children = slices.Concat(b.found(n, in), n.Children)
	// The stage's strategies don't hold inside rollbackSteps
	// (semantics/pipeline §5.4).
	back := place{id: base + "rollbackSteps", selectors: selectors, rollback: true}
	n.Rollback = b.opened(b.steps(s.RollbackSteps, back), s.RollbackSteps, back)
	if s.Deployment != nil {
		b.provisioner(n, s.Deployment.Provisioner, selectors)
	}
	if s.Type.Text == plan.TypePipeline {
		n.Children = []*plan.Node{b.chained(n)}
	}
	// What has nodes of its own isn't kept twice.
	n.Doc, n.Asks = s.Doc.Without("spec", "execution").Without("spec", "environment", "provisioner"), asks(s.VariablesDoc)
	if s.RunMode.Type.Value == entity.RunManual {
		n.Manual = s.RunMode.Timeout.Text
	}
	return b.looped(n, stageLoop(n, s))
}

// node names a stage, a group or a step, and gives the selectors that hold for
// it: its own, or else those around it.
func (b *builder) node(n *plan.Node, doc *yamldoc.Node, at place, own []string) (selectors []string) {
	n.ID, n.Doc, n.Line = at.below(n.Identifier), doc, doc.Line
	b.add(n.ID, n.Line)
	if len(own) > 0 {
		return own
	}
	return at.selectors
}

// steps builds a list of steps, groups and parallel blocks.
func (b *builder) steps(list entity.StepList, at place) []*plan.Node {
	var out []*plan.Node
	for i, item := range list.Flat() {
		switch {
		case item.Step != nil:
			out = append(out, b.step(item.Step, at))
		case item.Group != nil:
			out = append(out, b.group(item.Group, at))
		case len(item.Parallel.Items) > 0:
			out = append(out, b.parallel(item.Parallel.Line, at, i, b.steps(item.Parallel, at)))
		}
	}
	return out
}

func (b *builder) group(g *entity.StepGroup, at place) *plan.Node {
	n := &plan.Node{Kind: plan.KindGroup, Identifier: g.Identifier.Text, Name: g.Name.Text, When: when(g.When)}
	selectors := b.node(n, g.Doc, at, words(g.DelegateSelectors))
	in := at
	in.id, in.selectors, in.depth = n.ID+".steps", selectors, at.depth+1
	if in.depth > maxGroupDepth {
		b.fail(n.Line, "step groups are nested more than %d deep", maxGroupDepth)
		return n
	}
	if own := strategies(g.FailureStrategies); len(own) > 0 {
		for i := range own {
			about(&own[i].Action, in.depth)
		}
		in.levels = append(plan.Levels{own}, at.levels...)
	}
	n.Strategies = in.levels
	n.Children = b.steps(g.Steps, in)
	if g.Containerized {
		n.Children = b.opened(n.Children, g.Steps, in, g.Needs...)
	}
	n.Rollback = b.steps(g.RollbackSteps, place{id: n.ID + ".rollbackSteps", selectors: selectors, depth: in.depth, rollback: true})
	n.Doc = g.Doc.Without("steps").Without("rollbackSteps")
	return b.looped(n, loop(g.Loop))
}

func (b *builder) step(s *entity.Step, at place) *plan.Node {
	n := &plan.Node{
		Kind: plan.KindStep, Identifier: s.Identifier.Text, Name: s.Name.Text, Type: s.Type.Text,
		Timeout: s.Timeout.Text, When: when(s.When), Asks: asks(s.Spec), Strategies: slices.Clone(at.levels),
	}
	n.Selectors = b.node(n, s.Doc, at, words(s.DelegateSelectors))
	if len(s.SpecSelectors) > 0 {
		n.Selectors = s.SpecSelectors
	}
	if own := strategies(s.FailureStrategies); len(own) > 0 {
		n.Strategies = append(plan.Levels{own}, at.levels...)
	}
	return b.looped(n, loop(s.Loop))
}

// asks says which inputs a part of a node's document asks for.
func asks(part *yamldoc.Node) plan.Asks {
	list := input.Asked(part)
	switch {
	case len(list) == 0:
		return ""
	case slices.ContainsFunc(list, func(r input.Runtime) bool { return r.Required }):
		return plan.AsksNeeded
	}
	return plan.AsksDefaulted
}

func when(w entity.When) *plan.When {
	if !w.Status.Set && !w.Condition.Set {
		return nil
	}
	return &plan.When{Status: w.Status.Text, Condition: w.Condition.Text}
}

// words are a list of texts, or one expression for all of it.
func words(f yamldoc.Field[[]string]) []string {
	if f.Expr != "" {
		return []string{f.Expr}
	}
	return f.Value
}

// looped puts a node below the loop that repeats it, if there is one.
func (b *builder) looped(n *plan.Node, l *plan.Loop) *plan.Node {
	if l == nil {
		return n
	}
	line := n.Line
	if l.Doc != nil {
		line = l.Doc.Line
	}
	b.loops = append(b.loops, n)
	return &plan.Node{
		ID: n.ID, Kind: plan.KindLoop, Identifier: n.Identifier, Name: n.Name, Type: n.Type, Line: line, Children: []*plan.Node{n}, Loop: l,
	}
}

// loop is a looping strategy; nil: there is none.
func loop(l entity.Looping) *plan.Loop {
	if l.Doc == nil {
		return nil
	}
	return &plan.Loop{Doc: l.Doc, SkipQueued: l.SkipsQueued()}
}

// stageLoop is a stage's looping strategy, or that of a stage with several
// deployments; nil: it runs once.
func stageLoop(n *plan.Node, s *entity.Stage) *plan.Loop {
	if n.Deployment == nil || !n.Deployment.Several {
		return loop(s.Loop)
	}
	multi := s.Deployment.Multi
	return &plan.Loop{Doc: multi.Doc, Deploys: true, SkipQueued: multi.SkipsQueued()}
}

// checkLoops refuses a node that is named like an iteration of a loop.
func (b *builder) checkLoops() {
	for _, loop := range b.loops {
		for id := range b.seen {
			if postfix, ok := strings.CutPrefix(string(id), string(loop.ID)); ok && plan.IsPostfix(postfix) {
				b.fail(loop.Doc.Line, "%s is also how an iteration of %s is called; give one of them another identifier", id, loop.ID)
			}
		}
	}
}
