package serverless_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsdoc/awsdoctest"
	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// prints is a program serverless whose configuration is what it prints of it.
const prints = `#!/bin/sh
case "$1" in
--version) echo osls version: 4.3.1;;
print) cat serverless.yml;;
*) exit 9;;
esac
`

// Configurations that osls can't use, and those of which Slipway needs more, are refused
// before anything is changed.
func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "serverless"), []byte(prints), 0o700); err != nil {
		t.Fatal(err)
	}
	awsdoctest.Refused(t, "testdata/wrong.txtar", *update, func(t *testing.T, documents map[string]string) string {
		t.Helper()
		s := begin(t, w, programs, map[string]string{strings.TrimSuffix(documents["name"], "\n") + "serverless.yml": documents["serverless"]})
		r := s.does(lane.OpDeploy, task.Failed, func(p *lane.Spec) {
			if documents["options"] != "" {
				p.Options = []string{documents["options"]}
			}
			if documents["image"] != "" {
				image := lookup.Artifact{Type: "Ecr", ECR: &lookup.ECRImages{Repository: "web"}}
				p.Target.Artifact, p.Target.Sidecars = &image, []lookup.Sidecar{{ID: "base", Artifact: image}}
			}
		})
		if !slices.Contains(r.FailureTypes, "ConfigurationFailure") {
			t.Errorf("it failed by %v\n%s", r.FailureTypes, s.Log())
		}
		return r.Message
	})
}
