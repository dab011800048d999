package elastigroup_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
)

// compares does a task of a preview, which changes nothing.
func (s *stage) compares(t *testing.T, op spot.Op, changed string, lines []string, change ...func(*spot.Spec)) string {
	t.Helper()
	since := len(s.Calls())
	diff := s.env.Compares(t, s.kind, s.assignment(t, op, change...), changed, lines)
	if got := s.Changes(since); len(got) > 0 {
		t.Errorf("the preview changes %v", got)
	}
	return diff
}

// A preview tells how the group to come differs from the one that serves. What that
// one has of secrets isn't shown.
func TestDiff(t *testing.T) {
	t.Parallel()
	to := func(token string, more ...func(*spot.Spec)) func(*spot.Spec) {
		return func(s *spot.Spec) {
			s.Name, s.Size = "web", &awslane.Size{Min: 1, Max: 4, Desired: 4}
			s.Target.Configuration = document("configuration", strings.Replace(configuration, `"thirdPartiesIntegration": {}`, `"thirdPartiesIntegration": {"rancher": {"secretKey": "`+token+`"}}`, 1))
			s.Target.Startup = document("startupScript", "#!/bin/sh\nexport TOKEN="+token+"\nstart\n")
			for _, one := range more {
				one(s)
			}
		}
	}
	s := newStage(t)
	s.compares(t, spot.OpDiff, "[Elastigroup/web__1]", []string{`+    "target": 4,`, `+      "imageId": "ami-1",`, `+        "export TOKEN=old-secret",`}, to("old-secret"))
	s.succeeds(t, spot.OpSetup, to("old-secret"))
	s.succeeds(t, spot.OpDeploy, percent(100))
	s.next(t, "ami-1").compares(t, spot.OpDiff, "<nil>", nil, to("old-secret"))
	s.next(t, "ami-1").compares(t, spot.OpDiff, "<nil>", nil, to("old-secret", func(s *spot.Spec) { s.Size = &awslane.Size{Running: true} }))
	diff := s.next(t, "ami-2").compares(t, spot.OpDiff, "[Elastigroup/web__2]", []string{
		"--- Elastigroup/web__1", "+++ Elastigroup/web__2", `-      "imageId": "ami-1",`, `+      "imageId": "ami-2",`,
		`-        "(another value, not shown)",`, `+        "export TOKEN=new",`, `+      "secretKey": "new"`, `-    "target": 4,`, `+    "target": 2,`,
	}, to("new", func(s *spot.Spec) { s.Size.Desired = 2 }))
	if strings.Contains(diff, "old-secret") {
		t.Errorf("it shows a secret of the group that is there:\n%s", diff)
	}
}

// So it is with two colours, of which one is always behind another target group.
func TestDiffOfColours(t *testing.T) {
	t.Parallel()
	f := newFronted(t)
	how := func(s *spot.Spec) {
		s.Op = spot.OpStageSetup
		f.swaps(s)
		s.Op = spot.OpStageDiff
	}
	f.compares(t, spot.OpStageDiff, "[Elastigroup/"+stageGroup+"]", []string{`+            "name": "shop-b",`}, how)
	f.swap(t)
	f.next(t, "ami-1").compares(t, spot.OpStageDiff, "<nil>", nil, how)
	f.next(t, "ami-2").compares(t, spot.OpStageDiff, "[Elastigroup/"+stageGroup+"]", []string{"--- Elastigroup/web", `-      "imageId": "ami-1",`, `+      "imageId": "ami-2",`}, how)
	f.succeeds(t, spot.OpStageSetup, f.swaps)
	f.refused(t, "belongs to the listener", fault.ConfigurationFailure, spot.OpStageDiff, func(s *spot.Spec) { how(s); s.Balancers[0].ProdRule = f.Rules[1] })
}
