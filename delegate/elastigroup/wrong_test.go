package elastigroup_test

import (
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsdoc/awsdoctest"
	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

var update = awsdoctest.Update()

// Configurations that are wrong are refused before there is a group, by what is wrong
// in them.
func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	awsdoctest.Refused(t, "testdata/wrong.txtar", *update, func(t *testing.T, documents map[string]string) string {
		t.Helper()
		s := first.next(t, "ami-1")
		r := s.does(t, spot.OpSetup, func(spec *spot.Spec) {
			spec.Target.Image = "" // the configuration says it
			spec.Target.Configuration = document("configuration", documents["group"])
		})
		if r.Status != task.Failed {
			t.Fatalf("it is %s; want a failure\n%s", r.Status, s.log())
		}
		s.are(t)
		return r.Message
	})
}
