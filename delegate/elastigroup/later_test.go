package elastigroup_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

// phases moves all machines to a group of the stage.
func (s *stage) phases(t *testing.T) *stage {
	t.Helper()
	s.succeeds(t, spot.OpSetup)
	s.succeeds(t, spot.OpDeploy, percent(100))
	return s
}

// swap makes a group and gives it the traffic.
func (f *fronted) swap(t *testing.T) *fronted {
	t.Helper()
	f.succeeds(t, spot.OpStageSetup, f.swaps)
	f.succeeds(t, spot.OpSwapRoute, f.swaps)
	return f
}

// A rollback that comes after another execution's deployment doesn't take away what
// that has put in the place of its own: nothing changes.
func TestRollbackAfterPhasesOfAnother(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deploys func(t *testing.T) *stage
		fails   string
	}{
		"phases": {func(t *testing.T) *stage {
			t.Helper()
			s := deployed(t).next(t, "ami-2").phases(t)
			s.next(t, "ami-3").phases(t)
			return s
		}, ""},
		"the first": {func(t *testing.T) *stage {
			t.Helper()
			s := newStage(t).phases(t)
			s.next(t, "ami-2").phases(t)
			return s
		}, ""},
		"the other one's go on": {func(t *testing.T) *stage {
			t.Helper()
			s := deployed(t).next(t, "ami-2").phases(t)
			other := s.next(t, "ami-3")
			other.succeeds(t, spot.OpSetup)
			other.succeeds(t, spot.OpDeploy, percent(50))
			return s
		}, "Elastigroup web__3 of a later deployment has instances, and web__2 still has 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tt.deploys(t)
			was, since := s.Groups(), len(s.Calls())
			isRolledBack(t, s, tt.fails)
			if diff := cmp.Diff(was, s.Groups()); diff != "" || len(s.Changes(since)) > 0 {
				t.Errorf("it does %v (-want +got):\n%s", s.Changes(since), diff)
			}
		})
	}
}

// isRolledBack rolls a stage back, or sees it refused.
func isRolledBack(t *testing.T, s *stage, fails string, change ...func(*spot.Spec)) {
	t.Helper()
	r := s.does(t, spot.OpRollback, change...)
	if fails == "" && r.Status != task.Succeeded || fails != "" && (r.Status != task.Failed || !strings.Contains(r.Message, fails)) {
		t.Errorf("the rollback is %s: %s\n%s", r.Status, r.Message, s.log())
	}
}

// So it is with two colours; traffic that somebody shifts goes back to where it was.
func TestRollbackAfterColoursOfAnother(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deploys func(t *testing.T, f *fronted) *fronted
		fails   string
	}{
		"a swap": {func(t *testing.T, f *fronted) *fronted {
			t.Helper()
			f.swap(t)
			s := f.next(t, "ami-2").swap(t)
			f.next(t, "ami-3").swap(t)
			return s
		}, ""},
		"the other one's swap is to come": {func(t *testing.T, f *fronted) *fronted {
			t.Helper()
			f.swap(t)
			s := f.next(t, "ami-2").swap(t)
			f.next(t, "ami-3").succeeds(t, spot.OpStageSetup, f.swaps)
			return s
		}, "still has the traffic, and a later deployment has put"},
		"the first": {func(t *testing.T, f *fronted) *fronted {
			t.Helper()
			f.swap(t)
			f.next(t, "ami-2").swap(t)
			return f
		}, ""},
		"no swap": {func(t *testing.T, f *fronted) *fronted { // the other one takes its place
			t.Helper()
			f.swap(t)
			s := f.next(t, "ami-2")
			s.succeeds(t, spot.OpStageSetup, f.swaps)
			f.next(t, "ami-3").swap(t)
			return s
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tt.deploys(t, newFronted(t))
			was, since := s.state(), len(s.Calls())
			isRolledBack(t, s.stage, tt.fails, s.swaps)
			if diff := cmp.Diff(was, s.state()); diff != "" || len(s.Changes(since)) > 0 {
				t.Errorf("it does %v (-want +got):\n%s", s.Changes(since), diff)
			}
		})
	}
	t.Run("shifts", func(t *testing.T) {
		t.Parallel()
		f := newFronted(t)
		before := f.state()
		f.succeeds(t, spot.OpStageSetup, f.shares)
		f.succeeds(t, spot.OpTrafficShift, f.shares, func(s *spot.Spec) { n := 50; s.Shift = &awslane.Shift{Percentage: &n} })
		f.Set(f.shared, f.Both(10, 90))
		f.succeeds(t, spot.OpRollback, f.shares)
		if diff := cmp.Diff(before, f.state()); diff != "" {
			t.Errorf("taken back (-want +got):\n%s", diff)
		}
	})
}
