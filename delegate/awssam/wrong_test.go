package awssam_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsdoc/awsdoctest"
	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Templates, values and settings that are wrong are refused by what is wrong in them,
// before sam runs; what is rendered, by a preview.
func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	names := map[string]string{"template": "template.yaml", "values": "/values/base.yaml", "settings": "samconfig.yaml"}
	awsdoctest.Refused(t, "testdata/wrong.txtar", *update, func(t *testing.T, documents map[string]string) string {
		t.Helper()
		files, op := map[string]string{"template.yaml": "Resources: {}\n"}, lane.OpDeploy
		for name, text := range documents {
			if name == "preview" {
				name, op = "template", lane.OpDiff
			}
			if names[name] != "" {
				files[names[name]] = text
			}
		}
		s := begin(t, w, files)
		r := s.sam(op, task.Failed, func(p *lane.Spec) {
			if documents["values"] != "" {
				layered(p)
			}
			p.Options = strings.Split(strings.TrimSuffix(documents["options"], "\n"), "\n")
		})
		if strings.Contains(s.Log(), "$ sam") || !slices.Contains(r.FailureTypes, "ConfigurationFailure") {
			t.Errorf("it failed by %v\n%s", r.FailureTypes, s.Log())
		}
		return r.Message
	})
}
