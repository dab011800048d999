package asg_test

import (
	"regexp"
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsdoc/awsdoctest"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// request is what AWS adds to its messages, another each time.
var request = regexp.MustCompile(`request [0-9a-zA-Z-]+`)

// Documents that are wrong are refused before anything is changed, by what is
// wrong in them.
func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	awsdoctest.Refused(t, "testdata/wrong.txtar", *update, func(t *testing.T, documents map[string]string) string {
		t.Helper()
		s := first.next(t, "web-1")
		since := len(s.Calls())
		r := s.does(t, asglane.OpRolling, func(spec *asglane.Spec) {
			one := func(name, kind string, into **lane.Manifest) {
				if text, ok := documents[name]; ok {
					*into = manifest(kind, text)
				}
			}
			one("template", "AsgLaunchTemplate", &spec.Target.Template)
			one("group", "AsgConfiguration", &spec.Target.Configuration)
			one("metrics", "AsgAdditionalConfiguration", &spec.Target.Additional)
			if text, ok := documents["policy"]; ok {
				spec.Target.Policies = []lane.Manifest{*manifest("AsgScalingPolicy", text)}
			}
			if text, ok := documents["schedule"]; ok {
				spec.Target.Schedules = []lane.Manifest{*manifest("AsgScheduledUpdateGroupAction", text)}
			}
		})
		if r.Status != task.Failed {
			t.Fatalf("it is %s; want a failure\n%s", r.Status, s.log())
		}
		if changed := s.changes(since); len(changed) > 0 {
			t.Errorf("it changed %v", changed)
		}
		return request.ReplaceAllString(r.Message, "request ID")
	})
}
