package asg

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// canarySuffix ends the name of the group beside the one that serves.
const canarySuffix = "__Canary"

// canary deploys to a group beside the one that serves, with some machines and with
// nothing that changes how many.
func (r rolling) canary(ctx context.Context) error {
	how := r.s.spec.Selection
	if how == nil {
		return fault.New(fault.Invalid, "the task says nothing of how many machines a canary has")
	}
	w, err := reader(r).wanted(ctx)
	if err != nil {
		return err
	}
	desired := w.create.DesiredCapacity
	if desired == nil {
		desired = w.create.MinSize
	}
	if desired == nil && how.Percent {
		return misconfigured("the configuration of Asg %s says neither DesiredCapacity nor MinSize, of which the canary has %d %%", w.name, how.Value)
	}
	n := selected(*how, sdk.ToInt32(desired))
	if how.Percent {
		n = max(n, 1)
	}
	w.name += canarySuffix
	if err := callable(w.name); err != nil {
		return err
	}
	w.create.MinSize, w.create.MaxSize, w.create.DesiredCapacity = &n, &n, &n
	w.policies, w.schedules, w.metrics = nil, nil, nil
	r.s.In(prepareUnit)
	live, err := r.s.ready(ctx, w.name)
	if err != nil {
		return err
	}
	return r.put(ctx, w, live, canaryKept, usualRefresh())
}

// usualRefresh replaces machines where the step says nothing of how.
func usualRefresh() lane.Refresh {
	return lane.Refresh{MinHealthy: usualMinHealthy, MaxHealthy: usualMaxHealthy, SkipMatching: true, Another: lane.AnotherFails}
}

// The bounds of such a refresh, in percent.
const (
	usualMinHealthy = 90
	usualMaxHealthy = 110
)

// selected is how many machines are meant, where there should be some now.
func selected(how awslane.Amount, of int32) int32 {
	if !how.Percent {
		return int32(how.Value) //nolint:gosec // a number of machines
	}
	return int32((int64(of)*int64(how.Value) + 99) / 100) //nolint:gosec // likewise
}

// canary is a task about the group beside the one that serves.
type canary struct{ s *session }

// remove deletes it with its launch template, also where no step of the stage has
// made it.
func (c canary) remove(ctx context.Context) error {
	c.s.In(canaryUnit)
	all, err := executor.Kept[before](ctx, c.s.Env, canaryKept)
	if err != nil {
		return err
	}
	name := ""
	if len(all) > 0 {
		name = all[0].Group
	} else {
		if name, err = reader(c).name(ctx); err != nil {
			return err
		}
		name += canarySuffix
		c.s.In(canaryUnit)
	}
	c.s.outputs.Name = name
	if err := c.s.remove(ctx, name); err != nil {
		return err
	}
	return c.s.deleteTemplate(ctx, name)
}
