package execution

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Preview is an execution that compares what a pipeline would deploy with what
// there is, and changes nothing.
type Preview struct {
	Execution store.Execution
	Warnings  []fault.Detail
	// Left are the stages that deploy, but can't be compared.
	Left []Left
}

// Left is a stage that a preview leaves out.
type Left struct {
	Stage string `json:"stage" doc:"Its identifier"`
	Why   string `json:"why"`
}

// StartPreview starts one: of each stage whose deployment can be seen before, delegates
// read what it would deploy and compare that with what there is. Its execution is
// none of the pipeline's.
func (s *Service) StartPreview(ctx context.Context, r launch.Request) (Preview, error) {
	made, err := s.Launch.Plan(ctx, r)
	if err != nil {
		return Preview{}, err
	}
	if err := s.Launch.Permitted(ctx, r, made); err != nil {
		return Preview{}, err
	}
	p, err := plan.Decode(made.Doc)
	if err != nil {
		return Preview{}, fmt.Errorf("decode the plan: %w", err)
	}
	id, err := s.Launch.NewID(ctx, r.Key)
	if err != nil {
		return Preview{}, err
	}
	e := store.Execution{
		ID: id, Scope: r.Scope, Pipeline: r.Pipeline, Name: made.Name, Status: plan.Running, Inputs: made.Inputs,
		Actor: r.By.Actor, As: r.As, Preview: true, StartedAt: s.Now(),
	}
	given, err := launch.GivenTo(e)
	if err != nil {
		return Preview{}, err
	}
	c := comparison{
		previews:   s.Steps.Previews(),
		types:      s.Steps,
		conditions: &rehearsal{ctx: ctx, plan: p, execution: e, store: s.Store.Entities, types: s.Types, now: s.Now(), states: map[plan.NodeID]plan.State{}},
	}
	if c.stages(p.Root.Children); c.found == 0 {
		return Preview{}, fault.New(fault.Invalid, "pipeline %s has no stage that could be compared with a cluster%s", r.Pipeline, c.reasons())
	}
	doc, err := p.Encode()
	if err != nil {
		return Preview{}, fmt.Errorf("encode the preview of pipeline %s: %w", r.Pipeline, err)
	}
	e.PlanHash = plan.Hash(doc)
	e, err = s.Launch.Begin(ctx, e, made.Root, doc, r.By, fmt.Sprintf("preview of pipeline %s, plan %s", r.Pipeline, e.PlanHash))
	return Preview{Execution: e, Warnings: given.Warnings, Left: c.left}, err
}

// comparison makes a preview's plan of a pipeline's, in place. All stages stay,
// because expressions name them; only those that deploy run, one step of each.
type comparison struct {
	conditions *rehearsal
	previews   map[string]*step.Preview // by the names of the step types
	types      step.Types
	found      int // stages that are compared
	left       []Left
}

func (c *comparison) reasons() string {
	var b strings.Builder
	for _, l := range c.left {
		fmt.Fprintf(&b, "; %s: %s", l.Stage, l.Why)
	}
	return b.String()
}

func (c *comparison) stages(list []*plan.Node) {
	for i, n := range list {
		switch n.Kind { //nolint:exhaustive // the others aren't on this level
		case plan.KindParallel:
			c.stages(n.Children)
		case plan.KindLoop:
			if c.stage(n.Children[0], true); n.Children[0].Children == nil {
				list[i] = n.Children[0] // nobody need know how often it would run
			}
		case plan.KindStage:
			c.stage(n, false)
		}
	}
}

// never is a condition that lets nothing run.
const never = "false"

func (c *comparison) stage(n *plan.Node, looped bool) {
	deploying, own := c.deployers(n)
	why := c.incomparable(n, deploying)
	if why != "" && n.Type == entity.StageDeployment || n.Type == plan.TypePipeline {
		c.left = append(c.left, Left{Stage: n.Identifier, Why: why})
	}
	n.Rollback, n.Strategies = nil, nil
	if why != "" {
		deploying = nil
	}
	own = slices.DeleteFunc(own, func(d deployer) bool {
		steps := append(c.brought(d), d.Node)
		i := slices.IndexFunc(steps, func(s *plan.Node) bool { return s.Asks != "" })
		if i >= 0 {
			c.left = append(c.left, Left{Stage: n.Identifier, Why: "its step " + steps[i].Identifier + " asks for inputs when it starts"})
		}
		return i >= 0
	})
	if len(deploying) == 0 && (len(own) == 0 || n.Asks == plan.AsksNeeded) {
		n.Children, n.Asks, n.When = nil, "", &plan.When{Condition: never}
		return
	}
	c.found++
	if n.When == nil {
		n.When = &plan.When{}
	}
	if n.When.Status = "All"; !looped && c.unknowable(n) {
		n.When.Condition = ""
	}
	n.Looks = true
	var steps []*plan.Node
	for _, d := range own {
		steps = append(steps, c.apart(d))
	}
	if i := slices.IndexFunc(n.Children, func(c *plan.Node) bool { return c.Type == plan.TypeService }); i >= 0 && len(deploying) > 0 {
		steps = append(steps, n.Children[i])
	}
	if len(deploying) > 0 {
		steps = append(steps, opened(deploying[0])...)
		steps = append(steps, compares(deploying[0]))
	}
	for _, d := range slices.Concat(own, deploying) { // what is compared depends on them
		d.When = &plan.When{Condition: never}
		steps = append(steps, d.Node)
	}
	n.Children = steps
}

// unknowable says whether only a run could evaluate a stage's condition.
func (c *comparison) unknowable(n *plan.Node) bool {
	return len(unknown(c.conditions.scope(n), expr.References(n.When.Condition))) > 0
}

// incomparable says why a stage can't be compared; empty if it can.
func (c *comparison) incomparable(n *plan.Node, deploying []deployer) string {
	switch {
	case n.Type == plan.TypePipeline:
		return "it runs another pipeline; compare that one"
	case n.Deployment == nil:
		return "it deploys nothing"
	case len(n.Provisioning()) > 0:
		return "its own steps make its infrastructure, so where it deploys to isn't known yet"
	case !c.previewed(n.Deployment.Type):
		return fmt.Sprintf("deployments of type %s can't be compared before they run", n.Deployment.Type)
	case n.Asks == plan.AsksNeeded:
		return "it asks for inputs when it starts"
	case len(deploying) == 0:
		return "it has no step " + c.seen(n.Deployment.Type)
	}
	return ""
}

// previewed says whether some step of a deployment type can be seen before it
// runs.
func (c *comparison) previewed(deployment string) bool {
	lane, _ := c.conditions.types.Lanes.Of(deployment)
	return slices.ContainsFunc(lane.Steps, func(name string) bool { return c.previews[name] != nil })
}

// deployer is a step that deploys its service's manifests, and how that can be
// seen.
type deployer struct {
	*plan.Node
	preview *step.Preview
}

// deployers are the steps of a stage whose changes can be seen. The first is
// the one that says the most of what the stage comes to. Beside them are those that
// are seen one by one.
func (c *comparison) deployers(n *plan.Node) (found, own []deployer) {
	var walk func(*plan.Node)
	walk = func(n *plan.Node) {
		switch p := c.previews[n.Type]; {
		case n.Kind != plan.KindStep || p == nil:
		case p.Own:
			own = append(own, deployer{n, p})
		default:
			found = append(found, deployer{n, p})
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(n)
	slices.SortStableFunc(found, func(a, b deployer) int { return a.preview.Part - b.preview.Part })
	return found, own
}

// seen names the step types of a deployment type whose changes can be seen, as a
// sentence has them.
func (c *comparison) seen(deployment string) string {
	lane, _ := c.conditions.types.Lanes.Of(deployment)
	names := slices.DeleteFunc(slices.Clone(lane.Steps), func(name string) bool { return c.previews[name] == nil })
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(c.previews[a].Part-c.previews[b].Part, strings.Compare(a, b))
	})
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// opened is the step that opens the session of one that deploys, in which it is seen,
// too; nil: it has none.
func opened(d deployer) []*plan.Node {
	open := d.Session()
	if open == nil {
		return nil
	}
	own := *open
	own.Strategies = nil
	return []*plan.Node{&own}
}

// apart is how a step is seen that is seen by itself. One that works in a session has
// one of its own then, into which those before it bring what they bring.
func (c *comparison) apart(d deployer) *plan.Node {
	looks, open := compares(d), opened(d)
	if open == nil {
		return looks
	}
	group := *looks
	group.Kind, group.Type, group.Selectors = plan.KindGroup, "", nil
	group.Doc = &yamldoc.Node{Kind: yamldoc.Mapping}
	looks.When, looks.ID, looks.Provisions = nil, group.ID+".compare", false
	group.Children = append(open, c.brought(d)...)
	for _, n := range group.Children {
		n.ID, n.Provisions = group.ID+plan.NodeID(strings.TrimPrefix(string(n.ID), string(d.Session().Parent().ID))), false
	}
	group.Children = append(group.Children, looks)
	return &group
}

// brought are the steps that bring something into the session of a step before it; none
// if it has no session.
func (c *comparison) brought(d deployer) []*plan.Node {
	open, over := d.Session(), false
	if open == nil {
		return nil
	}
	var out []*plan.Node
	var walk func(list []*plan.Node)
	walk = func(list []*plan.Node) {
		for _, n := range list {
			switch {
			case over:
			case n == d.Node:
				over = true
			case c.types.Of(n.Type).Brings && n.Kind == plan.KindStep && n.Session() == open:
				own := *n
				own.Strategies = nil
				out = append(out, &own)
			default:
				walk(n.Children)
			}
		}
	}
	walk(open.Parent().Children)
	return out
}

// compares is the step that looks in place of one that deploys.
func compares(d deployer) *plan.Node {
	const suffix = "_diff"
	spec := &yamldoc.Node{Kind: yamldoc.Mapping}
	if own := d.Doc.Get("spec"); own != nil {
		for _, e := range own.Entries {
			if slices.Contains(d.preview.Keys, e.Key) {
				spec.Entries = append(spec.Entries, e)
			}
		}
	}
	n := &plan.Node{
		ID: d.ID + suffix, Kind: plan.KindStep, Identifier: d.Identifier + suffix, Name: d.Name, Type: d.preview.By,
		Line: d.Line, Selectors: d.Selectors, Provisions: d.InProvisioner(), Doc: &yamldoc.Node{Kind: yamldoc.Mapping, Entries: []yamldoc.Entry{{Key: "spec", Value: spec}}},
	}
	if d.preview.Own {
		n.Doc, n.When = d.Doc, &plan.When{Status: "All"}
	}
	return n
}
