package asg_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// setUp are the fields of AsgSetup.
func setUp(resize string, size awslane.Size) func(*asglane.Spec) {
	return func(s *asglane.Spec) { s.Name, s.Resize, s.Size = "web", resize, &size }
}

// two is the size of most groups of the tests.
func two() awslane.Size { return awslane.Size{Min: 1, Max: 4, Desired: 2} }

// phasedState is all that steps of phases may have changed, for people.
func (s *stage) phasedState(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"web__1", "web__2", "web__3"} {
		fmt.Fprintln(&b, name, s.runs(t, name), s.isAround(t, name))
	}
	return b.String()
}

// Machines move in phases from one group to the next, and back.
func TestPhases(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	r := first.succeeds(t, asglane.OpSetup, setUp(asglane.ResizeNewFirst, two()), around)
	if got := first.runs(t, "web__1"); got != "version 1, 0 to 4, 0 desired: " || output(t, r, "newAsgName") != "web__1" || output(t, r, "targetCount") != 2.0 {
		t.Errorf("set up it is %s, outputs %s", got, r.Outputs)
	}
	first.succeeds(t, asglane.OpPhased, percent(100), around)
	if got := first.runs(t, "web__1"); got != "version 1, 1 to 4, 2 desired: 1 1" || !strings.HasSuffix(first.isAround(t, "web__1"), "cpu nights") {
		t.Errorf("the first is %s %s", got, first.isAround(t, "web__1"))
	}

	s := first.next(t, "web-2")
	before := s.phasedState(t)
	s.succeeds(t, asglane.OpSetup, setUp(asglane.ResizeNewFirst, awslane.Size{Running: true}))
	r = s.succeeds(t, asglane.OpPhased, percent(50), around)
	s.becomes(t, "web__1", "version 1, 1 to 4, 1 desired: 1")
	if got := s.runs(t, "web__2"); got != "version 1, 0 to 4, 1 desired: 1" || output(t, r, "newInstanceCount") != 1.0 || output(t, r, "oldInstanceCount") != 1.0 {
		t.Errorf("at half the new one is %s, outputs %s", got, r.Outputs)
	}
	s.succeeds(t, asglane.OpPhased, percent(100), around)
	s.becomes(t, "web__1", "version 1, 0 to 4, 0 desired: ")
	if got := s.runs(t, "web__2"); got != "version 1, 1 to 4, 2 desired: 1 1" || !strings.HasSuffix(s.isAround(t, "web__2"), "cpu nights") {
		t.Errorf("at the end the new one is %s", got)
	}
	r = s.succeeds(t, asglane.OpPhasedRollback)
	if got := s.runs(t, "web__2"); got != "gone" || output(t, r, "asgName") != "web__1" || len(r.Changes[0].Instances) != 2 {
		t.Errorf("taken back the new one is %s, outputs %s", got, r.Outputs)
	}
	if diff := cmp.Diff(before, s.phasedState(t)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
	s.succeeds(t, asglane.OpPhasedRollback) // again

	down := s.next(t, "web-3")
	down.succeeds(t, asglane.OpSetup, setUp(asglane.DownsizeOldFirst, two()))
	since := len(down.Calls())
	down.succeeds(t, asglane.OpPhased, count(2))
	if diff := cmp.Diff([]string{"DeletePolicy", "DeleteScheduledAction", "UpdateAutoScalingGroup", "UpdateAutoScalingGroup"}, down.changes(since)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	down.refused(t, "want at most these, not 5", asglane.OpPhased, count(5))

	// What is without machines is deleted, but for the group that served last.
	last := down.next(t, "web-4")
	last.succeeds(t, asglane.OpSetup, setUp(asglane.ResizeNewFirst, two()))
	last.succeeds(t, asglane.OpPhased, percent(100))
	more := last.next(t, "web-5")
	more.succeeds(t, asglane.OpSetup, setUp(asglane.ResizeNewFirst, two()))
	if one, three := more.runs(t, "web__1"), more.runs(t, "web__2"); one != "gone" || three == "gone" {
		t.Errorf("of the old groups there are %s and %s", one, three)
	}

	fresh := more.next(t, "web-6")
	fresh.refused(t, "AsgSetup must run before", asglane.OpPhased, percent(50))
	fresh.succeeds(t, asglane.OpPhasedRollback)
	if !strings.Contains(fresh.env.Text("Rollback", executor.Info), "Nothing to roll back") {
		t.Errorf("the log is\n%s", fresh.log())
	}
}

// Killed at every call that changes something, a step that is tried again comes to the
// same end, and the rollback to what was there before.
func TestPhasesKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	size := setUp(asglane.ResizeNewFirst, two())
	fresh := func(t *testing.T, first bool) (*stage, string) {
		t.Helper()
		s := newStage(t)
		s.succeeds(t, asglane.OpSetup, size, around)
		s.succeeds(t, asglane.OpPhased, percent(100), around)
		before := s.phasedState(t)
		s = s.next(t, "web-2")
		if !first {
			s.succeeds(t, asglane.OpSetup, size, around)
		}
		return s, before
	}
	for op, change := range map[asglane.Op][]func(*asglane.Spec){asglane.OpSetup: {size, around}, asglane.OpPhased: {percent(100), around}} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			whole, _ := fresh(t, op == asglane.OpSetup)
			k := &testaws.Killer{}
			whole.killed(t, k, op, change...)
			whole.rests(t, "web__1", "web__2")
			after := whole.phasedState(t)
			if len(k.Calls) == 0 || !slices.Contains(k.Calls, map[asglane.Op]string{asglane.OpSetup: "CreateAutoScalingGroup", asglane.OpPhased: "UpdateAutoScalingGroup"}[op]) {
				t.Fatalf("the step changes %v", k.Calls)
			}
			for n, call := range k.Calls {
				t.Run(fmt.Sprintf("%d %s", n+1, call), func(t *testing.T) {
					t.Parallel()
					s, before := fresh(t, op == asglane.OpSetup)
					s.killed(t, &testaws.Killer{At: n + 1, Before: n%2 == 0}, op, change...)
					s.attempt++
					s.succeeds(t, op, change...)
					s.rests(t, "web__1", "web__2")
					if diff := cmp.Diff(after, s.phasedState(t)); diff != "" {
						t.Errorf("tried again (-want +got):\n%s", diff)
					}
					s.succeeds(t, asglane.OpPhasedRollback)
					s.rests(t, "web__1")
					if diff := cmp.Diff(before, s.phasedState(t)); diff != "" {
						t.Errorf("taken back (-want +got):\n%s", diff)
					}
				})
			}
		})
	}
}
