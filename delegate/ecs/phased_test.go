package ecs_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// counts is how many tasks some services should have; -1 for one that isn't there.
func (s *stage) counts(t *testing.T, names ...string) string {
	t.Helper()
	out := ""
	for _, name := range names {
		n := int32(-1)
		if one := s.live(t, name); one != nil {
			n = one.DesiredCount
		}
		out += fmt.Sprintf("%s=%d ", name, n)
	}
	return out
}

func setup(strategy string) func(*ecslane.Spec) {
	return func(s *ecslane.Spec) { s.Resize = strategy }
}

func upgrade(n ecslane.Amount, old *ecslane.Amount) func(*ecslane.Spec) {
	return func(s *ecslane.Spec) {
		withScaling(s)
		s.Upgrade = &ecslane.Upgrade{New: n, Old: old}
	}
}

// all are all of the tasks.
func all() ecslane.Amount { return ecslane.Amount{Value: 100, Percent: true} }

// phases moves all tasks to a service of the stage.
func (s *stage) phases(t *testing.T) {
	t.Helper()
	s.succeeds(t, ecslane.OpSetup, setup(ecslane.ResizeNewFirst))
	s.succeeds(t, ecslane.OpUpgrade, upgrade(all(), nil))
}

// phasing is the next stage after one that has moved all tasks to its service.
func phasing(t *testing.T, s *stage) *stage {
	t.Helper()
	s.phases(t)
	return s.next(t, "web:2")
}

// The first service that is taken back isn't there, as before.
func TestPhasesOfTheFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.phases(t)
	s.succeeds(t, ecslane.OpBasicRollback)
	if got := s.counts(t, "web__1"); got != "web__1=-1 " || s.scales(t, "web__1").targets != "[]" {
		t.Errorf("taken back: %s, scaled by %+v", got, s.scales(t, "web__1"))
	}
}

// Tasks move in phases from one service to the next, and back.
func TestPhases(t *testing.T) {
	t.Parallel()
	half := ecslane.Amount{Value: 50, Percent: true}
	first := newStage(t)
	r := first.succeeds(t, ecslane.OpSetup, setup(ecslane.ResizeNewFirst))
	if got := first.counts(t, "web__1"); got != "web__1=0 " || output(t, r, "newServiceName") != "web__1" || output(t, r, "targetCount") != 2.0 {
		t.Errorf("set up: %s, outputs %s", got, r.Outputs)
	}
	first.succeeds(t, ecslane.OpUpgrade, upgrade(all(), nil))
	if got := first.counts(t, "web__1"); got != "web__1=2 " {
		t.Errorf("the first is %s", got)
	}

	s := first.next(t, "web:2")
	s.succeeds(t, ecslane.OpSetup, setup(ecslane.ResizeNewFirst))
	r = s.succeeds(t, ecslane.OpUpgrade, upgrade(half, nil))
	if got := s.counts(t, "web__1", "web__2"); got != "web__1=1 web__2=1 " || len(r.Changes[0].Instances) != 2 {
		t.Errorf("at half: %s, %d instances", got, len(r.Changes[0].Instances))
	}
	s.succeeds(t, ecslane.OpUpgrade, upgrade(all(), nil))
	if got := s.counts(t, "web__1", "web__2"); got != "web__1=0 web__2=2 " {
		t.Errorf("at the end: %s", got)
	}
	r = s.succeeds(t, ecslane.OpBasicRollback)
	if got := s.counts(t, "web__1", "web__2"); got != "web__1=2 web__2=-1 " || len(r.Changes[0].Instances) != 2 {
		t.Errorf("taken back: %s, %d instances", got, len(r.Changes[0].Instances))
	}
	s.succeeds(t, ecslane.OpBasicRollback) // again

	down := s.next(t, "web:3")
	down.succeeds(t, ecslane.OpSetup, setup(ecslane.DownsizeOldFirst))
	since := len(down.Calls())
	down.succeeds(t, ecslane.OpUpgrade, upgrade(ecslane.Amount{Value: 1}, &ecslane.Amount{Value: 0}))
	if got := down.counts(t, "web__1", "web__2"); got != "web__1=0 web__2=1 " {
		t.Errorf("the old one first: %s", got)
	}
	if diff := cmp.Diff([]string{"DeleteScalingPolicy", "DeregisterScalableTarget", "UpdateService", "UpdateService"}, down.changes(since)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	fresh := down.next(t, "web:4")
	fresh.refused(t, "EcsServiceSetup must run before", ecslane.OpUpgrade, upgrade(half, nil))
	fresh.succeeds(t, ecslane.OpBasicRollback)
}
