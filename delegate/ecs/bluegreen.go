package ecs

import (
	"cmp"
	"context"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/alb"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// The sections of the log of blue/green steps.
const (
	swapUnit  = "Swap Target Groups"
	shiftUnit = "Traffic Shift"
)

// bluegreen is what a task does whose stage has two services, of which one has the
// traffic.
type bluegreen struct {
	s *session
	b *alb.Balancers
}

func newBluegreen(s *session) bluegreen { return bluegreen{s, alb.New(s.Access)} }

// tell gives the two services as outputs, and to the ledger: both run what is
// deployed, as long as they have tasks.
func (g bluegreen) tell(c *colours) {
	g.s.outputs.colours(c)
	g.s.deploying(c.New, c.Old)
}

// look reads where the traffic goes, and by that the documents of the service.
func (g bluegreen) look(ctx context.Context, unit string) (*colours, *wanted, error) {
	how := g.s.spec.BlueGreen
	if how == nil {
		return nil, nil, fault.New(fault.Invalid, "the task says nothing of load balancers")
	}
	g.s.In(unit)
	c, err := routes(ctx, g.b, *how)
	if err != nil {
		return nil, nil, err
	}
	g.s.group = c.StageGroup
	w, err := g.s.documents().wanted(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := balanced(w, c.StageGroup); err != nil {
		return nil, nil, err
	}
	g.s.In(unit)
	c.Service = w.name
	return c, w, nil
}

// createGreen makes the new version a service beside the one that has the
// traffic.
func (g bluegreen) createGreen(ctx context.Context) error {
	c, w, err := g.look(ctx, prepareUnit)
	if err != nil {
		return err
	}
	how := g.s.spec.BlueGreen
	if c, err = g.find(ctx, c, how.UpdateGreen); err != nil {
		return err
	}
	g.s.Say("Traffic goes to %s, by %s", cmp.Or(c.Old, "no service"), c.Prod)
	g.tell(c)
	g.s.In(deployUnit)
	if err := g.makeRoom(ctx, c); err != nil {
		return err
	}
	if err := g.deployGreen(ctx, c, w.named(c.New)); err != nil {
		return err
	}
	return g.scaleGreen(ctx, c, w.scaling, !how.ScaleInSwap)
}

// balanced says whether the service is behind the target group that it is given.
func balanced(w *wanted, group string) error {
	if err := w.countable("there can't be two of it"); err != nil {
		return err
	}
	for _, l := range w.create.LoadBalancers {
		if sdk.ToString(l.TargetGroupArn) == group {
			return nil
		}
	}
	return wrong("no load balancer of the service definition has the target group %s; want targetGroupArn: <+targetGroupArn> in loadBalancers", group)
}

// makeRoom deletes the services whose target group the new one gets. One that has
// the new one's name may be the new one already.
func (g bluegreen) makeRoom(ctx context.Context, c *colours) error {
	for _, name := range c.Doomed {
		if name == c.New {
			live, err := g.s.live(ctx, name)
			if err != nil {
				return err
			}
			was, _ := c.was(name)
			if live == nil || newestID(live) != was.Deployment {
				continue
			}
		}
		if err := g.s.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// deployGreen makes the new service, or updates the one that is there, and waits
// until it is steady.
func (g bluegreen) deployGreen(ctx context.Context, c *colours, w *wanted) error {
	if old, ok := c.was(c.Old); ok && g.s.spec.SameCount {
		w.create.DesiredCount, w.update.DesiredCount = old.Update.DesiredCount, old.Update.DesiredCount
	}
	g.s.spec.SameCount = false // as many as the old one has, not as the new one has
	live, err := g.s.ready(ctx, c.New)
	if err != nil {
		return err
	}
	definition, err := g.s.toDeploy(ctx, w)
	if err != nil {
		return err
	}
	was, _ := c.was(c.New)
	if slices.Contains(c.Doomed, c.New) {
		was = before{Service: c.New, First: true}
	}
	if err := g.s.deploy(ctx, w, live, definition, was); err != nil {
		return err
	}
	if err := g.colour(ctx, c.New, green); err != nil {
		return err
	}
	// Tags that disagree with the target groups are wrong.
	for _, one := range c.Services {
		want := green
		if one.Service == c.Old {
			want = blue
		}
		if one.Service == c.New || slices.Contains(c.Doomed, one.Service) || has(one.Tags, colourTag, want) {
			continue
		}
		if err := g.colour(ctx, one.Service, want); err != nil {
			return err
		}
	}
	return nil
}

// colour says on a service whether it has the traffic. One that is gone says
// nothing.
func (g bluegreen) colour(ctx context.Context, name, colour string) error {
	live, err := g.s.live(ctx, name)
	if err != nil || live == nil || has(live.Tags, colourTag, colour) {
		return err
	}
	g.s.touch(name)
	if _, err := g.s.ecs.TagResource(ctx, &ecs.TagResourceInput{
		ResourceArn: live.ServiceArn, Tags: []types.Tag{{Key: sdk.String(colourTag), Value: &colour}},
	}); err != nil {
		return g.s.Failed(ctx, "ecs:TagResource", err)
	}
	g.s.Say("Tagged service %s %s", name, colour)
	return nil
}

// scaleGreen has the new service scaled. Where both are behind one target group
// there is no swap, so that the old one isn't scaled any more from here on.
func (g bluegreen) scaleGreen(ctx context.Context, c *colours, wanted scaling, now bool) error {
	if now {
		if err := g.s.converge(ctx, wanted.of(g.s.cluster, c.New), c.New); err != nil {
			return err
		}
	}
	if c.Old == "" || c.ProdGroup != c.StageGroup {
		return nil
	}
	return g.s.converge(ctx, scaling{}, c.Old)
}

// made are the colours of a stage that has made a service, for the steps that
// move its traffic.
func (g bluegreen) made(ctx context.Context, shift bool) (*colours, error) {
	c, err := g.colours(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case c == nil:
		return nil, wrong("no step EcsBlueGreenCreateService of this stage has made a service")
	case shift && c.Stage != nil:
		return nil, wrong("the stage's EcsBlueGreenCreateService has isTrafficShift: false; want EcsBlueGreenSwapTargetGroups, or isTrafficShift: true")
	case !shift && c.Stage == nil:
		return nil, wrong("the stage's EcsBlueGreenCreateService has isTrafficShift: true; want EcsBlueGreenTrafficShift, or isTrafficShift: false")
	}
	g.tell(c)
	return c, nil
}

// swap gives the new service the traffic and the old one the stage's.
func (g bluegreen) swap(ctx context.Context) error {
	g.s.In(swapUnit)
	c, err := g.made(ctx, false)
	if err != nil {
		return err
	}
	if err := g.send(ctx, c, c.Prod, alb.Weight{TargetGroup: c.StageGroup, Weight: 1}); err != nil {
		return err
	}
	if err := g.send(ctx, c, *c.Stage, alb.Weight{TargetGroup: c.ProdGroup, Weight: 1}); err != nil {
		return err
	}
	if err := g.recolour(ctx, c); err != nil {
		return err
	}
	if c.ScaleInSwap {
		var w wanted
		if err := g.s.documents().scalingWanted(ctx, &w); err != nil {
			return err
		}
		g.s.In(swapUnit)
		if err := g.s.converge(ctx, w.scaling.of(g.s.cluster, c.New), c.New); err != nil {
			return err
		}
	}
	if c.Old == "" {
		return nil
	}
	if err := g.s.converge(ctx, scaling{}, c.Old); err != nil {
		return err
	}
	return g.retire(ctx, c.Old)
}

// send changes to which target groups a route sends traffic, once somebody is
// there to answer it.
func (g bluegreen) send(ctx context.Context, c *colours, from alb.Route, to ...alb.Weight) error {
	live, err := g.b.Read(ctx, from)
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
	if from.ARN() == c.Prod.ARN() && to[0].Weight > 0 {
		if err := g.b.Answering(ctx, awswait.Wait{Pace: g.s.Pace, Log: g.s.Env.Log(g.s.Unit)}, c.StageGroup); err != nil {
			return err
		}
	}
	if err := g.b.Write(ctx, want); err != nil {
		return err
	}
	g.s.Say("%s sends traffic to %s", from.ARN(), want)
	return nil
}

// recolour says on the services that the new one has the traffic.
func (g bluegreen) recolour(ctx context.Context, c *colours) error {
	if err := g.colour(ctx, c.New, blue); err != nil || c.Old == "" {
		return err
	}
	return g.colour(ctx, c.Old, green)
}

// retire leaves the service that had the traffic without tasks, after a while.
func (g bluegreen) retire(ctx context.Context, name string) error {
	how := g.s.spec.Swap
	if how == nil || how.KeepOld {
		return nil
	}
	if how.Delay > 0 {
		g.s.Say("Service %s is scaled down in %d seconds", name, how.Delay)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(how.Delay) * time.Second):
		}
	}
	live, err := g.s.live(ctx, name)
	if err != nil || live == nil || live.DesiredCount == 0 {
		return err
	}
	_, err = g.s.update(ctx, live, &ecs.UpdateServiceInput{DesiredCount: sdk.Int32(0)})
	return err
}
