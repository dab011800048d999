package serverless_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A template that is too large to come with a call is gone back to: serverless has it
// in its bucket.
func TestLargeTemplateIsPutBack(t *testing.T) {
	t.Parallel()
	w, programs := testaws.NewWorld(t), testservers.Osls(t, "osls")
	w.UnderPolicy("../../docs/serverless.md")
	large := func(text string) map[string]string {
		var more strings.Builder
		more.WriteString("resources:\n  Outputs:\n")
		for i := range 90 {
			fmt.Fprintf(&more, "    Much%d: {Value: %s}\n", i, text+strings.Repeat("x", 900))
		}
		files := service(text)
		files["serverless.yml"] += more.String()
		return files
	}
	begin(t, w, programs, large("one")).does(lane.OpDeploy, task.Succeeded)
	one := sha(t, w)
	s := begin(t, w, programs, large("two"))
	s.does(lane.OpDeploy, task.Succeeded)
	if sha(t, w) == one {
		t.Fatalf("nothing was deployed:\n%s", s.Log())
	}
	s.does(lane.OpRollback, task.Succeeded)
	if _, doc := s.Stack("web-dev"); sha(t, w) != one || len(doc) < 51_200 || strings.Contains(doc, "twox") {
		t.Errorf("the stack has %d bytes: %.300s\n%s", len(doc), doc, s.Log())
	}
}
