package serverless_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/workspace/workspacetest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers/sam"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/task"
)

// standIn stands in for serverless: it deploys a topic whose name says by which
// deployment, from a bucket that is a folder. What it does to stacks, sam's does.
const standIn = `#!/bin/sh
bucket='%s'
deploy() { exec sam deploy --stack-name web-dev --region %s --s3-bucket deployments --no-fail-on-empty-changeset --template-file "$bucket/$1"; }
case "$1" in
--version) echo "osls version: 4.3.1" ;;
print) echo '{"service": "web", "provider": {"name": "aws"}}' ;;
deploy)
  if [ "$2" = list ]; then
    for one in "$bucket"/*; do echo "Timestamp: ${one##*/}"; done
    exit
  fi
  at=$(sed -n 's/^timestamp: //p' serverless.yml)
  echo '{"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "serverless/web/dev/'"$at"'-2023-11-14T22:13:20.000Z/web.zip"}}}}' > "$bucket/$at"
  deploy "$at" ;;
rollback) for at; do :; done; deploy "$at" ;;
remove) exec sam delete --stack-name web-dev --region %[2]s --no-prompts ;;
esac
`

// machine gives stages whose services deploy by a timestamp with the stand-in.
func machine(t *testing.T) func(timestamp string) *stage {
	t.Helper()
	w, programs := testaws.NewWorld(t), sam.Install(t)
	if err := os.WriteFile(filepath.Join(programs, "serverless"), fmt.Appendf(nil, standIn, t.TempDir(), testaws.Region), 0o700); err != nil {
		t.Fatal(err)
	}
	return func(timestamp string) *stage {
		return begin(t, w, programs, map[string]string{"serverless.yml": "service: web\ntimestamp: " + timestamp + "\n"})
	}
}

// A deployment by serverless, whatever comes between.
func TestWhateverComesBetween(t *testing.T) {
	t.Parallel()
	trial := func(s *stage) workspacetest.Trial {
		return workspacetest.Trial{Machine: s.Machine, Run: s.run(), Deploy: s.step(lane.OpDeploy), Undo: s.step(lane.OpRollback), Stack: "web-dev"}
	}
	t.Run("first", func(t *testing.T) {
		t.Parallel()
		workspacetest.TryFirst(t, func(t *testing.T) workspacetest.Trial {
			t.Helper()
			return trial(machine(t)("1700000000001"))
		})
	})
	t.Run("update", func(t *testing.T) {
		t.Parallel()
		workspacetest.Try(t, func(t *testing.T) workspacetest.Trial {
			t.Helper()
			stage := machine(t)
			stage("1700000000001").does(lane.OpDeploy, task.Succeeded)
			return trial(stage("1700000000002"))
		})
	})
}

// A rollback takes back what its stage has deployed, and nothing that another one has
// deployed since.
func TestRollbackAfterAnotherDeployment(t *testing.T) {
	t.Parallel()
	const stays = "somebody else has deployed stack web-dev since"
	for name, c := range map[string]struct {
		back []int  // which of three deployments are taken back
		want string // the deployment then; empty: the stack is gone
		says string // by the last of them
	}{
		"of the first":                      {[]int{0}, "1700000000003", stays},
		"of an update":                      {[]int{1}, "1700000000003", stays},
		"that was taken back":               {[]int{2, 1}, "1700000000001", "--timestamp 1700000000001"},
		"that was taken back, of the first": {[]int{2, 1, 0}, "", "the service is removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := machine(t)
			all := []*stage{on("1700000000001"), on("1700000000002"), on("1700000000003")}
			for _, s := range all {
				s.does(lane.OpDeploy, task.Succeeded)
			}
			last := all[0]
			for _, n := range c.back {
				last = all[n]
				last.does(lane.OpRollback, task.Succeeded)
			}
			last.Says(c.says)
			if status, doc := last.Stack("web-dev"); c.want == "" && status != "" || !strings.Contains(doc, c.want) {
				t.Errorf("the stack is %s and has %s", status, doc)
			}
		})
	}
}
