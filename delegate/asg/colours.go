package asg

import (
	"context"
	"fmt"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/alb"
	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
)

// A blue/green deployment has two groups, and one of them has the traffic: its tag
// says blue. The target groups tell it for certain.
const (
	colourTag = "BG_VERSION"
	blue      = "BLUE"
	green     = "GREEN"

	coloursKept = "asg/bluegreen/" // begins the key of its checkpoint
)

// colours is what a stage has found before it deploys to the group beside the one
// that has the traffic, and what it has decided by that.
type colours struct {
	Group  string  `json:"group"`         // as its configuration names it
	New    string  `json:"new"`           // the group that the stage makes, or updates
	Old    string  `json:"old,omitempty"` // the one that has the traffic; empty: none
	Fronts []front `json:"fronts"`
	// Groups are the two as they were.
	Groups []before `json:"groups"`
}

// front is where a load balancer sends traffic.
type front struct {
	Prod  alb.Route  `json:"prod"`
	Stage *alb.Route `json:"stage,omitempty"` // nil: the groups share a route, by weights
	// The target groups of the old group, which has the traffic, and of the new one.
	ProdGroups  []string `json:"prodGroups"`
	StageGroups []string `json:"stageGroups"`
}

// was is how one of the two groups was.
func (c *colours) was(name string) before {
	for _, b := range c.Groups {
		if b.Group == name {
			return b
		}
	}
	return before{Group: name, First: true}
}

// newest is what the group is called that the stage has deployed to; empty: none.
func (c *colours) newest() string {
	if c == nil {
		return ""
	}
	return c.New
}

// of is one of the two groups.
func (c *colours) of(number int) string { return fmt.Sprintf("%s__%d", c.Group, number) }

// targets are the target groups of the new group: production's, if nothing else has
// the traffic.
func (c *colours) targets() []string {
	var all []string
	for _, f := range c.Fronts {
		if c.Old == "" {
			all = append(all, f.ProdGroups...)
		} else {
			all = append(all, f.StageGroups...)
		}
	}
	return all
}

// colour is that of the new group, as long as no traffic was moved.
func (c *colours) colour() string {
	if c.Old == "" {
		return blue
	}
	return green
}

func unbalanced(format string, args ...any) error {
	return misconfigured("Invalid load balancer configuration: %w", fmt.Errorf(format, args...))
}

// fronts reads where the traffic goes, and so which target groups are for the new
// group.
func (g bluegreen) fronts(ctx context.Context, all []lane.Balancer) ([]front, error) {
	var out []front
	for _, one := range all {
		f, err := g.front(ctx, one)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o front) bool { return o.Prod.ARN() == f.Prod.ARN() }) {
			return nil, unbalanced("two load balancers of the step have the rule %s", f.Prod.ARN())
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, misconfigured("the step has no load balancer")
	}
	return out, nil
}

func (g bluegreen) front(ctx context.Context, of lane.Balancer) (front, error) {
	f := front{}
	var err error
	if f.Prod, err = g.s.balancers.Route(ctx, of.Name, of.ProdListener, of.ProdRule); err != nil {
		return f, err
	}
	if of.StageRule == "" {
		return f, f.shared()
	}
	stage, err := g.s.balancers.Route(ctx, of.Name, of.StageListener, of.StageRule)
	if err != nil {
		return f, err
	}
	f.Stage, f.ProdGroups, f.StageGroups = &stage, sending(f.Prod), sending(stage)
	for _, r := range []alb.Route{f.Prod, stage} {
		if len(sending(r)) == 0 {
			return f, unbalanced("%s forwards to no target group", r.ARN())
		}
	}
	for _, group := range f.StageGroups {
		if slices.Contains(f.ProdGroups, group) {
			return f, unbalanced("%s and %s both forward to the target group %s; want one of its own for the stage", f.Prod.ARN(), stage.ARN(), group)
		}
	}
	return f, nil
}

// shared finds the target groups of a rule by whose weights traffic is shifted: the
// old group has all of it.
func (f *front) shared() error {
	weights := f.Prod.Weights()
	if len(weights) != 2 {
		return unbalanced("%s forwards to %s; to shift traffic it has to forward to two target groups", f.Prod.ARN(), f.Prod)
	}
	i := slices.IndexFunc(weights, func(w alb.Weight) bool { return w.Weight > 0 })
	if i < 0 || weights[1-i].Weight > 0 {
		return unbalanced("%s forwards to %s, so that nothing tells which one is for the new group; finish or reset the last shift first: one with the weight 100, the other with 0", f.Prod.ARN(), f.Prod)
	}
	f.ProdGroups, f.StageGroups = []string{weights[i].TargetGroup}, []string{weights[1-i].TargetGroup}
	return nil
}

// sending are the target groups to which a route sends traffic.
func sending(r alb.Route) []string {
	var out []string
	for _, w := range r.Weights() {
		if w.Weight > 0 {
			out = append(out, w.TargetGroup)
		}
	}
	return out
}

// attached is the first of some target groups in which a group registers its
// machines; empty: none.
func attached(one *types.AutoScalingGroup, groups []string) string {
	if one == nil {
		return ""
	}
	i := slices.IndexFunc(groups, func(arn string) bool { return slices.Contains(one.TargetGroupARNs, arn) })
	if i < 0 {
		return ""
	}
	return groups[i]
}

// colourOf is what the tags of a group say; empty: nothing.
func colourOf(tags []types.TagDescription) string { return tagIn(tags, colourTag) }

// tagIn is the value of a tag; empty: there is none.
func tagIn(tags []types.TagDescription, key string) string {
	for _, t := range tags {
		if sdk.ToString(t.Key) == key {
			return sdk.ToString(t.Value)
		}
	}
	return ""
}

// choose decides by the two groups, of which each may be nil, which one has the
// traffic and which one is for the new version. That is never one with traffic.
func (c *colours) choose(one, two *types.AutoScalingGroup) error {
	first := c.Fronts[0]
	both := []*types.AutoScalingGroup{one, two}
	serves := slices.IndexFunc(both, func(o *types.AutoScalingGroup) bool { return attached(o, first.ProdGroups) != "" })
	if serves < 0 { // target groups tell it for certain
		serves = slices.IndexFunc(both, func(o *types.AutoScalingGroup) bool {
			return o != nil && colourOf(o.Tags) == blue && attached(o, first.StageGroups) == ""
		})
	}
	if serves < 0 {
		c.New = c.of(1)
		return nil
	}
	c.Old, c.New = c.of(serves+1), c.of(2-serves)
	for _, f := range c.Fronts {
		if group := attached(both[1-serves], f.ProdGroups); group != "" {
			return unbalanced("Asg %s, which is for the new version, has traffic by the target group %s, and so has Asg %s by %s", c.New, group, c.Old, first.Prod.ARN())
		}
	}
	return nil
}

// colours are those that the stage has found before; nil: it has deployed to no
// group beside another one.
func (g bluegreen) colours(ctx context.Context) (*colours, error) {
	all, err := executor.Kept[*colours](ctx, g.s.Env, coloursKept)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// find looks for what there is, unless an earlier attempt has kept what it has found.
func (g bluegreen) find(ctx context.Context, name string) (*colours, error) {
	switch kept, err := g.colours(ctx); {
	case err != nil:
		return nil, err
	case kept != nil && kept.Group != name:
		return nil, misconfigured("the stage has deployed Asg %s in two colours already; want one step AsgBlueGreenDeploy in a stage", kept.Group)
	case kept != nil:
		return kept, nil
	}
	c := &colours{Group: name}
	var err error
	if c.Fronts, err = g.fronts(ctx, g.s.spec.Balancers); err != nil {
		return nil, err
	}
	live := map[string]*types.AutoScalingGroup{}
	for n := range 2 {
		if err := callable(c.of(n + 1)); err != nil {
			return nil, err
		}
		if live[c.of(n+1)], err = g.s.ready(ctx, c.of(n+1)); err != nil {
			return nil, err
		}
	}
	if err := c.choose(live[c.of(1)], live[c.of(2)]); err != nil {
		return nil, err
	}
	if live[c.New], err = rolling(g).undisturbed(ctx, c.New, live[c.New], lane.AnotherFails); err != nil {
		return nil, err
	}
	for _, one := range []string{c.Old, c.New} {
		if one == "" {
			continue
		}
		was, err := g.s.snapshot(ctx, one, live[one])
		if err != nil {
			return nil, err
		}
		c.Groups = append(c.Groups, was)
	}
	return c, nil
}
