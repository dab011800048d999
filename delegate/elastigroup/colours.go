package elastigroup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/alb"
	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
)

const (
	// stageSuffix ends the name of the group that hasn't the traffic.
	stageSuffix = "__STAGE__Elastigroup"

	// coloursKept begins the keys of what ElastigroupBGStageSetup has found, and
	// shiftKept those of rules whose weights a stage changes by themselves.
	coloursKept = "elastigroup/bluegreen/"
	shiftKept   = "elastigroup/shift/"
)

// colours is what a stage has found before it makes a group beside the one that has
// the traffic.
type colours struct {
	Name string   `json:"name"` // of the group that has the traffic
	Size capacity `json:"size"` // that the new one has
	Old  before   `json:"old,omitzero"`
	// There are the ids of all groups that had one of both names.
	There  []string `json:"there,omitempty"`
	Fronts []front  `json:"fronts"`
}

// front is a load balancer before both groups.
type front struct {
	LoadBalancer string     `json:"loadBalancer"`
	Prod         alb.Route  `json:"prod"`
	Stage        *alb.Route `json:"stage,omitempty"` // nil: the two share a route, by weights
	ProdGroup    string     `json:"prodGroup"`       // the target group of the old group
	StageGroup   string     `json:"stageGroup"`      // of the new one
}

// stage is the name of the group that hasn't the traffic.
func (c *colours) stage() string { return c.Name + stageSuffix }

// made are the groups of the stage: it makes one, whatever that is called by now.
func (c *colours) made(all found) []group { return all.named(c.There, c.Name, c.stage()) }

// groups are the target groups of the new group.
func (c *colours) groups() []string {
	return c.behind(func(f front) string { return f.StageGroup })
}

// behind are some target groups, each of them once.
func (c *colours) behind(group func(front) string) []string {
	var out []string
	for _, f := range c.Fronts {
		if one := group(f); !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

func unbalanced(format string, args ...any) error {
	return wrong("Invalid load balancer configuration: %w", fmt.Errorf(format, args...))
}

// front reads where a load balancer sends traffic, and so which target group is for
// the new group.
func (g bluegreen) front(ctx context.Context, b lane.Balancer) (front, error) {
	f := front{LoadBalancer: b.LoadBalancer, StageGroup: b.StageTargetGroup}
	var err error
	if f.Prod, err = g.route(ctx, b.LoadBalancer, b.ProdPort, b.ProdRule); err != nil {
		return f, err
	}
	weights := f.Prod.Weights()
	if b.Shift {
		own := slices.IndexFunc(weights, func(w alb.Weight) bool { return w.TargetGroup == f.StageGroup })
		if len(weights) != 2 || own < 0 {
			return f, unbalanced("%s forwards to %s; to shift traffic it has to forward to two target groups, one of them %s", f.Prod.ARN(), f.Prod, f.StageGroup)
		}
		f.ProdGroup = weights[1-own].TargetGroup
		return f, nil
	}
	stage, err := g.route(ctx, b.LoadBalancer, b.StagePort, b.StageRule)
	if err != nil {
		return f, err
	}
	f.Stage, f.ProdGroup, f.StageGroup = &stage, weights[0].TargetGroup, stage.Weights()[0].TargetGroup
	if stage.ARN() == f.Prod.ARN() || f.ProdGroup == f.StageGroup {
		return f, unbalanced("the rules %s and %s both send traffic to %s; want two rules with a target group each", f.Prod.ARN(), stage.ARN(), f.ProdGroup)
	}
	return f, nil
}

// route reads a rule of the listener at a port, which has to forward.
func (g bluegreen) route(ctx context.Context, balancer, port, rule string) (alb.Route, error) {
	listener, err := g.b.Listener(ctx, balancer, port)
	if err != nil {
		return alb.Route{}, err
	}
	r, err := g.b.Route(ctx, balancer, listener, rule)
	if err == nil && len(r.Weights()) == 0 {
		err = unbalanced("%s forwards to no target group", r.ARN())
	}
	return r, err
}

// keep looks for what there is and keeps it, for the steps that follow and for the
// rollback. What an earlier attempt has kept counts.
func (g bluegreen) keep(ctx context.Context, all found) (*colours, error) {
	if kept, err := g.colours(ctx); err != nil || kept != nil {
		return kept, err
	}
	c, err := g.decide(ctx, all)
	if err != nil {
		return nil, err
	}
	return executor.Keep(ctx, g.Env, coloursKept+c.Name, c)
}

// decide decides by what there is which group has the traffic, and what makes room.
func (g bluegreen) decide(ctx context.Context, all found) (*colours, error) {
	c := &colours{Name: g.spec.Name}
	for _, b := range g.spec.Balancers {
		f, err := g.front(ctx, b)
		if err != nil {
			return nil, err
		}
		c.Fronts = append(c.Fronts, f)
	}
	for _, one := range all.named(nil, c.Name, c.stage()) {
		c.There = append(c.There, one.ID)
		if one.Name != c.Name {
			if err := c.idle(one); err != nil {
				return nil, err
			}
			continue
		}
		if c.Old.ID != "" {
			return nil, wrong("the Elastigroups %s and %s are both called %s; want one of that name, which has the traffic", c.Old.ID, one.ID, c.Name)
		}
		c.Old = before{ID: one.ID, Name: one.Name, Capacity: one.Capacity}
		for _, f := range c.Fronts {
			if one.behind(f.StageGroup) && one.Capacity.Target > 0 {
				return nil, unbalanced("Elastigroup %s (%s), which has the traffic, is behind the target group %s, which is the stage's; want %s there", one.Name, one.ID, f.StageGroup, f.ProdGroup)
			}
		}
	}
	c.Size = c.Old.size(*g.spec.Size)
	return c, nil
}

// idle says whether a group may make room: nothing that may have traffic does.
func (c *colours) idle(one group) error {
	for _, f := range c.Fronts {
		for _, w := range f.Prod.Weights() {
			if w.Weight > 0 && one.Capacity.Target > 0 && one.behind(w.TargetGroup) {
				return unbalanced("Elastigroup %s (%s) has traffic by the target group %s; it isn't deleted to make room", one.Name, one.ID, w.TargetGroup)
			}
		}
	}
	return nil
}

// behind says whether a target group has a group's machines.
func (g group) behind(target string) bool {
	return slices.ContainsFunc(g.Compute.Launch.Balanced.LoadBalancers, func(b balancer) bool { return b.ARN == target })
}

// colours are those that the stage has found before; nil: it has made no group
// beside another one.
func (g bluegreen) colours(ctx context.Context) (*colours, error) {
	all, err := executor.Kept[*colours](ctx, g.Env, coloursKept)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// put puts a group that is to be made behind target groups alone.
func put(g document, targets []string) error {
	compute, err := member(g, "group", "compute")
	if err != nil {
		return err
	}
	launch, err := member(compute, "group.compute", "launchSpecification")
	if err != nil {
		return err
	}
	list := []balancer{}
	for _, arn := range targets {
		b := balancer{ARN: arn, Type: "TARGET_GROUP"}
		if parts := strings.Split(arn, "/"); len(parts) == 3 { // ...:targetgroup/name/id
			b.Name = parts[1]
		}
		list = append(list, b)
	}
	launch["loadBalancersConfig"] = document{"loadBalancers": list}
	delete(launch, "loadBalancerNames")
	return nil
}
