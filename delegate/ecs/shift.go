package ecs

import (
	"context"

	"github.com/slipway-cd/slipway/delegate/alb"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// shiftKept begins the keys of the checkpoints of rules whose weights a stage
// changes by themselves.
const shiftKept = "ecs/shift/"

// whole is all of the traffic, in percent.
const whole = 100

// shift sends a part of the traffic to other target groups.
func (g bluegreen) shift(ctx context.Context) error {
	g.s.In(shiftUnit)
	how := g.s.spec.Shift
	if how == nil {
		return fault.New(fault.Invalid, "the task says nothing of how traffic is shifted")
	}
	if how.Percentage == nil {
		return g.shiftAlone(ctx, *how)
	}
	c, err := g.made(ctx, true)
	if err != nil {
		return err
	}
	p := int32(*how.Percentage) //nolint:gosec // 0 to 100
	to := []alb.Weight{{TargetGroup: c.StageGroup, Weight: p}, {TargetGroup: c.ProdGroup, Weight: whole - p}}
	g.s.outputs.Weights = weighed(to)
	if err := g.send(ctx, c, c.Prod, to...); err != nil || p < whole {
		return err
	}
	return g.recolour(ctx, c)
}

// shiftAlone changes the weights of a rule that isn't the one of the stage's new
// service.
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
	g.s.outputs.Weights = weighed(to)
	live, err := g.b.Route(ctx, how.LoadBalancer, how.Listener, how.Rule)
	if err != nil {
		return err
	}
	c, err := g.colours(ctx)
	if err != nil {
		return err
	}
	if c != nil && c.Prod.ARN() == live.ARN() {
		return wrong("%s is the rule of the stage's EcsBlueGreenCreateService; want another one, or the type Inherit", live.ARN())
	}
	want, err := live.Sending(to...)
	if err != nil {
		return err
	}
	if _, err := executor.Keep(ctx, g.s.Env, shiftKept+live.ARN(), live); err != nil {
		return err
	}
	if alb.Same(live.Actions, want.Actions) {
		g.s.Say("%s sends traffic to %s already", live.ARN(), want)
		return nil
	}
	if err := g.b.Write(ctx, want); err != nil {
		return err
	}
	g.s.Say("%s sends traffic to %s", live.ARN(), want)
	return nil
}

// weighed are weights by target group.
func weighed(to []alb.Weight) map[string]int32 {
	out := map[string]int32{}
	for _, w := range to {
		out[w.TargetGroup] = w.Weight
	}
	return out
}

// shiftBack makes the rules that the stage has changed by themselves what they
// were, the newest change first.
func (g bluegreen) shiftBack(ctx context.Context) error {
	g.s.In(rollbackUnit)
	all, err := executor.Kept[alb.Route](ctx, g.s.Env, shiftKept)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		g.s.Say("Nothing to roll back: no EcsBlueGreenTrafficShift of the type Standalone has changed a rule")
	}
	for _, was := range all {
		if err := g.route(ctx, was); err != nil {
			return err
		}
	}
	return nil
}

// route makes a route what it was.
func (g bluegreen) route(ctx context.Context, was alb.Route) error {
	changed, err := g.b.Set(ctx, was)
	if err != nil {
		return err
	}
	if changed {
		g.s.Say("%s sends traffic to %s again", was.ARN(), was)
	} else {
		g.s.Say("%s is already as before", was.ARN())
	}
	return nil
}
