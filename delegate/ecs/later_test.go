package ecs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// overtaken is a stage whose rollback comes after another execution has deployed.
type overtaken struct {
	stage *stage
	undo  ecslane.Op
	state func() string
	want  string // what there is after the rollback; empty: what there was just before it
	fails string // why it can't be done
}

// A rollback that comes after another execution's deployment leads to what was there
// before its own stage. It neither takes away what the other one has put in its place,
// nor gives it traffic that it hasn't.
func TestRollbackAfterAnotherDeployment(t *testing.T) {
	t.Parallel()
	update := func(f *front) func(*ecslane.Spec) {
		return func(s *ecslane.Spec) { f.swapped(s); withScaling(s); s.BlueGreen.UpdateGreen = true }
	}
	colours := func(t *testing.T, f *front, s *stage, aside, fails string) overtaken {
		t.Helper()
		return overtaken{s, ecslane.OpBlueGreenRollback, func() string { return f.state(t, aside) }, "", fails}
	}
	phases := func(t *testing.T, s *stage, fails string) overtaken {
		t.Helper()
		return overtaken{s, ecslane.OpBasicRollback, func() string { return s.state(t) }, "", fails}
	}
	for name, deployed := range map[string]func(*testing.T) overtaken{
		"an update": func(t *testing.T) overtaken {
			t.Helper()
			first := newStage(t)
			first.succeeds(t, ecslane.OpRolling, withScaling)
			before := definitionsAside(first.state(t))
			s := first.next(t, "web:2")
			s.succeeds(t, ecslane.OpRolling, withScaling)
			first.next(t, "web:3").succeeds(t, ecslane.OpRolling)
			return overtaken{s, ecslane.OpRollingRollback, func() string { return definitionsAside(s.state(t)) }, before, ""}
		},
		"an update that goes on": func(t *testing.T) overtaken {
			t.Helper()
			first := newStage(t)
			first.succeeds(t, ecslane.OpRolling)
			before := definitionsAside(first.state(t))
			s := first.next(t, "web:2")
			s.succeeds(t, ecslane.OpRolling)
			other := first.next(t, "web:slow-3")
			k := &testaws.Killer{At: 2} // after UpdateService
			other.killed(t, k, ecslane.OpRolling)
			return overtaken{s, ecslane.OpRollingRollback, func() string { return definitionsAside(s.state(t)) }, before, ""}
		},
		"the first": func(t *testing.T) overtaken {
			t.Helper()
			s := newStage(t)
			s.succeeds(t, ecslane.OpRolling, withScaling)
			s.next(t, "web:2").succeeds(t, ecslane.OpRolling, withScaling)
			return overtaken{s, ecslane.OpRollingRollback, func() string { return s.state(t) }, "", ""}
		},
		"a swap": func(t *testing.T) overtaken {
			t.Helper()
			f := behind(t)
			s := f.stage
			f.bluegreen(t, "web:3")
			return colours(t, f, s, "", "")
		},
		"a swap, and the other one's is to come": func(t *testing.T) overtaken {
			t.Helper()
			f := behind(t)
			s := f.stage
			f.next(t, "web:3").succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
			return colours(t, f, s, "", "service web__2 still has the traffic, and a later deployment has put service web__3 behind the target group "+f.B)
		},
		"a swap of services that are updated": func(t *testing.T) overtaken {
			t.Helper()
			f := behind(t)
			s := f.next(t, "web:3")
			s.succeeds(t, ecslane.OpBlueGreenCreate, update(f))
			s.succeeds(t, ecslane.OpBlueGreenRollback)
			f.stage = f.stage.next(t, "web:3b")
			s = f.stage
			before := f.state(t, "web__1")
			s.succeeds(t, ecslane.OpBlueGreenCreate, update(f))
			s.succeeds(t, ecslane.OpBlueGreenSwap, swapping)
			other := f.next(t, "web:4")
			other.succeeds(t, ecslane.OpBlueGreenCreate, update(f)) // web__2 isn't what it was any more
			o := colours(t, f, s, "web__1", "")
			o.want = before
			return o
		},
		"a swap of the first": func(t *testing.T) overtaken {
			t.Helper()
			f := newFront(t, newStage(t))
			s := f.bluegreen(t, "web:1")
			f.bluegreen(t, "web:2")
			return colours(t, f, s, "", "")
		},
		"a swap of the first, and the other one's is to come": func(t *testing.T) overtaken {
			t.Helper()
			f := newFront(t, newStage(t))
			s := f.bluegreen(t, "web:1")
			f.next(t, "web:2").succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
			return colours(t, f, s, "", "service web__1 still has the traffic")
		},
		"no swap": func(t *testing.T) overtaken { // the other one takes the service's name
			t.Helper()
			f := behind(t)
			before := without("web__1", f.state(t, "web__3")) // which makes room
			s := f.next(t, "web:3")
			s.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
			f.bluegreen(t, "web:4")
			o := colours(t, f, s, "web__3", "")
			o.want = before
			return o
		},
		"shifts": func(t *testing.T) overtaken {
			t.Helper()
			f := shared(t)
			s := f.stage
			f.shifting(t, "web:3", f.B)
			return colours(t, f, s, "", "")
		},
		"a shift, and others of the rule": func(t *testing.T) overtaken {
			t.Helper()
			f := shared(t)
			before := without("web__1", f.state(t, "web__3"))
			s := f.next(t, "web:3")
			s.succeeds(t, ecslane.OpBlueGreenCreate, f.shifted)
			s.succeeds(t, ecslane.OpTrafficShift, shift(50))
			f.Set(f.Rules[0], f.Both(10, 90))
			o := colours(t, f, s, "web__3", "")
			o.want = before
			return o
		},
		"phases": func(t *testing.T) overtaken {
			t.Helper()
			s := phasing(t, newStage(t))
			s.phases(t)
			s.next(t, "web:3").phases(t)
			return phases(t, s, "")
		},
		"phases, and the other one's go on": func(t *testing.T) overtaken {
			t.Helper()
			s := phasing(t, newStage(t))
			s.phases(t)
			other := s.next(t, "web:3")
			other.succeeds(t, ecslane.OpSetup, setup(ecslane.ResizeNewFirst))
			other.succeeds(t, ecslane.OpUpgrade, upgrade(ecslane.Amount{Value: 50, Percent: true}, nil))
			return phases(t, s, "service web__3 of a later deployment has tasks, and web__2 still has 1")
		},
		"phases of the first": func(t *testing.T) overtaken {
			t.Helper()
			s := newStage(t)
			s.phases(t)
			s.next(t, "web:2").phases(t)
			return phases(t, s, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := deployed(t)
			want, since := o.want, len(o.stage.Calls())
			if want == "" {
				want = o.state()
			}
			r := o.stage.does(t, o.undo)
			if o.fails == "" && r.Status != task.Succeeded || o.fails != "" && (r.Status != task.Failed || !strings.Contains(r.Message, o.fails)) {
				t.Errorf("the rollback is %s: %s\n%s", r.Status, r.Message, o.stage.log())
			}
			if diff := cmp.Diff(want, o.state()); diff != "" {
				t.Errorf("after it there is (-want +got):\n%s\n%s", diff, o.stage.log())
			}
			if got := o.stage.changes(since); o.want == "" && len(got) > 0 {
				t.Errorf("it changes %v", got)
			}
		})
	}
}
