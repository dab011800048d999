package ecs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// phasedKept begins the keys of what EcsServiceSetup has found.
const phasedKept = "ecs/phased/"

// phases are a service that serves and the one that follows it: each has the
// service definition's name, and a number of its own behind that.
type phases struct {
	New    string `json:"new"`
	Target int32  `json:"target"` // how many tasks the new one is to have in the end
	Resize string `json:"resize"`
	Old    before `json:"old,omitzero"` // its Service is empty where nothing served
}

// oldCount is how many tasks the old service should have had before.
func (p phases) oldCount() int32 {
	if p.Old.Update == nil {
		return 0
	}
	return sdk.ToInt32(p.Old.Update.DesiredCount)
}

// numbered is a service whose name has a number behind another's.
type numbered struct {
	types.Service
	number int
}

// numberedServices are the services <name>__<n> that are there, by their numbers.
func (c cluster) numberedServices(ctx context.Context, name string) ([]numbered, error) {
	var names []string
	pages := ecs.NewListServicesPaginator(c.ecs, &ecs.ListServicesInput{Cluster: &c.name, MaxResults: sdk.Int32(mostTasks)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, c.Failed(ctx, "ecs:ListServices", err)
		}
		for _, arn := range page.ServiceArns {
			if _, ok := numberOf(name, last(arn)); ok {
				names = append(names, last(arn))
			}
		}
	}
	found, err := c.describe(ctx, names)
	if err != nil {
		return nil, err
	}
	var out []numbered
	for full, one := range found {
		if n, _ := numberOf(name, full); sdk.ToString(one.Status) != inactive {
			out = append(out, numbered{one, n})
		}
	}
	slices.SortFunc(out, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	return out, nil
}

// move is a task that moves tasks of ECS in phases from one service to the next.
type move struct{ *session }

// setUp makes the service that follows the one that serves, without tasks.
func (s move) setUp(ctx context.Context) error {
	w, err := s.documents().wanted(ctx)
	if err != nil {
		return err
	}
	if err := w.countable("it can't be moved in phases"); err != nil {
		return err
	}
	s.In(prepareUnit)
	all, err := s.numberedServices(ctx, w.name)
	if err != nil {
		return err
	}
	p, err := s.keepPhases(ctx, w, all)
	if err != nil {
		return err
	}
	s.outputs.New, s.outputs.Old, s.outputs.Target = p.New, p.Old.Service, &p.Target
	s.deploying(p.New, p.Old.Service)

	s.In(deployUnit)
	if err := s.tidy(ctx, all, p); err != nil {
		return err
	}
	live, err := s.ready(ctx, p.New)
	if err != nil {
		return err
	}
	definition, err := s.toDeploy(ctx, w)
	if err != nil {
		return err
	}
	w = w.named(p.New)
	w.create.DesiredCount, w.update.DesiredCount = sdk.Int32(0), sdk.Int32(0)
	return s.deploy(ctx, w, live, definition, before{Service: p.New, First: true})
}

// following is what the service is called that follows some numbered ones, and the
// newest of these that should have tasks; nil: none.
func following(name string, all []numbered) (*types.Service, string) {
	var old *types.Service
	number := 0
	for i, one := range all {
		if number = one.number; one.DesiredCount > 0 {
			old = &all[i].Service
		}
	}
	return old, fmt.Sprintf("%s__%d", name, number+1)
}

// keepPhases keeps which service serves, and how, before the first change.
func (s move) keepPhases(ctx context.Context, w *wanted, all []numbered) (phases, error) {
	p := phases{Target: 1, Resize: s.spec.Resize}
	if w.create.DesiredCount != nil {
		p.Target = *w.create.DesiredCount
	}
	old, name := following(w.name, all)
	p.New = name
	if old != nil {
		scales, err := s.scalingOf(ctx, nameOf(old))
		if err != nil {
			return p, err
		}
		p.Old = beforeOf(old, &scales)
	}
	if s.spec.SameCount && p.Old.Service != "" {
		p.Target = p.oldCount()
	}
	p, err := executor.Keep(ctx, s.Env, s.key(phasedKept, w.name), p)
	if err != nil {
		return p, err
	}
	if p.Old.Service == "" {
		s.Say("No service serves yet; the new one is %s", p.New)
	} else {
		s.Say("Service %s serves, with %d tasks; the new one is %s", p.Old.Service, p.oldCount(), p.New)
	}
	return p, nil
}

// tidy deletes what earlier stages have left without tasks, but for the newest of
// these.
func (s move) tidy(ctx context.Context, all []numbered, p phases) error {
	idle := slices.DeleteFunc(slices.Clone(all), func(one numbered) bool {
		return one.DesiredCount > 0 || sdk.ToString(one.ServiceName) == p.New || sdk.ToString(one.ServiceName) == p.Old.Service
	})
	for _, one := range idle[:max(0, len(idle)-1)] {
		if err := s.remove(ctx, sdk.ToString(one.ServiceName)); err != nil {
			return err
		}
	}
	return nil
}

// phasesOf is what EcsServiceSetup has found in the stage; false: it hasn't run.
func (s move) phasesOf(ctx context.Context) (phases, bool, error) {
	all, err := executor.Kept[phases](ctx, s.Env, phasedKept)
	if err != nil || len(all) == 0 {
		return phases{}, false, err
	}
	p := all[0]
	s.outputs.New, s.outputs.Old = p.New, p.Old.Service
	s.deploying(p.New, p.Old.Service)
	return p, true, nil
}

// upgrade moves tasks from the old service to the new one.
func (s move) upgrade(ctx context.Context) error {
	s.In(fetchUnit)
	w := &wanted{}
	if err := s.documents().scalingWanted(ctx, w); err != nil {
		return err
	}
	s.In(deployUnit)
	p, ok, err := s.phasesOf(ctx)
	if err != nil {
		return err
	}
	if !ok || s.spec.Upgrade == nil {
		return wrong("there is no service to give tasks to; EcsServiceSetup must run before, in the same stage")
	}
	up, old := resized(*s.spec.Upgrade, p)
	s.outputs.NewCount, s.outputs.OldCount = &up, &old
	grow := func() error {
		if err := s.resize(ctx, p.New, up); err != nil {
			return err
		}
		if up < p.Target {
			return nil
		}
		return s.converge(ctx, w.scaling.of(s.cluster, p.New), p.New)
	}
	shrink := func() error {
		if p.Old.Service == "" {
			return nil
		}
		if err := s.converge(ctx, scaling{}, p.Old.Service); err != nil { // it would bring the tasks back
			return err
		}
		return s.resize(ctx, p.Old.Service, old)
	}
	first, then := grow, shrink
	if p.Resize == lane.DownsizeOldFirst {
		first, then = shrink, grow
	}
	if err := first(); err != nil {
		return err
	}
	return then()
}

// resized is how many tasks the new and the old service get.
func resized(u lane.Upgrade, p phases) (up, old int32) {
	original := p.oldCount()
	up = int32(u.New.Value) //nolint:gosec // a number of tasks
	if u.New.Percent {
		up = int32((int64(p.Target)*int64(u.New.Value) + 99) / 100) //nolint:gosec // likewise
	}
	switch {
	case u.Old != nil && u.Old.Percent:
		old = int32(int64(original) * int64(u.Old.Value) / 100) //nolint:gosec // likewise
	case u.Old != nil:
		old = int32(u.Old.Value) //nolint:gosec // likewise
	case u.New.Percent:
		old = int32(int64(original) * int64(100-min(100, u.New.Value)) / 100) //nolint:gosec // likewise
	default:
		old = max(0, original-up)
	}
	return up, old
}

// resize gives a service a number of tasks, and waits until they run.
func (s move) resize(ctx context.Context, name string, n int32) error {
	live, err := s.live(ctx, name)
	if err != nil {
		return err
	}
	if live == nil || sdk.ToString(live.Status) == draining {
		return fault.New(fault.NotFound, "service %s isn't there any more", name)
	}
	one := live
	if live.DesiredCount != n {
		if one, err = s.update(ctx, live, &ecs.UpdateServiceInput{DesiredCount: &n}); err != nil {
			return err
		}
	}
	s.touch(name)
	return s.settle(ctx, rollout{service: name, deployment: newestID(one)}, known(live))
}

// overtaken says whether the service of a later deployment has the tasks of the
// stage's: what was before that doesn't come back beside it. While the stage's still
// has some, nothing can be rolled back.
func (s move) overtaken(ctx context.Context, p phases) (bool, error) {
	name := p.New[:strings.LastIndex(p.New, "__")]
	all, err := s.numberedServices(ctx, name)
	if err != nil {
		return false, err
	}
	own, _ := numberOf(name, p.New)
	later, left := "", int32(0)
	for _, one := range all {
		switch {
		case one.number == own:
			left = one.DesiredCount
		case one.number > own && one.DesiredCount > 0:
			later = nameOf(&one.Service)
		}
	}
	switch {
	case later == "":
		return false, nil
	case left > 0:
		return false, fault.New(fault.Conflict, "service %s of a later deployment has tasks, and %s still has %d; nothing is rolled back", later, p.New, left).Causing(fault.Unknown)
	}
	s.Say("Nothing to roll back: service %s of a later deployment serves in the place of %s", later, p.New)
	return true, nil
}

// rollBackPhases gives the old service its tasks again, and deletes the new one.
func (s move) rollBackPhases(ctx context.Context) error {
	s.In(rollbackUnit)
	p, ok, err := s.phasesOf(ctx)
	if err != nil {
		return err
	}
	if !ok {
		s.Say("Nothing to roll back: EcsServiceSetup changed nothing")
		return nil
	}
	if over, err := s.overtaken(ctx, p); err != nil || over {
		return err
	}
	if p.Old.Service != "" {
		if err := rollback(s).restore(ctx, p.Old); err != nil {
			return err
		}
	}
	live, err := s.sought(ctx, p.New)
	if err != nil {
		return err
	}
	if live != nil {
		if err := s.converge(ctx, scaling{}, p.New); err != nil {
			return err
		}
	}
	return s.remove(ctx, p.New)
}
