package awslambda_test

import (
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsdoc/awsdoctest"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
)

var update = awsdoctest.Update()

// Documents that are wrong are refused before anything is changed, by what is
// wrong in them.
func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	awsdoctest.Refused(t, "testdata/wrong.txtar", *update, func(t *testing.T, documents map[string]string) string {
		t.Helper()
		s := a.stage("e1", "web-1.zip")
		if text, ok := documents["function"]; ok {
			s.defined(text)
		}
		if text, ok := documents["alias"]; ok {
			s.spec.Target.Aliases[0].Store.Inline = text
		}
		r := s.bad(lane.OpDeploy, 0)
		if changed := a.changes(); len(changed) > 0 {
			t.Errorf("it changed %v", changed)
		}
		return r.Message
	})
}
