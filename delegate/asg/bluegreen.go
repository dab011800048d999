package asg

import (
	"cmp"
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/alb"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// whole is all of the traffic, in percent.
const whole = 100

// bluegreen is what a task does whose stage has two groups, of which one has the
// traffic.
type bluegreen struct{ s *session }

// tell gives the two groups as outputs, and to the ledger: both run what is
// deployed, as long as they have machines.
func (g bluegreen) tell(c *colours) {
	g.s.outputs.Name, g.s.outputs.New, g.s.outputs.Old = c.New, c.New, c.Old
	g.s.deploying(c.New, c.Old)
}

// deploy makes the new version a group beside the one that has the traffic. The
// first one has it at once, for there is nobody else.
func (g bluegreen) deploy(ctx context.Context) error {
	w, err := reader(g).wanted(ctx)
	if err != nil {
		return err
	}
	g.s.In(prepareUnit)
	c, err := g.find(ctx, w.name)
	if err != nil {
		return err
	}
	g.s.Say("Traffic goes to %s; the new version is for Asg %s", cmp.Or(c.Old, "no group"), c.New)
	g.tell(c)
	if err := g.adapt(w, c); err != nil {
		return err
	}
	// For the steps that follow, and for the rollback.
	if c, err = executor.Keep(ctx, g.s.Env, g.s.key(coloursKept, c.Group), c); err != nil {
		return err
	}
	live, err := g.s.ready(ctx, c.New)
	if err != nil {
		return err
	}
	if err := rolling(g).change(ctx, w, live, c.was(c.New), usualRefresh()); err != nil || c.Old == "" {
		return err
	}
	return g.colour(ctx, c.Old, blue) // one that says something else is wrong
}

// adapt makes the documents those of one of the two groups.
func (g bluegreen) adapt(w *wanted, c *colours) error {
	var running *types.AutoScalingGroup
	if was := c.was(c.Old); was.Update != nil {
		running = &types.AutoScalingGroup{MinSize: was.Update.MinSize, MaxSize: was.Update.MaxSize, DesiredCapacity: was.Update.DesiredCapacity}
	}
	if err := g.s.sized(w, running); err != nil {
		return err
	}
	if w.create.DesiredCapacity == nil { // what the group had before doesn't count
		w.create.DesiredCapacity = w.create.MinSize
	}
	targets := c.targets()
	if own := w.create.TargetGroupARNs; len(own) > 0 && !slices.Equal(own, targets) {
		g.s.Say("The configuration's TargetGroupARNs are left out: Asg %s is attached to those of the rules, %s", c.New, strings.Join(targets, ", "))
	}
	w.name, w.unused, w.create.TargetGroupARNs = c.New, true, targets
	w.create.Tags = slices.DeleteFunc(w.create.Tags, func(t types.Tag) bool { return sdk.ToString(t.Key) == colourTag })
	w.create.Tags = append(w.create.Tags, tagOf(c.colour()))
	return nil
}

func tagOf(colour string) types.Tag {
	return types.Tag{Key: sdk.String(colourTag), Value: &colour, PropagateAtLaunch: sdk.Bool(true)}
}

// colour says on a group whether it has the traffic; empty: it said nothing before.
// One that is gone says nothing.
func (g bluegreen) colour(ctx context.Context, name, colour string) error {
	live, err := g.s.live(ctx, name)
	if err != nil || live == nil || colourOf(live.Tags) == colour {
		return err
	}
	tag := tagOf(colour)
	tag.ResourceId, tag.ResourceType = &name, sdk.String(taggedGroup)
	g.s.touch(name)
	if colour == "" {
		tag.Value = nil
		if _, err := g.s.groups.DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: []types.Tag{tag}}); err != nil {
			return g.s.Failed(ctx, "autoscaling:DeleteTags", err)
		}
		return nil
	}
	if _, err := g.s.groups.CreateOrUpdateTags(ctx, &autoscaling.CreateOrUpdateTagsInput{Tags: []types.Tag{tag}}); err != nil {
		return g.s.Failed(ctx, "autoscaling:CreateOrUpdateTags", err)
	}
	g.s.Say("Tagged Asg %s %s", name, colour)
	return nil
}

// swap gives the new group the traffic of the rules that have one for the stage
// beside them, and the old one the stage's.
func (g bluegreen) swap(ctx context.Context) error {
	g.s.In(swapUnit)
	c, err := g.made(ctx)
	if err != nil {
		return err
	}
	mine, others := c.split(true)
	if len(mine) == 0 {
		return misconfigured("no load balancer of the stage's AsgBlueGreenDeploy has a stageListenerRuleArn; want AsgShiftTraffic")
	}
	return g.move(ctx, c, others, func(ctx context.Context) error {
		for _, f := range mine {
			if err := g.send(ctx, f.Prod, f.Stage.Weights(), true); err != nil {
				return err
			}
		}
		for _, f := range mine {
			if err := g.send(ctx, *f.Stage, f.Prod.Weights(), false); err != nil {
				return err
			}
		}
		return nil
	})
}

// shift gives the new group a part of the traffic of the rules that both groups
// share.
func (g bluegreen) shift(ctx context.Context) error {
	g.s.In(shiftUnit)
	c, err := g.made(ctx)
	if err != nil {
		return err
	}
	mine, others := c.split(false)
	if len(mine) == 0 {
		return misconfigured("all load balancers of the stage's AsgBlueGreenDeploy have a stageListenerRuleArn; want AsgBlueGreenSwapService")
	}
	g.s.outputs.Weights = map[string]int32{}
	return g.move(ctx, c, others, func(ctx context.Context) error {
		for _, f := range mine {
			w := int32(g.s.spec.Traffic.Weight) //nolint:gosec // 0 to 100
			to := []alb.Weight{{TargetGroup: f.StageGroups[0], Weight: w}, {TargetGroup: f.ProdGroups[0], Weight: whole - w}}
			if err := g.send(ctx, f.Prod, to, true); err != nil {
				return err
			}
			for _, one := range to {
				g.s.outputs.Weights[one.TargetGroup] = one.Weight
			}
		}
		return nil
	})
}

// made are the colours of a stage that has deployed to one of two groups, for the
// steps that move its traffic.
func (g bluegreen) made(ctx context.Context) (*colours, error) {
	if g.s.spec.Traffic == nil {
		return nil, fault.New(fault.Invalid, "the task says nothing of how traffic is moved")
	}
	c, err := g.colours(ctx)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, misconfigured("no step AsgBlueGreenDeploy of this stage has deployed a group")
	}
	g.tell(c)
	return c, nil
}

// split are the load balancers whose target groups are swapped and those that shift
// traffic by weights, or the other way round.
func (c *colours) split(swapped bool) (mine, others []front) {
	for _, f := range c.Fronts {
		if (f.Stage != nil) == swapped {
			mine = append(mine, f)
		} else {
			others = append(others, f)
		}
	}
	return mine, others
}

// move moves traffic by the rules of some load balancers, and then says on the
// groups which one has it. The old one loses its machines only when it has no
// traffic, by no load balancer.
func (g bluegreen) move(ctx context.Context, c *colours, others []front, by func(context.Context) error) error {
	if c.Old == "" {
		g.s.Say("Asg %s is the first one, and has the traffic already", c.New)
		return nil
	}
	left, err := g.serving(ctx, others)
	if err != nil {
		return err
	}
	how := g.s.spec.Traffic
	if left != "" && how.Downsize {
		return misconfigured("Asg %s still has traffic by %s; want downsizeOldAsg: true in the step that moves the last of it", c.Old, left)
	}
	if err := by(ctx); err != nil {
		return err
	}
	old, now := blue, green
	if how.Weight == whole && left == "" {
		old, now = green, blue
	}
	if err := g.colour(ctx, c.New, now); err != nil {
		return err
	}
	if err := g.colour(ctx, c.Old, old); err != nil {
		return err
	}
	if !how.Downsize || how.Weight < whole {
		return nil
	}
	return g.retire(ctx, c.Old)
}

// serving is a rule by which the old group has traffic now; empty: none.
func (g bluegreen) serving(ctx context.Context, fronts []front) (string, error) {
	for _, f := range fronts {
		live, err := g.s.balancers.Read(ctx, f.Prod)
		if err != nil {
			return "", err
		}
		for _, group := range sending(live) {
			if slices.Contains(f.ProdGroups, group) {
				return live.ARN(), nil
			}
		}
	}
	return "", nil
}

// send changes to which target groups a route sends traffic, once somebody is there
// to answer it.
func (g bluegreen) send(ctx context.Context, from alb.Route, to []alb.Weight, answered bool) error {
	live, err := g.s.balancers.Read(ctx, from)
	if err != nil {
		return err
	}
	want, err := live.Sending(to...)
	if err != nil {
		return err
	}
	if alb.Same(live.Actions, want.Actions) {
		g.s.Say("%s sends traffic to %s already", from.ARN(), want)
		return nil
	}
	for _, group := range sending(want) {
		if !answered || slices.Contains(sending(live), group) {
			continue
		}
		if err := g.s.balancers.Answering(ctx, awswait.Wait{Pace: g.s.Pace, Log: g.s.Env.Log(g.s.Unit)}, group); err != nil {
			return err
		}
	}
	if err := g.s.balancers.Write(ctx, want); err != nil {
		return err
	}
	g.s.Say("%s sends traffic to %s", from.ARN(), want)
	return nil
}

// retire leaves the group that had the traffic without machines, and without
// anything that would start some.
func (g bluegreen) retire(ctx context.Context, name string) error {
	live, err := g.s.live(ctx, name)
	if err != nil || live == nil || going(live) {
		return err
	}
	if err := g.s.scale(ctx, name, scaling{}); err != nil {
		return err
	}
	return g.s.update(ctx, live, &autoscaling.UpdateAutoScalingGroupInput{MinSize: sdk.Int32(0), DesiredCapacity: sdk.Int32(0)})
}

// back gives the traffic back to the group that had it, and makes the new one what
// it was. Its order matters: traffic never goes to a group that isn't steady.
func (g bluegreen) back(ctx context.Context) error {
	g.s.In(rollbackUnit)
	c, err := g.colours(ctx)
	if err != nil {
		return err
	}
	if c == nil {
		g.s.Say("Nothing to roll back: AsgBlueGreenDeploy changed nothing")
		return nil
	}
	if c.Old == "" {
		if over, err := g.overtaken(ctx, c); err != nil || over {
			return err
		}
	} else if err := g.oldBack(ctx, c.was(c.Old)); err != nil {
		return err
	}
	if err := g.routesBack(ctx, c); err != nil {
		return err
	}
	if c.Old != "" {
		was := c.was(c.Old)
		if err := g.colour(ctx, c.Old, was.colour()); err != nil {
			return err
		}
		if err := g.s.scale(ctx, c.Old, was.Scaling); err != nil {
			return err
		}
	}
	err = rollback(g).restore(ctx, c.was(c.New))
	g.tell(c)
	g.s.outputs.Name = cmp.Or(c.Old, c.New)
	return err
}

// oldBack has the group that had the traffic serve what it did. One that a later
// deployment has updated is made what it was first.
func (g bluegreen) oldBack(ctx context.Context, was before) error {
	live, err := g.s.live(ctx, was.Group)
	if err != nil {
		return err
	}
	had := was.from()
	if live == nil || going(live) || had == nil {
		return g.s.refill(ctx, was)
	}
	now := templateOf(live)
	if err := g.s.number(ctx, now); err != nil {
		return err
	}
	if v := (version{ID: sdk.ToString(had.LaunchTemplateId), Number: sdk.ToString(had.Version)}); v.named(now) {
		return g.s.refill(ctx, was)
	}
	return rollback(g).restore(ctx, was)
}

// overtaken says whether a later deployment has put a group of its own in the place of
// the first one: that keeps the traffic. Nothing is rolled back either while the first
// one still has it, for nobody would have it then.
func (g bluegreen) overtaken(ctx context.Context, c *colours) (bool, error) {
	one, err := g.s.live(ctx, c.New)
	if err != nil {
		return false, err
	}
	later := c.of(1)
	if later == c.New {
		later = c.of(2)
	}
	other, err := g.s.live(ctx, later)
	if err != nil || other == nil || sdk.ToInt32(other.DesiredCapacity) == 0 {
		return false, err
	}
	for _, f := range c.Fronts {
		if attached(other, f.ProdGroups) == "" && attached(other, f.StageGroups) == "" {
			return false, nil
		}
		live, err := g.s.balancers.Read(ctx, f.Prod)
		if err != nil {
			return false, err
		}
		if group := attached(one, sending(live)); group != "" && sdk.ToInt32(one.DesiredCapacity) > 0 {
			return false, fault.New(fault.Conflict, "Asg %s still has the traffic by the target group %s, and a later deployment has put Asg %s beside it; nothing is rolled back",
				c.New, group, later).Causing(fault.Unknown)
		}
	}
	g.s.Say("Nothing to roll back: a later deployment has put Asg %s in the place of %s", later, c.New)
	return true, nil
}

// routesBack makes the rules what they were, production's first.
func (g bluegreen) routesBack(ctx context.Context, c *colours) error {
	var all []alb.Route
	for _, f := range c.Fronts {
		all = append(all, f.Prod)
	}
	for _, f := range c.Fronts {
		if f.Stage != nil {
			all = append(all, *f.Stage)
		}
	}
	for _, was := range all {
		changed, err := g.s.balancers.Set(ctx, was)
		if err != nil {
			return err
		}
		if changed {
			g.s.Say("%s sends traffic to %s again", was.ARN(), was)
		} else {
			g.s.Say("%s is already as before", was.ARN())
		}
	}
	return nil
}

// refill gives a group that served as many machines as it had, and waits for them.
func (s *session) refill(ctx context.Context, was before) error {
	live, err := s.live(ctx, was.Group)
	if err != nil {
		return err
	}
	if live == nil || going(live) {
		return fault.New(fault.NotFound, "Asg %s, which served before, isn't there any more; the new one stays as it is", was.Group)
	}
	least := sdk.Int32(max(sdk.ToInt32(live.MinSize), sdk.ToInt32(was.Update.MinSize)))
	now := sdk.Int32(max(sdk.ToInt32(live.DesiredCapacity), sdk.ToInt32(was.Update.DesiredCapacity)))
	s.touch(was.Group)
	if err := s.update(ctx, live, &autoscaling.UpdateAutoScalingGroupInput{MinSize: least, DesiredCapacity: now}); err != nil {
		return err
	}
	return s.settle(ctx, was.Group)
}
