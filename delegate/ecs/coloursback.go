package ecs

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// rollGreenBack gives the traffic back to the service that had it. Its order
// matters: traffic never goes to a service that isn't steady.
func (g bluegreen) rollGreenBack(ctx context.Context) error {
	g.s.In(rollbackUnit)
	c, err := g.colours(ctx)
	if err != nil {
		return err
	}
	if c == nil {
		g.s.Say("Nothing to roll back: EcsBlueGreenCreateService changed nothing")
		return nil
	}
	if over, err := g.overtaken(ctx, c); err != nil || over {
		return err
	}
	g.tell(c)
	if err := g.refill(ctx, c); err != nil {
		return err
	}
	if err := g.route(ctx, c.Prod); err != nil {
		return err
	}
	if c.Stage != nil {
		if err := g.route(ctx, *c.Stage); err != nil {
			return err
		}
	}
	for _, one := range c.Services {
		if err := g.colourBack(ctx, one); err != nil {
			return err
		}
	}
	if _, there := c.was(c.New); !there {
		if _, err := g.s.sought(ctx, c.New); err != nil {
			return err
		}
		if err := g.colour(ctx, c.New, green); err != nil {
			return err
		}
	}
	if err := g.oldBack(ctx, c); err != nil {
		return err
	}
	return g.drain(ctx, c)
}

// overtaken says whether a later deployment has put a service of its own in the
// place of the stage's: that keeps the traffic. Nothing is rolled back either while
// the stage's still has it, for it would go to what nobody has given it yet.
func (g bluegreen) overtaken(ctx context.Context, c *colours) (bool, error) {
	all, err := g.s.numberedServices(ctx, c.Service)
	if err != nil {
		return false, err
	}
	now := *c
	if now.Prod, err = g.b.Read(ctx, c.Prod); err != nil {
		return false, err
	}
	later, group, serves := "", "", false
	for _, one := range all {
		name := nameOf(&one.Service)
		_, known := c.was(name)
		switch {
		case name == c.New:
			serves = now.traffic(one.Service) != ""
		case known || one.DesiredCount == 0:
		case behind(one.Service, c.ProdGroup):
			later, group = name, c.ProdGroup
		case behind(one.Service, c.StageGroup):
			later, group = name, c.StageGroup
		}
	}
	switch {
	case later == "":
		return false, nil
	case serves:
		return false, fault.New(fault.Conflict, "service %s still has the traffic, and a later deployment has put service %s behind the target group %s; nothing is rolled back",
			c.New, later, group).Causing(fault.Unknown)
	}
	g.s.Say("Nothing to roll back: a later deployment has put service %s in the place of %s", later, c.New)
	return true, nil
}

// oldBack gives the service that had the traffic its tags again, and what scaled it.
func (g bluegreen) oldBack(ctx context.Context, c *colours) error {
	old, ok := c.was(c.Old)
	if !ok {
		return nil
	}
	live, err := g.s.live(ctx, c.Old)
	if err != nil || live == nil {
		return err
	}
	if err := (rollback{g.s}).markBack(ctx, live, old); err != nil || old.Scaling == nil {
		return err
	}
	return g.s.converge(ctx, *old.Scaling, c.Old)
}

// refill gives the service that had the traffic as many tasks as it had, of the task
// definition that it had, and waits for them.
func (g bluegreen) refill(ctx context.Context, c *colours) error {
	old, ok := c.was(c.Old)
	if !ok {
		return nil
	}
	live, err := g.s.live(ctx, c.Old)
	if err != nil {
		return err
	}
	if live == nil {
		return fault.New(fault.NotFound, "service %s, which had the traffic, isn't there any more; the traffic stays where it is", c.Old)
	}
	in := &ecs.UpdateServiceInput{}
	if count := sdk.ToInt32(old.Update.DesiredCount); live.DesiredCount < count {
		in.DesiredCount = &count
	}
	if sdk.ToString(live.TaskDefinition) != old.definition() { // a later deployment has updated it
		in, _ = difference(old.Update, live)
		arn, err := g.s.registerAgain(ctx, old.definition())
		if err != nil {
			return err
		}
		in.TaskDefinition = &arn
	}
	if in.DesiredCount == nil && in.TaskDefinition == nil {
		return nil
	}
	one, err := g.s.update(ctx, live, in)
	if err != nil {
		return err
	}
	return g.s.settle(ctx, rollout{service: c.Old, deployment: newestID(one), previous: newestID(live)}, known(live))
}

// colourBack gives a service the colour that it had.
func (g bluegreen) colourBack(ctx context.Context, was before) error {
	for _, colour := range []string{blue, green} {
		if has(was.Tags, colourTag, colour) {
			return g.colour(ctx, was.Service, colour)
		}
	}
	live, err := g.s.live(ctx, was.Service)
	if err != nil || live == nil || !has(live.Tags, colourTag, blue) && !has(live.Tags, colourTag, green) {
		return err
	}
	if _, err := g.s.ecs.UntagResource(ctx, &ecs.UntagResourceInput{ResourceArn: live.ServiceArn, TagKeys: []string{colourTag}}); err != nil {
		return g.s.Failed(ctx, "ecs:UntagResource", err)
	}
	return nil
}

// drain leaves the new service without tasks, and without anything that would
// start some.
func (g bluegreen) drain(ctx context.Context, c *colours) error {
	live, err := g.s.live(ctx, c.New)
	if err != nil {
		return err
	}
	if live == nil || sdk.ToString(live.Status) == draining {
		g.s.Say("There is no service %s", c.New)
		return nil
	}
	if err := g.s.converge(ctx, scaling{}, c.New); err != nil {
		return err
	}
	if live.DesiredCount > 0 {
		if _, err := g.s.update(ctx, live, &ecs.UpdateServiceInput{DesiredCount: sdk.Int32(0)}); err != nil {
			return err
		}
	}
	return g.s.emptied(ctx, c.New)
}
