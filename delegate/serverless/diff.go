package serverless

import (
	"context"
	"path"
	"strings"

	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

// compare tells how a deployment would change the stack. The service is packaged for
// that, which changes nothing in the account.
func (j *job) compare(ctx context.Context, options []string) (task.Result, error) {
	j.In(unitPackage)
	stack, err := j.stackName(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if err := j.serverless(ctx, "package", parameters(options)...); err != nil {
		return task.Result{}, err
	}
	text, err := workspace.Read(ctx, j.Sessions, j.Spec.Session, path.Join(j.dir, packaged), maxConfig)
	if err != nil {
		return task.Result{}, err
	}
	j.In(unitDiff)
	outputs, err := j.stacks.Compare(ctx, awsstack.Wanted{Stack: stack, Template: string(text), File: path.Join(j.dir, packaged)}, j.Section)
	if err != nil {
		return task.Result{}, err
	}
	return executor.Succeed(outputs)
}

// parameters are those options of a deployment by which its template is another, and
// which packaging takes, too.
func parameters(options []string) []string {
	var out []string
	for i, o := range options {
		switch {
		case strings.HasPrefix(o, "--param="):
			out = append(out, o)
		case o == "--param" && i+1 < len(options):
			out = append(out, o, options[i+1])
		}
	}
	return out
}
