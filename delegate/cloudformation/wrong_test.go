package cloudformation_test

import (
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsdoc/awsdoctest"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Documents that are wrong are refused before anything is changed, by what is
// wrong in them.
func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	awsdoctest.Refused(t, "testdata/wrong.txtar", *update, func(t *testing.T, documents map[string]string) string {
		t.Helper()
		r, err := s.does(t.Context(), t, makes(parametered, func(c *steps.Create) {
			c.Parameters = []lane.Manifest{{ID: "parameters", Type: "parameters", Store: task.Store{Inline: "{Color: red}"}}}
			if text, ok := documents["parameters"]; ok {
				c.Parameters[0].Store.Inline = text
			}
			if text, ok := documents["tags"]; ok {
				c.Tags = &lane.Manifest{ID: "tags", Type: "tags", Store: task.Store{Inline: text}}
			}
		}))
		if err != nil || r.Status != task.Failed {
			t.Fatalf("it is %s: %s, %v", r.Status, r.Message, err)
		}
		if n := s.Count("cloudformation:CreateStack"); n > 0 {
			t.Errorf("%d stacks were made", n)
		}
		return r.Message
	})
}
