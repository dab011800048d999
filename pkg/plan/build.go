package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Source is what a plan is made of: documents that pkg/entity has checked,
// with their runtime inputs filled in.
type Source struct {
	Pipeline *yamldoc.Node // below the key "pipeline"
	// Deployments are those of the Deployment stages, by stage identifier.
	Deployments map[string]*Deployment
	Inputs      *yamldoc.Node // the pipeline's inputs with their values; nil: it has none
	Templates   []Template    // that the documents were resolved with
	Trigger     json.RawMessage
	Values      map[string]string // Plan.Values
	// LookedUp says whether a delegate must ask an artifact source, {type, spec},
	// which version is deployed, or what it is. Nil: none is asked.
	LookedUp func(source *yamldoc.Node) bool
	// Session says whether steps of a type run in a session. Nil: none does.
	Session func(stepType string) bool
}

// Limits of a plan (semantics/pipeline §1.3).
const (
	maxGroupDepth = 10
	// maxID is how long a node's id may be, in bytes: DynamoDB's keys have 1,024,
	// and iterations of loops add their indexes.
	maxID = 800
)

// Build makes the plan. The same source gives the same plan.
func Build(src Source) (*Plan, error) {
	b := builder{src: src, seen: map[NodeID]bool{}}
	root := &Node{
		ID: "pipeline", Kind: KindPipeline, Doc: trim(src.Pipeline, "stages"),
		Identifier: str(src.Pipeline, "identifier"), Name: str(src.Pipeline, "name"), Timeout: str(src.Pipeline, "timeout"),
	}
	at := place{id: "pipeline.stages", selectors: list(src.Pipeline.Get("delegateSelectors"))}
	root.Children = b.stages(src.Pipeline.Get("stages"), at)
	b.checkLoops()
	if b.err != nil {
		return nil, b.err
	}
	p := &Plan{Root: root, Pipeline: root.Doc, Inputs: src.Inputs, Templates: src.Templates, Trigger: src.Trigger, Values: src.Values}
	p.link()
	if b.refuse(src.Pipeline, extent.Nodes(p.nodes)); b.err != nil {
		return nil, b.err
	}
	return p, nil
}

// builder keeps the first error, so that the walk reads plainly.
type builder struct {
	src   Source
	seen  map[NodeID]bool
	loops []*Node // the templates
	err   error
}

func (b *builder) fail(n *yamldoc.Node, format string, args ...any) {
	if b.err == nil {
		b.err = fault.New(fault.Invalid, "line %d: %s", n.Line, fmt.Sprintf(format, args...))
	}
}

// refuse fails for a bound that is passed.
func (b *builder) refuse(n *yamldoc.Node, err error) {
	if b.err == nil && err != nil {
		b.err = fault.Wrap(err, "line %d", n.Line)
	}
}

// place is where the walk is, and what holds for everything below.
type place struct {
	id        NodeID // of the container's list, e.g. pipeline.stages
	selectors []string
	levels    Levels // inner to outer
	depth     int    // of step groups
	rollback  bool
}

func (p place) below(parts ...string) NodeID {
	return NodeID(string(p.id) + "." + strings.Join(parts, "."))
}

func (b *builder) add(id NodeID, n *yamldoc.Node) {
	if b.seen[id] {
		b.fail(n, "two nodes have the name %s", id)
	}
	if len(id) > maxID {
		b.refuse(n, fault.New(fault.TooLarge, "the names from the pipeline down to this node have %d bytes; the limit is %d", len(id), maxID))
	}
	b.seen[id] = true
}

// stages builds the list of a pipeline or of a parallel block of stages.
func (b *builder) stages(doc *yamldoc.Node, at place) []*Node {
	var out []*Node
	for i, item := range flat(doc, "stages") {
		if p := item.Get("parallel"); p != nil {
			out = append(out, b.parallel(p, at, i, b.stages))
			continue
		}
		out = append(out, b.stage(item.Get("stage"), item, at))
	}
	return out
}

// parallel builds a block whose members keep the names that they would have
// without it. A nested block is flattened (semantics/pipeline §1.3).
func (b *builder) parallel(doc *yamldoc.Node, at place, index int, members func(*yamldoc.Node, place) []*Node) *Node {
	n := &Node{ID: NodeID(fmt.Sprintf("%s#%d", at.id, index)), Kind: KindParallel, Line: doc.Line}
	for _, c := range members(doc, at) {
		if c.Kind == KindParallel {
			n.Children = append(n.Children, c.Children...)
		} else {
			n.Children = append(n.Children, c)
		}
	}
	b.refuse(doc, extent.Members(len(n.Children)))
	return n
}

func (b *builder) stage(doc, item *yamldoc.Node, at place) *Node {
	if doc == nil {
		b.fail(item, "found an item that is neither a stage nor parallel")
		return &Node{}
	}
	n := b.node(KindStage, doc, at.below(str(doc, "identifier")), at)
	n.Deployment = b.src.Deployments[n.Identifier]
	n.Strategies = nil
	own := b.strategies(doc.Get("failureStrategies"))
	if len(own) > 0 {
		n.Strategies = Levels{own}
	}
	execution := doc.At("spec", "execution")
	in := place{id: NodeID(string(n.ID) + ".spec.execution.steps"), selectors: n.Selectors, levels: n.Strategies}
	n.Children = b.opened(b.steps(execution.Get("steps"), in), execution.Get("steps"), in)
	if first := b.described(n, doc, in); first != nil {
		n.Children = slices.Insert(n.Children, 0, first)
	}
	if first := b.lookup(n, doc, in); first != nil {
		n.Children = slices.Insert(n.Children, 0, first)
	}
	// The stage's strategies don't hold inside rollbackSteps
	// (semantics/pipeline §5.4).
	back := place{id: NodeID(string(n.ID) + ".spec.execution.rollbackSteps"), selectors: n.Selectors, rollback: true}
	n.Rollback = b.opened(b.steps(execution.Get("rollbackSteps"), back), execution.Get("rollbackSteps"), back)
	b.provisioner(n, doc)
	if n.Type == TypePipeline {
		n.Children = []*Node{b.chained(n, doc)}
	}
	n.Selectors = nil
	n.Doc, n.Asks = unprovisioned(without(doc, "execution")), asks(doc.Get("variables"))
	if mode := doc.Get("runMode"); str(mode, "type") == "Manual" {
		n.Manual = str(mode, "timeout")
	}
	return b.looped(n, doc)
}

// node is what stages, groups and steps have in common.
func (b *builder) node(kind Kind, doc *yamldoc.Node, id NodeID, at place) *Node {
	b.add(id, doc)
	n := &Node{
		ID: id, Kind: kind, Identifier: str(doc, "identifier"), Name: str(doc, "name"), Type: str(doc, "type"),
		Line: doc.Line, Timeout: str(doc, "timeout"), When: when(doc.Get("when")), Doc: doc, Selectors: at.selectors,
	}
	if own := list(doc.Get("delegateSelectors")); len(own) > 0 {
		n.Selectors = own
	}
	return n
}

// steps builds a list of steps, groups and parallel blocks.
func (b *builder) steps(doc *yamldoc.Node, at place) []*Node {
	var out []*Node
	for i, item := range flat(doc, "steps") {
		switch {
		case item.Get("parallel") != nil && len(items(item.Get("parallel"))) == 0: // an editor left it; nothing runs in it
		case item.Get("parallel") != nil:
			out = append(out, b.parallel(item.Get("parallel"), at, i, b.steps))
		case item.Get("stepGroup") != nil:
			out = append(out, b.group(item.Get("stepGroup"), at))
		case item.Get("step") != nil:
			out = append(out, b.step(item.Get("step"), at))
		default:
			b.fail(item, "found an item that is none of step, stepGroup, parallel and insert")
		}
	}
	return out
}

func (b *builder) group(doc *yamldoc.Node, at place) *Node {
	n := b.node(KindGroup, doc, at.below(str(doc, "identifier")), at)
	in := at
	in.id, in.selectors, in.depth = NodeID(string(n.ID)+".steps"), n.Selectors, at.depth+1
	if in.depth > maxGroupDepth {
		b.fail(doc, "step groups are nested more than %d deep", maxGroupDepth)
		return n
	}
	if own := b.strategies(doc.Get("failureStrategies")); len(own) > 0 {
		for i := range own {
			own[i].Action.at(in.depth)
		}
		in.levels = append(Levels{own}, at.levels...)
	}
	n.Selectors, n.Strategies = nil, in.levels
	n.Children = b.steps(doc.Get("steps"), in)
	if containerized(doc) {
		n.Children = b.opened(n.Children, doc.Get("steps"), in)
	}
	back := place{id: NodeID(string(n.ID) + ".rollbackSteps"), selectors: in.selectors, depth: in.depth, rollback: true}
	n.Rollback = b.steps(doc.Get("rollbackSteps"), back)
	n.Doc = trim(trim(doc, "steps"), "rollbackSteps")
	return b.looped(n, doc)
}

func (b *builder) step(doc *yamldoc.Node, at place) *Node {
	n := b.node(KindStep, doc, at.below(str(doc, "identifier")), at)
	n.Asks = asks(doc.Get("spec"))
	n.Strategies = slices.Clone(at.levels)
	if own := b.strategies(doc.Get("failureStrategies")); len(own) > 0 {
		n.Strategies = append(Levels{own}, at.levels...)
	}
	if own := list(doc.At("spec", "delegateSelectors")); len(own) > 0 {
		n.Selectors = own
	}
	return b.looped(n, doc)
}

// asks says which inputs a part of a node's document asks for.
func asks(part *yamldoc.Node) Asks {
	list := input.Asked(part)
	switch {
	case len(list) == 0:
		return ""
	case slices.ContainsFunc(list, func(r input.Runtime) bool { return r.Required }):
		return AsksNeeded
	}
	return AsksDefaulted
}

func when(doc *yamldoc.Node) *When {
	if doc == nil || doc.Kind != yamldoc.Mapping {
		return nil
	}
	w := &When{Condition: str(doc, "condition"), Status: str(doc, "stageStatus")}
	if s := str(doc, "pipelineStatus"); s != "" {
		w.Status = s
	}
	return w
}

// strategies reads a failureStrategies list (semantics/pipeline §5.1).
func (b *builder) strategies(doc *yamldoc.Node) []Strategy {
	var out []Strategy
	for _, item := range items(doc) {
		on := item.Get("onFailure")
		var s Strategy
		for _, e := range items(on.Get("errors")) {
			s.Errors = append(s.Errors, fault.FailureType(e.Value))
		}
		if a := b.action(on.Get("action")); a != nil {
			s.Action = *a
			out = append(out, s)
		}
	}
	return out
}

func (b *builder) action(doc *yamldoc.Node) *Action {
	if doc == nil {
		return nil
	}
	spec := doc.Get("spec")
	a := &Action{Type: ActionType(str(doc, "type"))}
	switch a.Type {
	case Retry:
		a.RetryCount, _ = strconv.Atoi(str(spec, "retryCount")) // checked on save
		a.RetryIntervals = b.durations(spec.Get("retryIntervals"))
		a.Condition = str(spec, "condition")
		a.Then = b.action(spec.At("onRetryFailure", "action"))
	case ManualIntervention:
		a.Timeout = b.duration(spec.Get("timeout"))
		a.Then = b.action(spec.At("onTimeout", "action"))
	case RetryStepGroup:
		a.RetryCount, _ = strconv.Atoi(str(spec, "retryCount"))
		a.RetryIntervals = b.durations(spec.Get("retryIntervals"))
		return a
	case StageRollback, PipelineRollback:
		a.FailAll = strings.EqualFold(str(spec, "failAll"), "true")
		return a
	case Ignore, MarkAsSuccess, MarkAsFailure, Abort, StepGroupRollback, ProceedWithDefaultValues:
		return a
	}
	if a.Then == nil {
		a.Then = &Action{Type: MarkAsFailure}
	}
	return a
}

// at says which group the action and its fallbacks are about.
func (a *Action) at(depth int) {
	for ; a != nil; a = a.Then {
		if a.Type == StepGroupRollback || a.Type == RetryStepGroup {
			a.Depth = depth
		}
	}
}

func (b *builder) durations(list *yamldoc.Node) []time.Duration {
	var out []time.Duration
	for _, n := range items(list) {
		out = append(out, b.duration(n))
	}
	return out
}

func (b *builder) duration(n *yamldoc.Node) time.Duration {
	if n == nil {
		return 0
	}
	d, err := yamldoc.ParseDuration(n.Value)
	if err != nil {
		b.fail(n, "%s", err)
	}
	return d
}

func str(n *yamldoc.Node, key string) string {
	if f := n.Get(key); f != nil {
		return f.Value
	}
	return ""
}

// list reads delegate selectors: a list, or one expression for all of it.
func list(n *yamldoc.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind == yamldoc.Scalar && n.Value != "" {
		return []string{n.Value}
	}
	var out []string
	for _, item := range n.Items {
		out = append(out, item.Value)
	}
	return out
}

// trim is a mapping without one key: what has nodes of its own isn't kept twice.
func trim(n *yamldoc.Node, key string) *yamldoc.Node {
	c := *n
	c.Entries = slices.DeleteFunc(slices.Clone(n.Entries), func(e yamldoc.Entry) bool { return e.Key == key })
	return &c
}

// without is a stage's document without the given key of its spec.
func without(n *yamldoc.Node, key string) *yamldoc.Node {
	c := *n
	c.Entries = slices.Clone(n.Entries)
	for i, e := range c.Entries {
		if e.Key == "spec" && e.Value != nil && e.Value.Kind == yamldoc.Mapping {
			c.Entries[i].Value = trim(e.Value, key)
		}
	}
	return &c
}

// flat are the items of a list with those of its inserts in their place: they
// are like the list's own (semantics/pipeline §1.3).
func flat(n *yamldoc.Node, content string) []*yamldoc.Node {
	var out []*yamldoc.Node
	for _, item := range items(n) {
		if insert := item.Get("insert"); insert != nil {
			out = append(out, flat(insert.Get(content), content)...)
			continue
		}
		out = append(out, item)
	}
	return out
}

func items(n *yamldoc.Node) []*yamldoc.Node {
	if n == nil {
		return nil
	}
	return n.Items
}
