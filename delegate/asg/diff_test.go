package asg_test

import (
	"fmt"
	"strings"
	"testing"

	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// A preview tells what a deployment would change, and changes nothing itself.
func TestDiff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	script := func(text string) func(*asglane.Spec) {
		return func(s *asglane.Spec) {
			s.Target.UserData = manifest("userData", "#!/bin/sh\n"+text+"\nsystemctl start web\n")
		}
	}
	since := len(s.Calls())
	r := s.succeeds(t, asglane.OpDiff, around, script("export TOKEN=old-secret"))
	if got := fmt.Sprint(output(t, r, "changed")); got != "[LaunchTemplate/web AutoScalingGroup/web ScalingPolicy/cpu ScheduledAction/nights]" {
		t.Errorf("of nothing there would change %s:\n%v", got, output(t, r, "diff"))
	}
	if got := s.changes(since); len(got) != 0 || len(s.env.Kept()) != 0 || len(r.Changes) != 0 {
		t.Errorf("the preview changes %v, keeps %v and tells the ledger %v", got, s.env.Kept(), r.Changes)
	}
	s.succeeds(t, asglane.OpRolling, around, script("export TOKEN=old-secret"))
	r = s.succeeds(t, asglane.OpDiff, around, script("export TOKEN=old-secret"))
	if got := output(t, r, "hasChanges"); got != false {
		t.Errorf("of the same would change:\n%v", output(t, r, "diff"))
	}

	next := s.next(t, "web-2")
	since = len(s.Calls())
	r = next.succeeds(t, asglane.OpDiff, script("export TOKEN=new"), func(spec *asglane.Spec) {
		spec.Size = &awslane.Size{Min: 1, Max: 4, Desired: 3}
		later := strings.Replace(nights, "DesiredCapacity: 1", "DesiredCapacity: 2", 1) + "---\n" + longAgo +
			"---\nScheduledActionName: later\nStartTime: 2099-01-01T00:00:00Z\nDesiredCapacity: 1\n"
		spec.Target.Schedules = append(spec.Target.Schedules, *manifest("AsgScheduledUpdateGroupAction", later))
		spec.Target.Configuration.Store.Inline += "tags: [{key: team, value: web, propagateAtLaunch: true}]\n"
	})
	diff := fmt.Sprint(output(t, r, "diff"))
	for _, line := range []string{
		`-  "imageId": "` + s.images["web-1"] + `",`, `+  "imageId": "` + s.images["web-2"] + `",`, `-    "(another value, not shown)",`, `+    "export TOKEN=new",`,
		`     "systemctl start web"`, `-  "desiredCapacity": 2,`, `+  "desiredCapacity": 3,`, `-    "team": "shop"`, `+    "team": "web"`, `-  "policyName": "cpu",`,
		`+  "desiredCapacity": 2,`, `+  "startTime": "2099-01-01T00:00:00Z"`,
	} {
		if !strings.Contains(diff, line+"\n") {
			t.Errorf("the difference lacks %s:\n%s", line, diff)
		}
	}
	if strings.Contains(diff, "old-secret") || strings.Contains(diff, "once") || strings.Contains(next.log(), "old-secret") {
		t.Errorf("the difference has what it must not:\n%s", diff)
	}
	if got := next.changes(since); len(got) != 0 {
		t.Errorf("the preview changes %v", got)
	}
	next.refused(t, "the group has no name", asglane.OpDiff, func(s *asglane.Spec) {
		s.Target.Configuration = manifest("AsgConfiguration", "minSize: 1\nmaxSize: 1\n")
	})
}

// A group that takes the place of another is compared with that one, and nothing is
// made or deleted for it.
func TestDiffOfTwoGroups(t *testing.T) {
	t.Parallel()
	image := func(s *stage, was, is string) []string {
		return []string{`-  "imageId": "` + s.images[was] + `",`, `+  "imageId": "` + s.images[is] + `",`}
	}
	three := func(s *asglane.Spec) { s.Size = &awslane.Size{Min: 1, Max: 4, Desired: 3} }
	t.Run("canary", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.succeeds(t, asglane.OpRolling, around)
		s.next(t, "web-1").compares(t, asglane.OpCanaryDiff, "<nil>", nil, around)
		next := s.next(t, "web-2")
		next.compares(t, asglane.OpCanaryDiff, "[LaunchTemplate/web__Canary]", append(image(next, "web-1", "web-2"), "--- LaunchTemplate/web"), around)
	})
	t.Run("swap", func(t *testing.T) {
		t.Parallel()
		f := newFront(t)
		how := behind(swapped(f.Front))
		f.stage.compares(t, asglane.OpBlueGreenDiff, "[LaunchTemplate/web__1 AutoScalingGroup/web__1 ScalingPolicy/cpu ScheduledAction/nights]", []string{`+    "` + f.A + `"`}, how, around)
		f.bluegreen(t, "web-1")
		f.bluegreen(t, "web-2")
		f.next(t, "web-2").compares(t, asglane.OpBlueGreenDiff, "<nil>", nil, how, around)
		next := f.next(t, "web-3")
		next.compares(t, asglane.OpBlueGreenDiff, "[LaunchTemplate/web__1 AutoScalingGroup/web__1 ScheduledAction/nights]",
			append(image(next, "web-2", "web-3"), "--- AutoScalingGroup/web__2", "+++ AutoScalingGroup/web__1", `+  "desiredCapacity": 3,`), how, around, three,
			func(s *asglane.Spec) { s.Target.Schedules = nil })
		next.refused(t, "to shift traffic it has to forward to two target groups", asglane.OpBlueGreenDiff, behind(shared(f.Front)))
	})
	t.Run("phases", func(t *testing.T) {
		t.Parallel()
		s := phasing(t)
		s.next(t, "web-1").compares(t, asglane.OpSetupDiff, "<nil>", nil, setUp(asglane.ResizeNewFirst, awslane.Size{Running: true}), around)
		next := s.next(t, "web-2")
		next.compares(t, asglane.OpSetupDiff, "[LaunchTemplate/web__2 AutoScalingGroup/web__2]",
			append(image(next, "web-1", "web-2"), "--- AutoScalingGroup/web__1", `+  "desiredCapacity": 3,`), setUp(asglane.ResizeNewFirst, two()), around, three)
	})
}
