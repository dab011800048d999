package asg

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// phasedKept begins the keys of what AsgSetup has found.
const phasedKept = "asg/phased/"

// phases are a group that serves and the one that follows it: each has the name of
// the step, and a number of its own behind that.
type phases struct {
	Group  string `json:"group"`
	New    before `json:"new"`
	Old    before `json:"old,omitzero"` // its Group is empty where nothing served
	Resize string `json:"resize"`
	// The sizes that the new group is to have in the end.
	Min    int32 `json:"min"`
	Max    int32 `json:"max"`
	Target int32 `json:"target"`
}

// move is a task that moves machines in phases from one group to the next.
type move struct{ s *session }

// tell gives the two groups as outputs, and to the ledger.
func (m move) tell(p phases) {
	m.s.outputs.Name, m.s.outputs.New, m.s.outputs.Old = p.New.Group, p.New.Group, p.Old.Group
	m.s.deploying(p.New.Group, p.Old.Group)
}

// numbered are the groups <name>__<n> that are there, by their numbers.
func (m move) numbered(ctx context.Context, name string) ([]types.AutoScalingGroup, error) {
	var out []types.AutoScalingGroup
	pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(m.s.groups, &autoscaling.DescribeAutoScalingGroupsInput{MaxRecords: sdk.Int32(mostGroups)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, m.s.Failed(ctx, "autoscaling:DescribeAutoScalingGroups", err)
		}
		for _, one := range page.AutoScalingGroups {
			if numberOf(name, sdk.ToString(one.AutoScalingGroupName)) > 0 && !going(&one) {
				out = append(out, one)
			}
		}
	}
	slices.SortFunc(out, func(a, b types.AutoScalingGroup) int {
		return cmp.Compare(numberOf(name, sdk.ToString(a.AutoScalingGroupName)), numberOf(name, sdk.ToString(b.AutoScalingGroupName)))
	})
	return out, nil
}

// numberOf is the number behind a group's name; 0: it has none.
func numberOf(group, name string) int {
	digits, ok := strings.CutPrefix(name, group+"__")
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" || digits[0] == '0' {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// setUp makes the group that follows the one that serves, without machines.
func (m move) setUp(ctx context.Context) error {
	w, err := reader(m).wanted(ctx)
	if err != nil {
		return err
	}
	m.s.In(prepareUnit)
	all, err := m.numbered(ctx, w.name)
	if err != nil {
		return err
	}
	p, err := m.keep(ctx, w, all)
	if err != nil {
		return err
	}
	m.tell(p)
	m.s.outputs.Target = &p.Target
	m.s.In(deployUnit)
	if err := m.tidy(ctx, all, p); err != nil {
		return err
	}
	live, err := m.s.ready(ctx, p.New.Group)
	if err != nil {
		return err
	}
	w.name, w.unused, w.policies, w.schedules = p.New.Group, true, nil, nil
	w.create.MinSize, w.create.MaxSize, w.create.DesiredCapacity = sdk.Int32(0), &p.Max, sdk.Int32(0)
	return rolling(m).change(ctx, w, live, p.New, usualRefresh())
}

// following is what the group is called that follows some numbered ones, and the
// newest of these that should have machines; nil: none.
func following(name string, all []types.AutoScalingGroup) (*types.AutoScalingGroup, string) {
	var old *types.AutoScalingGroup
	number := 0
	for i, one := range all {
		number = numberOf(name, sdk.ToString(one.AutoScalingGroupName))
		if sdk.ToInt32(one.DesiredCapacity) > 0 {
			old = &all[i]
		}
	}
	return old, fmt.Sprintf("%s__%d", name, number+1)
}

// keep keeps which group serves, and how, before the first change.
func (m move) keep(ctx context.Context, w *wanted, all []types.AutoScalingGroup) (phases, error) {
	p := phases{Group: w.name, Resize: m.s.spec.Resize}
	old, name := following(w.name, all)
	if err := m.s.sized(w, old); err != nil {
		return p, err
	}
	p.Min, p.Max, p.Target = *w.create.MinSize, *w.create.MaxSize, sdk.ToInt32(cmp.Or(w.create.DesiredCapacity, w.create.MinSize))
	if err := callable(name); err != nil {
		return p, err
	}
	var err error
	if p.New, err = m.s.snapshot(ctx, name, nil); err != nil {
		return p, err
	}
	if old != nil {
		if p.Old, err = m.s.snapshot(ctx, sdk.ToString(old.AutoScalingGroupName), old); err != nil {
			return p, err
		}
	}
	if p, err = executor.Keep(ctx, m.s.Env, m.s.key(phasedKept, w.name), p); err != nil {
		return p, err
	}
	if p.Old.Group == "" {
		m.s.Say("No Asg serves yet; the new one is %s", p.New.Group)
	} else {
		m.s.Say("Asg %s serves, with %d instances; the new one is %s", p.Old.Group, sdk.ToInt32(p.Old.Update.DesiredCapacity), p.New.Group)
	}
	return p, nil
}

// tidy deletes what earlier stages have left without machines, but for the newest of
// these.
func (m move) tidy(ctx context.Context, all []types.AutoScalingGroup, p phases) error {
	idle := slices.DeleteFunc(slices.Clone(all), func(one types.AutoScalingGroup) bool {
		name := sdk.ToString(one.AutoScalingGroupName)
		return sdk.ToInt32(one.DesiredCapacity) > 0 || name == p.New.Group || name == p.Old.Group
	})
	for _, one := range idle[:max(0, len(idle)-1)] {
		if err := m.drop(ctx, before{Group: sdk.ToString(one.AutoScalingGroupName)}); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes a group, and its launch template unless that was there before.
func (m move) drop(ctx context.Context, was before) error { return rollback(m).undo(ctx, was) }

// found is what AsgSetup has found in the stage; nil: it hasn't run.
func (m move) found(ctx context.Context) (*phases, error) {
	all, err := executor.Kept[*phases](ctx, m.s.Env, phasedKept)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	m.tell(*all[0])
	return all[0], nil
}

// deploy moves machines from the old group to the new one.
func (m move) deploy(ctx context.Context) error {
	how := m.s.spec.Selection
	if how == nil {
		return fault.New(fault.Invalid, "the task says nothing of how many machines move")
	}
	m.s.In(fetchUnit)
	w := &wanted{}
	if err := reader(m).policiesWanted(ctx, w); err != nil {
		return err
	}
	if err := reader(m).schedulesWanted(ctx, w); err != nil {
		return err
	}
	m.s.In(deployUnit)
	p, err := m.found(ctx)
	if err != nil {
		return err
	}
	if p == nil {
		return misconfigured("there is no group to give machines to; AsgSetup must run before, in the same stage")
	}
	up, old := p.sizes(*how)
	if up > p.Max {
		return misconfigured("Asg %s can have %d instances; want at most these, not %d", p.New.Group, p.Max, up)
	}
	m.s.outputs.NewCount, m.s.outputs.OldCount = &up, &old
	first, then := func() error { return m.grow(ctx, *p, w, up) }, func() error { return m.shrink(ctx, *p, old) }
	if p.Resize == lane.DownsizeOldFirst {
		first, then = then, first
	}
	if err := first(); err != nil {
		return err
	}
	return then()
}

// sizes are how many machines the new and the old group get.
func (p phases) sizes(how awslane.Amount) (up, old int32) {
	had := int32(0)
	if p.Old.Update != nil {
		had = sdk.ToInt32(p.Old.Update.DesiredCapacity)
	}
	up = selected(how, p.Target)
	old = max(0, had-up)
	if how.Percent {
		old = int32(int64(had) * int64(100-how.Value) / 100) //nolint:gosec // a number of machines
	}
	if up >= p.Target {
		old = 0
	}
	return up, old
}

// grow gives the new group machines. One that has all of them is scaled from then on.
func (m move) grow(ctx context.Context, p phases, w *wanted, n int32) error {
	size, scales := autoscaling.UpdateAutoScalingGroupInput{DesiredCapacity: &n}, scaling{}
	if n >= p.Target {
		size.MinSize, size.MaxSize = sdk.Int32(min(p.Min, n)), &p.Max
		scales = scaling{Policies: w.policies, Schedules: w.schedules}
	}
	if err := m.resize(ctx, p.New.Group, size); err != nil {
		return err
	}
	return m.s.scale(ctx, p.New.Group, scales)
}

// shrink leaves the old group fewer machines, and nothing that would start more.
func (m move) shrink(ctx context.Context, p phases, n int32) error {
	if p.Old.Group == "" {
		return nil
	}
	if err := m.s.scale(ctx, p.Old.Group, scaling{}); err != nil {
		return err
	}
	return m.resize(ctx, p.Old.Group, autoscaling.UpdateAutoScalingGroupInput{MinSize: sdk.Int32(min(n, sdk.ToInt32(p.Old.Update.MinSize))), DesiredCapacity: &n})
}

// resize gives a group another size, and waits until its machines serve.
func (m move) resize(ctx context.Context, name string, size autoscaling.UpdateAutoScalingGroupInput) error {
	live, err := m.s.live(ctx, name)
	if err != nil {
		return err
	}
	if live == nil || going(live) {
		return fault.New(fault.NotFound, "Asg %s isn't there any more", name)
	}
	m.s.touch(name)
	if err := m.s.update(ctx, live, &size); err != nil {
		return err
	}
	return m.s.settle(ctx, name)
}

// overtaken says whether the group of a later deployment has the machines of the
// stage's: what was before that doesn't come back beside it. While the stage's still
// has some, nothing can be rolled back.
func (m move) overtaken(ctx context.Context, p phases) (bool, error) {
	all, err := m.numbered(ctx, p.Group)
	if err != nil {
		return false, err
	}
	later, left := "", int32(0)
	for _, one := range all {
		name := sdk.ToString(one.AutoScalingGroupName)
		switch n := numberOf(p.Group, name); {
		case name == p.New.Group:
			left = sdk.ToInt32(one.DesiredCapacity)
		case n > numberOf(p.Group, p.New.Group) && sdk.ToInt32(one.DesiredCapacity) > 0:
			later = name
		}
	}
	switch {
	case later == "":
		return false, nil
	case left > 0:
		return false, fault.New(fault.Conflict, "Asg %s of a later deployment has instances, and %s still has %d; nothing is rolled back", later, p.New.Group, left).Causing(fault.Unknown)
	}
	m.s.Say("Nothing to roll back: Asg %s of a later deployment serves in the place of %s", later, p.New.Group)
	return true, nil
}

// back gives the old group its machines again, and deletes the new one.
func (m move) back(ctx context.Context) error {
	m.s.In(rollbackUnit)
	p, err := m.found(ctx)
	if err != nil {
		return err
	}
	if p == nil {
		m.s.Say("Nothing to roll back: AsgSetup changed nothing")
		return nil
	}
	if over, err := m.overtaken(ctx, *p); err != nil || over {
		return err
	}
	if p.Old.Group != "" {
		if err := m.s.refill(ctx, p.Old); err != nil {
			return err
		}
		if err := m.s.scale(ctx, p.Old.Group, p.Old.Scaling); err != nil {
			return err
		}
		m.s.outputs.Name = p.Old.Group
	}
	return m.drop(ctx, p.New)
}
