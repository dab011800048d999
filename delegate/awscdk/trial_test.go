package awscdk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/delegate/workspace/workspacetest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers/sam"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/task"
)

// standIn stands in for cdk: what it does to stacks, sam's does, which waits for one
// that changes, as cdk does.
const standIn = `#!/bin/sh
echo '{}' > cdk-outputs.json
%s=1 exec sam deploy --stack-name One --region %s --s3-bucket cdk --no-fail-on-empty-changeset --template-file stack.json
`

// app is the stand-in's: a stack with a queue.
func app(queue, seconds string) map[string]string {
	return map[string]string{"stack.json": `{"Resources": {"` + queue + `": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": ` + seconds + `}}}}`}
}

// deployed is an app that an execution has deployed by the stand-in; another begins.
func deployed(t *testing.T) *lane {
	t.Helper()
	programs := sam.Install(t)
	if err := os.WriteFile(filepath.Join(programs, "cdk"), fmt.Appendf(nil, standIn, sam.Waits, testaws.Region), 0o700); err != nil {
		t.Fatal(err)
	}
	l := beginWith(t, programs, app("Queue", "30"))
	l.do(steps.OpDeploy, task.Succeeded)
	l.Execution = "e2"
	return l
}

// A deployment by cdk, whatever comes between; AwsCdkRollback deploys what GitClone
// has brought again.
func TestWhateverComesBetween(t *testing.T) {
	t.Parallel()
	workspacetest.Try(t, func(t *testing.T) workspacetest.Trial {
		t.Helper()
		l := deployed(t)
		l.put(app("Queue", "60"))
		return workspacetest.Trial{
			Machine: l.Machine, Run: l.run, Deploy: l.step(steps.OpDeploy), Undo: l.step(steps.OpRollback), Stack: "One",
			Back: func() { l.put(app("Queue", "30")) },
		}
	})
}

// What CloudFormation rolls back by itself is deployed as before by AwsCdkRollback,
// which changes nothing then.
func TestRolledBackByItself(t *testing.T) {
	t.Parallel()
	l := deployed(t)
	_, before := l.Stack("One")
	l.put(app("CrashQueue", "60"))
	l.do(steps.OpDeploy, task.Failed)
	l.Reopen()
	l.put(app("Queue", "30"))
	l.do(steps.OpRollback, task.Succeeded)
	if status, after := l.Stack("One"); after != before || status != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("the stack is %s and has %s; want %s", status, after, before)
	}
}
