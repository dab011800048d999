package awssam_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Docker is logged in while sam runs, and no longer; the login is in no log.
func TestDockersLogin(t *testing.T) {
	t.Parallel()
	s := begin(t, testaws.NewWorld(t), map[string]string{"template.json": queue("Queue", "30")})
	text := func(name string) string {
		t.Helper()
		doc, err := os.ReadFile(filepath.Join(s.Sessions.Workspace("s1"), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(doc)
	}
	auth := base64.StdEncoding.EncodeToString([]byte("ada:hush-password"))
	for url, name := range map[string]string{"https://registry.example.com:5000": "registry.example.com:5000", "https://index.docker.io": "https://index.docker.io/v1/"} {
		for op, want := range map[lane.Op]task.Status{lane.OpBuild: task.Succeeded, lane.OpDeploy: task.Failed} {
			s.sam(op, want, func(p *lane.Spec) {
				p.Registry = &task.Server{URL: url, Auth: task.AuthBasic, Username: "ada", Password: "hush-password"}
				p.Run.Before = `cp "$DOCKER_CONFIG/config.json" "$DOCKER_CONFIG/../../seen.json"`
				if want == task.Failed {
					p.Options = []string{"--nonsense"}
				}
			})
			if got := text("seen.json"); got != `{"auths":{"`+name+`":{"auth":"`+auth+`"}}}` {
				t.Errorf("%s: docker's logins are %s", op, got)
			}
			if got := text(".slipway/docker/config.json"); got != "{}" {
				t.Errorf("after %s docker's logins are %s", op, got)
			}
		}
	}
	if log := s.Log(); strings.Contains(log, "hush") || strings.Contains(log, auth) || !slices.Contains(s.Masked(), auth) {
		t.Errorf("the log is %s", log)
	}
	s.sam(lane.OpBuild, task.Succeeded, func(p *lane.Spec) {
		p.Registry = &task.Server{URL: "https://registry.example.com", Auth: task.AuthNone}
		p.Run.Before = `test -z "$DOCKER_CONFIG"`
	})
}
