package asg_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// setUp are the fields of AsgSetup.
func setUp(resize string, size awslane.Size) func(*asglane.Spec) {
	return func(s *asglane.Spec) { s.Name, s.Resize, s.Size = "web", resize, &size }
}

// two is the size of most groups of the tests.
func two() awslane.Size { return awslane.Size{Min: 1, Max: 4, Desired: 2} }

// phases moves all machines to a group of the stage.
func (s *stage) phases(t *testing.T) {
	t.Helper()
	s.succeeds(t, asglane.OpSetup, setUp(asglane.ResizeNewFirst, two()), around)
	s.succeeds(t, asglane.OpPhased, percent(100), around)
}

// phasing is the next stage after one that has moved all machines to its group.
func phasing(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.phases(t)
	return s.next(t, "web-2")
}

// The first group that is taken back isn't there, as before; one whose machines don't
// serve is taken back for the one that does.
func TestPhasesTakenBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	before := s.state(t)
	s.phases(t)
	s.succeeds(t, asglane.OpPhasedRollback)
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Errorf("the first, taken back (-want +got):\n%s", diff)
	}
	s = s.next(t, "web-2")
	s.phases(t)
	before = s.state(t)
	s = s.next(t, "noroom-3")
	s.succeeds(t, asglane.OpSetup, setUp(asglane.ResizeNewFirst, two()), around)
	if r := s.expires(t, asglane.OpPhased, percent(100), around); !strings.Contains(r.Message, "0/2 instances are healthy") {
		t.Errorf("it failed by %s", r.Message)
	}
	s.succeeds(t, asglane.OpPhasedRollback)
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
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
	before := versionsAside(s.state(t))
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
	if diff := cmp.Diff(before, versionsAside(s.state(t))); diff != "" {
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
