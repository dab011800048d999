package asg_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	"github.com/slipway-cd/slipway/pkg/task"
)

// overtaken is a stage whose rollback comes after another execution has deployed.
type overtaken struct {
	stage *stage
	undo  asglane.Op
	state func(*testing.T) string
	want  string // what there is after the rollback; empty: what there was just before it
	fails string // why it can't be done
}

// A rollback that comes after another execution's deployment leads to what was there
// before its own stage. It doesn't take away what the other one has put in its place.
func TestRollbackAfterAnotherDeployment(t *testing.T) {
	t.Parallel()
	swaps := func(t *testing.T, f *front) {
		t.Helper()
		f.stage.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around)
		f.stage.succeeds(t, asglane.OpBlueGreenSwap, moving(100, true))
	}
	for name, deployed := range map[string]func(*testing.T) overtaken{
		"an update": func(t *testing.T) overtaken {
			t.Helper()
			s := deployed(t)
			before := versionsAside(s.state(t))
			s.succeeds(t, asglane.OpRolling)
			s.next(t, "web-3").succeeds(t, asglane.OpRolling, another)
			return overtaken{s, asglane.OpRollingRollback, s.state, before, ""}
		},
		"an update that goes on": func(t *testing.T) overtaken {
			t.Helper()
			first := newStage(t)
			first.succeeds(t, asglane.OpRolling)
			before, s := versionsAside(first.state(t)), first.next(t, "web-2")
			s.succeeds(t, asglane.OpRolling)
			other := s.next(t, "slow-3")
			other.Hold()
			other.killed(t, &testaws.Killer{At: 3}, asglane.OpRolling) // after StartInstanceRefresh
			other.Go()
			return overtaken{s, asglane.OpRollingRollback, s.state, before, ""}
		},
		"the first": func(t *testing.T) overtaken {
			t.Helper()
			s := newStage(t)
			s.succeeds(t, asglane.OpRolling, around)
			s.next(t, "web-2").succeeds(t, asglane.OpRolling, around)
			return overtaken{s, asglane.OpRollingRollback, s.state, "", ""}
		},
		"a swap": func(t *testing.T) overtaken {
			t.Helper()
			f := behindOne(t, "web-1", "web-2")
			before, s := versionsAside(f.state(t)), f.stage
			swaps(t, f)
			f.next(t, "web-4")
			swaps(t, f)
			return overtaken{s, asglane.OpBlueGreenRollback, f.state, before, ""}
		},
		"a swap, and the other one's is to come": func(t *testing.T) overtaken {
			t.Helper()
			f := behindOne(t, "web-1", "web-2")
			before, s := versionsAside(f.state(t)), f.stage
			swaps(t, f)
			f.next(t, "web-4").succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around)
			return overtaken{s, asglane.OpBlueGreenRollback, f.state, before, ""}
		},
		"a shift, and others of the rule": func(t *testing.T) overtaken {
			t.Helper()
			f := sharing(t)
			before, s := versionsAside(f.state(t)), f.stage
			s.succeeds(t, asglane.OpBlueGreen, behind(shared(f.Front)), around)
			s.succeeds(t, asglane.OpShiftTraffic, moving(50, false))
			f.Set(f.Rules[0], f.Both(10, 90))
			return overtaken{s, asglane.OpBlueGreenRollback, f.state, before, ""}
		},
		"the first group": func(t *testing.T) overtaken {
			t.Helper()
			f := newFront(t)
			s := f.bluegreen(t, "web-1")
			f.bluegreen(t, "web-2")
			return overtaken{s, asglane.OpBlueGreenRollback, f.state, "", ""}
		},
		"the first group, and the other one's swap is to come": func(t *testing.T) overtaken {
			t.Helper()
			f := newFront(t)
			s := f.bluegreen(t, "web-1")
			f.next(t, "web-2").succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around)
			return overtaken{s, asglane.OpBlueGreenRollback, f.state, "", "Asg web__1 still has the traffic by the target group " + f.A}
		},
		"phases": func(t *testing.T) overtaken {
			t.Helper()
			s := phasing(t)
			s.phases(t)
			s.next(t, "web-3").phases(t)
			return overtaken{s, asglane.OpPhasedRollback, s.state, "", ""}
		},
		"phases, and the other one's go on": func(t *testing.T) overtaken {
			t.Helper()
			s := phasing(t)
			s.phases(t)
			other := s.next(t, "web-3")
			other.succeeds(t, asglane.OpSetup, setUp(asglane.ResizeNewFirst, two()))
			other.succeeds(t, asglane.OpPhased, percent(50))
			return overtaken{s, asglane.OpPhasedRollback, s.state, "", "Asg web__3 of a later deployment has instances, and web__2 still has 1"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := deployed(t)
			want, state := o.want, func() string { return versionsAside(o.state(t)) }
			if want == "" {
				want = state()
			}
			since := len(o.stage.Calls())
			r := o.stage.does(t, o.undo)
			if o.fails == "" && r.Status != task.Succeeded || o.fails != "" && (r.Status != task.Failed || !strings.Contains(r.Message, o.fails)) {
				t.Errorf("the rollback is %s: %s\n%s", r.Status, r.Message, o.stage.log())
			}
			if got := o.stage.changes(since); o.want == "" && len(got) > 0 {
				t.Errorf("it changes %v", got)
			}
			if diff := cmp.Diff(want, state()); diff != "" {
				t.Errorf("after it there is (-want +got):\n%s\n%s", diff, o.stage.log())
			}
		})
	}
}
