package elastigroup

import (
	"context"

	"github.com/slipway-cd/slipway/delegate/alb"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// bluegreen is a task that works with two groups and the load balancers before them.
type bluegreen struct {
	*session
	b *alb.Balancers
}

// reached is the task with the load balancers.
func (g bluegreen) reached(ctx context.Context) (bluegreen, error) {
	if g.spec.AWS == nil {
		return g, fault.New(fault.Invalid, "the task doesn't say how the load balancers are reached")
	}
	access, err := g.Accesses.Get(ctx, *g.spec.AWS, g.work.Execution)
	if err != nil {
		return g, err
	}
	g.b = alb.New(access)
	return g, nil
}

// tell gives both groups as outputs, and to the ledger.
func (g bluegreen) tell(c *colours, all found) {
	g.outputs.New, g.outputs.Old, g.outputs.OldID, g.outputs.Target = c.stage(), c.Old.Name, c.Old.ID, &c.Size.Target
	for _, f := range c.Fronts {
		r := route{LoadBalancer: f.LoadBalancer, ProdRule: f.Prod.ARN(), ProdGroup: f.ProdGroup, StageGroup: f.StageGroup}
		if f.Stage != nil {
			r.StageRule = f.Stage.ARN()
		}
		g.outputs.Balancers = append(g.outputs.Balancers, r)
	}
	for _, one := range c.made(all) {
		g.outputs.New, g.outputs.NewID = one.Name, one.ID
		g.touch(one.ID)
	}
	if all.by(c.Old.ID) != nil {
		g.touch(c.Old.ID)
	}
}

// setUp makes the new version a group beside the one that has the traffic.
func (g bluegreen) setUp(ctx context.Context) error {
	want, err := g.wanted(ctx)
	if err != nil {
		return err
	}
	g.In(prepareUnit)
	if g, err = g.reached(ctx); err != nil {
		return err
	}
	all, err := g.find(ctx)
	if err != nil {
		return err
	}
	c, err := g.keep(ctx, all)
	if err != nil {
		return err
	}
	if c.Old.ID == "" {
		g.Say("No Elastigroup %s has traffic yet", c.Name)
	} else {
		g.Say("Elastigroup %s (%s) has the traffic, with %d instances", c.Name, c.Old.ID, c.Old.Capacity.Target)
	}

	g.In(deployUnit)
	if err := put(want, c.groups()); err != nil {
		return err
	}
	made := c.made(all)
	if len(made) == 0 {
		g.Say("Creating Elastigroup %s with %d instances", c.stage(), c.Size.Target)
		one, err := g.create(ctx, sized(want, c.stage(), c.Size))
		if err != nil {
			return err
		}
		made, all = []group{one}, append(all, one)
	}
	g.tell(c, all)
	for _, id := range c.There {
		if one := all.by(id); one != nil && id != c.Old.ID {
			if err := g.drop(ctx, *one); err != nil {
				return err
			}
		}
	}
	if err := g.resize(ctx, made[0], c.Size); err != nil {
		return err
	}
	return g.steady(ctx, made[0], c.Size.Target)
}

// ready are the stage's colours and its new group, once that has its machines.
func (g bluegreen) ready(ctx context.Context) (*colours, group, found, error) {
	c, err := g.colours(ctx)
	if err != nil {
		return nil, group{}, nil, err
	}
	if c == nil {
		return nil, group{}, nil, wrong("no step ElastigroupBGStageSetup of this stage has made an Elastigroup")
	}
	all, err := g.find(ctx)
	if err != nil {
		return nil, group{}, nil, err
	}
	g.tell(c, all)
	made := c.made(all)
	if len(made) == 0 {
		return nil, group{}, nil, fault.New(fault.NotFound, "Elastigroup %s isn't there any more", c.stage()).Causing(fault.Unknown)
	}
	return c, made[0], all, nil
}

// swap gives the new group the traffic and the old one the stage's, and exchanges
// their names.
func (g bluegreen) swap(ctx context.Context) error {
	g.In(swapUnit)
	g, err := g.reached(ctx)
	if err != nil {
		return err
	}
	c, made, all, err := g.ready(ctx)
	if err != nil {
		return err
	}
	if err := g.steady(ctx, made, c.Size.Target); err != nil {
		return err
	}
	swapped := false
	for _, f := range c.Fronts {
		if f.Stage == nil {
			continue
		}
		swapped = true
		if err := g.send(ctx, f.Prod, alb.Weight{TargetGroup: f.StageGroup, Weight: 1}); err != nil {
			return err
		}
		if err := g.send(ctx, *f.Stage, alb.Weight{TargetGroup: f.ProdGroup, Weight: 1}); err != nil {
			return err
		}
	}
	if !swapped {
		return wrong("all load balancers of the stage's ElastigroupBGStageSetup have isTrafficShift: true; want ElastigroupBlueGreenTrafficShift, or isTrafficShift: false")
	}
	if err := g.rename(ctx, c, made, all); err != nil || !g.spec.Downsize {
		return err
	}
	if old := all.by(c.Old.ID); old != nil {
		old.Name = c.stage()
		return g.resize(ctx, *old, c.Old.Capacity.with(0))
	}
	return nil
}

// rename gives the new group the name of the one that had the traffic, and that one
// the stage's.
func (g bluegreen) rename(ctx context.Context, c *colours, made group, all found) error {
	if old := all.by(c.Old.ID); old != nil {
		if err := g.call(ctx, *old, c.stage()); err != nil {
			return err
		}
	}
	g.outputs.New = c.Name
	return g.call(ctx, made, c.Name)
}

// call gives a group a name.
func (g bluegreen) call(ctx context.Context, one group, name string) error {
	if one.Name == name {
		return nil
	}
	g.touch(one.ID)
	g.Say("Renaming Elastigroup %s (%s) to %s", one.Name, one.ID, name)
	return g.update(ctx, one.ID, document{"name": name})
}

// send changes to which target groups a route sends traffic.
func (g bluegreen) send(ctx context.Context, from alb.Route, to ...alb.Weight) error {
	live, err := g.b.Read(ctx, from)
	if err != nil {
		return err
	}
	want, err := live.Sending(to...)
	if err != nil {
		return err
	}
	if alb.Same(live.Actions, want.Actions) {
		g.Say("%s sends traffic to %s already", from.ARN(), want)
		return nil
	}
	if err := g.b.Write(ctx, want); err != nil {
		return err
	}
	g.Say("%s sends traffic to %s", from.ARN(), want)
	return nil
}

// whole is all of the traffic, in percent.
const whole = 100

// shift sends a part of the traffic to other target groups.
func (g bluegreen) shift(ctx context.Context) error {
	g.In(shiftUnit)
	g, err := g.reached(ctx)
	if err != nil {
		return err
	}
	how := g.spec.Shift
	switch {
	case how == nil:
		return fault.New(fault.Invalid, "the task says nothing of how traffic is shifted")
	case how.Percentage == nil:
		return g.shiftAlone(ctx, *how)
	}
	c, made, all, err := g.ready(ctx)
	if err != nil {
		return err
	}
	p := int32(*how.Percentage) //nolint:gosec // 0 to 100
	if p > 0 {
		if err := g.steady(ctx, made, c.Size.Target); err != nil {
			return err
		}
	}
	for _, f := range c.Fronts {
		if f.Stage != nil {
			continue
		}
		to := []alb.Weight{{TargetGroup: f.StageGroup, Weight: p}, {TargetGroup: f.ProdGroup, Weight: whole - p}}
		g.outputs.Weights = weighed(to)
		if err := g.send(ctx, f.Prod, to...); err != nil {
			return err
		}
	}
	switch {
	case g.outputs.Weights == nil:
		return wrong("no load balancer of the stage's ElastigroupBGStageSetup has isTrafficShift: true; want ElastigroupSwapRoute, or isTrafficShift: true")
	case p < whole:
		return nil
	}
	return g.rename(ctx, c, made, all)
}

// shiftAlone changes the weights of a rule that isn't the one of the stage's new
// group. It renames nothing.
func (g bluegreen) shiftAlone(ctx context.Context, how awslane.Shift) error {
	var to []alb.Weight
	for _, f := range how.Forward {
		to = append(to, alb.Weight{TargetGroup: f.TargetGroup, Weight: int32(min(f.Weight, alb.MaxWeight+1))}) //nolint:gosec // one past the bound is refused
	}
	if len(to) == 1 {
		to[0].Weight = 1 // all of it
	}
	if err := alb.Check(to); err != nil {
		return err
	}
	g.outputs.Weights = weighed(to)
	live, err := g.b.Route(ctx, how.LoadBalancer, how.Listener, how.Rule)
	if err != nil {
		return err
	}
	c, err := g.colours(ctx)
	if err != nil {
		return err
	}
	if c != nil {
		for _, f := range c.Fronts {
			if f.Prod.ARN() == live.ARN() {
				return wrong("%s is the rule of the stage's ElastigroupBGStageSetup; want another one, or the type Inherit", live.ARN())
			}
		}
	}
	if _, err := executor.Keep(ctx, g.Env, shiftKept+live.ARN(), live); err != nil {
		return err
	}
	return g.send(ctx, live, to...)
}

// weighed are weights by target group.
func weighed(to []alb.Weight) map[string]int32 {
	out := map[string]int32{}
	for _, w := range to {
		out[w.TargetGroup] = w.Weight
	}
	return out
}

// rollBack gives the old group its machines again, then the traffic, then its name,
// and deletes the new one. false: there was nothing to do.
func (g bluegreen) rollBack(ctx context.Context) (bool, error) {
	c, err := g.colours(ctx)
	if err != nil {
		return false, err
	}
	alone, err := executor.Kept[alb.Route](ctx, g.Env, shiftKept)
	if err != nil || c == nil && len(alone) == 0 {
		return false, err
	}
	if g, err = g.reached(ctx); err != nil {
		return true, err
	}
	if c == nil {
		return true, g.restoreRoutes(ctx, alone)
	}
	all, err := g.find(ctx)
	if err != nil {
		return true, err
	}
	if over, err := g.overtaken(c, all); err != nil || over {
		return true, err
	}
	g.tell(c, all)
	if err := g.restore(ctx, all, c.Old); err != nil {
		return true, err
	}
	routes := alone
	for _, f := range c.Fronts {
		routes = append(routes, f.Prod)
		if f.Stage != nil {
			routes = append(routes, *f.Stage)
		}
	}
	if err := g.restoreRoutes(ctx, routes); err != nil {
		return true, err
	}
	if old := all.by(c.Old.ID); old != nil {
		if err := g.call(ctx, *old, c.Name); err != nil {
			return true, err
		}
	}
	return true, g.discard(ctx, c.made(all))
}

// overtaken says whether a later deployment has put a group of its own in the place of
// the stage's: that keeps the traffic. Nothing is rolled back either while the stage's
// still has it.
func (g bluegreen) overtaken(c *colours, all found) (bool, error) {
	later, serves := "", ""
	for _, one := range c.made(all) {
		switch {
		case g.Accesses.Another(g.work, one.execution()):
			later = one.ID
		case one.Name == c.Name:
			serves = one.ID
		}
	}
	switch {
	case later == "":
		return false, nil
	case serves != "":
		return false, fault.New(fault.Conflict, "Elastigroup %s (%s) still has the traffic, and a later deployment has put %s beside it; nothing is rolled back",
			c.Name, serves, later).Causing(fault.Unknown)
	}
	g.Say("Nothing to roll back: a later deployment has put Elastigroup %s in the place of the stage's", later)
	return true, nil
}

// shiftBack makes the rules what they were whose weights the stage has changed by
// themselves.
func (g bluegreen) shiftBack(ctx context.Context) error {
	g.In(rollbackUnit)
	alone, err := executor.Kept[alb.Route](ctx, g.Env, shiftKept)
	if err != nil {
		return err
	}
	if len(alone) == 0 {
		g.Say("Nothing to roll back: the stage changed no rule by itself")
		return nil
	}
	if g, err = g.reached(ctx); err != nil {
		return err
	}
	return g.restoreRoutes(ctx, alone)
}

// restoreRoutes makes routes what they were.
func (g bluegreen) restoreRoutes(ctx context.Context, routes []alb.Route) error {
	for _, was := range routes {
		changed, err := g.b.Set(ctx, was)
		if err != nil {
			return err
		}
		if changed {
			g.Say("%s sends traffic to %s again", was.ARN(), was)
		} else {
			g.Say("%s is already as before", was.ARN())
		}
	}
	return nil
}
