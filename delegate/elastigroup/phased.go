package elastigroup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
)

// phasedKept begins the keys of what ElastigroupSetup has found.
const phasedKept = "elastigroup/phased/"

// phased is a task that moves machines in phases from one group to the next.
type phased struct{ *session }

// phases are a group that serves and the one that follows it: each has the step's
// name, and a number of its own behind that.
type phases struct {
	New  string   `json:"new"`
	Size capacity `json:"size"` // that the new one is to have in the end
	Old  before   `json:"old,omitzero"`
}

// numberOf is the number of a numbered group of a name.
func numberOf(name, full string) (int, bool) {
	digits, ok := strings.CutPrefix(full, name+"__")
	if !ok || digits == "" || digits[0] == '0' || digits[0] == '+' {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

// numbered are the groups <name>__<n>, by their numbers.
func (f found) numbered(name string) []group {
	out := slices.DeleteFunc(slices.Clone(f), func(g group) bool { _, ok := numberOf(name, g.Name); return !ok })
	slices.SortStableFunc(out, func(a, b group) int {
		x, _ := numberOf(name, a.Name)
		y, _ := numberOf(name, b.Name)
		return cmp.Compare(x, y)
	})
	return out
}

// setUp makes the group that follows the one that serves, without machines.
func (s phased) setUp(ctx context.Context) error {
	g, err := s.wanted(ctx)
	if err != nil {
		return err
	}
	s.In(prepareUnit)
	all, err := s.find(ctx)
	if err != nil {
		return err
	}
	numbered := all.numbered(s.spec.Name)
	p, err := s.keep(ctx, numbered)
	if err != nil {
		return err
	}

	s.In(deployUnit)
	made := all.named(nil, p.New)
	if len(made) == 0 {
		s.Say("Creating Elastigroup %s", p.New)
		one, err := s.create(ctx, sized(g, p.New, capacity{Maximum: p.Size.Maximum}))
		if err != nil {
			return err
		}
		made = []group{one}
	}
	s.tell(p, &made[0], all.by(p.Old.ID))
	return s.tidy(ctx, numbered, p, made[0].ID)
}

// following is the group that follows some numbered ones, of which the newest with
// machines serves.
func (s phased) following(numbered []group) phases {
	p, number := phases{}, 0
	for _, one := range numbered {
		number, _ = numberOf(s.spec.Name, one.Name)
		if one.Capacity.Target > 0 {
			p.Old = before{ID: one.ID, Name: one.Name, Capacity: one.Capacity}
		}
	}
	p.New = fmt.Sprintf("%s__%d", s.spec.Name, number+1)
	p.Size = p.Old.size(*s.spec.Size)
	return p
}

// keep keeps which group serves, and how large it is, before the first change.
func (s phased) keep(ctx context.Context, numbered []group) (phases, error) {
	p, err := executor.Keep(ctx, s.Env, phasedKept+s.spec.Name, s.following(numbered))
	if err != nil {
		return p, err
	}
	if p.Old.ID == "" {
		s.Say("No Elastigroup serves yet; the new one is %s", p.New)
	} else {
		s.Say("Elastigroup %s (%s) serves, with %d instances; the new one is %s", p.Old.Name, p.Old.ID, p.Old.Capacity.Target, p.New)
	}
	return p, nil
}

// tidy deletes what earlier stages have left without machines, but for the newest
// of these.
func (s phased) tidy(ctx context.Context, numbered []group, p phases, made string) error {
	idle := slices.DeleteFunc(slices.Clone(numbered), func(one group) bool {
		return one.Capacity.Target > 0 || one.ID == made || one.ID == p.Old.ID
	})
	for _, one := range idle[:max(0, len(idle)-1)] {
		if err := s.drop(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// of is what ElastigroupSetup has found in the stage; false: it hasn't run.
func (s phased) of(ctx context.Context) (phases, bool, error) {
	all, err := executor.Kept[phases](ctx, s.Env, phasedKept)
	if err != nil || len(all) == 0 {
		return phases{}, false, err
	}
	return all[0], true, nil
}

// tell gives both groups as outputs, and to the ledger; nil: it isn't there.
func (s phased) tell(p phases, made, old *group) {
	s.outputs.New, s.outputs.Old, s.outputs.OldID, s.outputs.Target = p.New, p.Old.Name, p.Old.ID, &p.Size.Target
	if made != nil {
		s.outputs.NewID = made.ID
		s.touch(made.ID)
	}
	if old != nil {
		s.touch(old.ID)
	}
}

// deploy gives machines to the new group, and takes them from the old one.
func (s phased) deploy(ctx context.Context) error {
	s.In(deployUnit)
	p, ok, err := s.of(ctx)
	if err != nil {
		return err
	}
	if !ok || s.spec.Deploy == nil {
		return wrong("there is no Elastigroup to give instances to; ElastigroupSetup must run before, in the same stage")
	}
	all, err := s.find(ctx)
	if err != nil {
		return err
	}
	made, old := all.named(nil, p.New), all.by(p.Old.ID)
	if len(made) == 0 {
		return fault.New(fault.NotFound, "Elastigroup %s isn't there any more", p.New).Causing(fault.Unknown)
	}
	s.tell(p, &made[0], old)
	up, down := moved(*s.spec.Deploy, p)
	if up > p.Size.Maximum {
		return wrong("newService wants %d instances; the Elastigroup has at most %d, by ElastigroupSetup", up, p.Size.Maximum)
	}
	s.outputs.NewCount, s.outputs.OldCount = &up, &down
	if err := s.resize(ctx, made[0], p.Size.with(up)); err != nil {
		return err
	}
	if err := s.steady(ctx, made[0], up); err != nil || old == nil {
		return err
	}
	return s.resize(ctx, *old, p.Old.Capacity.with(down))
}

// with is the size with another number of machines, which may be below the least.
func (c capacity) with(n int) capacity {
	return capacity{Minimum: min(c.Minimum, n), Maximum: max(c.Maximum, n), Target: n}
}

// moved is how many machines the new and the old group get.
func moved(d lane.Deploy, p phases) (up, down int) {
	up, original := d.New.Value, p.Old.Capacity.Target
	if d.New.Percent {
		up = share(p.Size.Target, d.New.Value)
	}
	switch {
	case d.Old != nil && d.Old.Percent:
		down = original * d.Old.Value / 100
	case d.Old != nil:
		down = d.Old.Value
	case up >= p.Size.Target:
	case d.New.Percent:
		down = original * (100 - d.New.Value) / 100
	default:
		down = max(0, original-up)
	}
	return up, down
}

// share is a percentage of some machines: a part of one is one.
func share(of, percent int) int { return (of*percent + 99) / 100 }

// overtaken says whether the group of a later deployment has the machines of the
// stage's: what was before that doesn't come back beside it. While the stage's still
// has some, nothing can be rolled back.
func (s phased) overtaken(p phases, all found) (bool, error) {
	name := p.New[:strings.LastIndex(p.New, "__")]
	own, _ := numberOf(name, p.New)
	later, left := "", 0
	for _, one := range all.numbered(name) {
		switch n, _ := numberOf(name, one.Name); {
		case n == own:
			left = one.Capacity.Target
		case n > own && one.Capacity.Target > 0:
			later = one.Name
		}
	}
	switch {
	case later == "":
		return false, nil
	case left > 0:
		return false, fault.New(fault.Conflict, "Elastigroup %s of a later deployment has instances, and %s still has %d; nothing is rolled back", later, p.New, left).Causing(fault.Unknown)
	}
	s.Say("Nothing to roll back: Elastigroup %s of a later deployment serves in the place of %s", later, p.New)
	return true, nil
}

// rollBack gives the old group its machines again, and deletes the new one. false:
// there was nothing to do.
func (s phased) rollBack(ctx context.Context) (bool, error) {
	p, ok, err := s.of(ctx)
	if err != nil || !ok {
		return false, err
	}
	all, err := s.find(ctx)
	if err != nil {
		return true, err
	}
	if over, err := s.overtaken(p, all); err != nil || over {
		return true, err
	}
	s.tell(p, nil, all.by(p.Old.ID))
	if err := s.restore(ctx, all, p.Old); err != nil {
		return true, err
	}
	return true, s.discard(ctx, all.named(nil, p.New))
}

// discard deletes what the stage has made.
func (s *session) discard(ctx context.Context, made []group) error {
	for _, one := range made {
		s.outputs.NewID = one.ID
		if err := s.drop(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// restore gives a group the size that it had, and waits until its machines serve.
func (s *session) restore(ctx context.Context, all found, was before) error {
	if was.ID == "" {
		return nil
	}
	live := all.by(was.ID)
	if live == nil {
		return fault.New(fault.NotFound, "Elastigroup %s (%s), which served before, isn't there any more; nothing is deleted", was.Name, was.ID).Causing(fault.Unknown)
	}
	if err := s.resize(ctx, *live, was.Capacity); err != nil {
		return err
	}
	return s.steady(ctx, *live, was.Capacity.Target)
}
