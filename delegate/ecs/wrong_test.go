package ecs_test

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsdoc/awsdoctest"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

var update = awsdoctest.Update()

// request is what AWS adds to its messages, another each time.
var request = regexp.MustCompile(`request [0-9a-zA-Z-]+`)

// Documents that are wrong are refused before anything is changed, by what is
// wrong in them.
func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	awsdoctest.Refused(t, "testdata/wrong.txtar", *update, func(t *testing.T, documents map[string]string) string {
		t.Helper()
		s := first.next(t, "web:1")
		since := len(s.Calls())
		r := s.does(t, ecslane.OpRolling, func(spec *ecslane.Spec) {
			definition := cmp.Or(documents["task"], strings.Replace(taskDefinition, "IMAGE", "web:1", 1))
			if _, ok := documents["task"]; ok && documents["task"] == "" {
				definition = ""
			}
			spec.Target.TaskDefinition = manifest("EcsTaskDefinition", definition)
			spec.Target.Service = manifest("EcsServiceDefinition", cmp.Or(documents["service"], s.service))
			if text, ok := documents["target"]; ok {
				spec.Target.Targets = []lane.Manifest{*manifest("EcsScalableTargetDefinition", text)}
			}
			if text, ok := documents["policy"]; ok {
				spec.Target.Policies = []lane.Manifest{*manifest("EcsScalingPolicyDefinition", text)}
			}
		})
		if r.Status != task.Failed {
			t.Fatalf("it is %s; want a failure\n%s", r.Status, s.log())
		}
		if changed := s.changes(since); len(changed) > 0 && s.live(t, "web") != nil {
			t.Errorf("it changed %v", changed)
		}
		return request.ReplaceAllString(r.Message, "request ID")
	})
}
