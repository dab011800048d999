package awsstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
)

// trace is what a stage keeps of a tool that deploys a stack: that it has begun, and
// what it has left.
type trace struct {
	Ended   bool   `json:"ended,omitempty"`
	Stack   string `json:"stack,omitempty"` // its id; empty: there is none
	Content string `json:"content,omitempty"`
}

func (s Stacks) traces(stack string) string {
	return "stack:left:" + s.access.Region + ":" + stack + ":"
}

// Deploy has a tool deploy a stack, and keeps what it leaves, by which Overtaken
// knows the deployment again. Of a tool whose task is over before it, nobody knows
// that.
func (s Stacks) Deploy(ctx context.Context, env executor.Env, a task.Assignment, stack string, tool func() error) error {
	key := s.traces(stack) + aws.Token(a, stack)
	if _, err := executor.Keep(ctx, env, key+":begun", trace{}); err != nil {
		return err
	}
	failed := tool()
	if ctx.Err() != nil {
		return failed
	}
	left := trace{Ended: true}
	now, err := s.Look(ctx, stack)
	if err == nil && now != nil {
		left.Stack = sdk.ToString(now.StackId)
		left.Content, err = s.content(ctx, now)
	}
	if err == nil {
		_, err = executor.Keep(ctx, env, key+":ended", left)
	}
	if failed != nil {
		return failed // why it failed is more
	}
	return err
}

// Overtaken says, also to the log, whether a stack isn't any more what the stage has
// left of it: somebody else has deployed it since.
func (s Stacks) Overtaken(ctx context.Context, env executor.Env, now *types.Stack, say func(format string, values ...any)) (bool, error) {
	kept, err := executor.Kept[trace](ctx, env, s.traces(sdk.ToString(now.StackName)))
	if err != nil || len(kept) == 0 || !kept[0].Ended {
		return false, err
	}
	is, left := trace{Ended: true, Stack: sdk.ToString(now.StackId)}, kept[0]
	if is.Stack == left.Stack {
		if is.Content, err = s.content(ctx, now); err != nil || is == left {
			return false, err
		}
	}
	say("Nothing is rolled back: somebody else has deployed stack %s since this stage.", sdk.ToString(now.StackName))
	return true, nil
}

// content names what a stack is made of: its template and its parameters, but for
// the values that CloudFormation hides. Empty: it was never made.
func (s Stacks) content(ctx context.Context, of *types.Stack) (string, error) {
	if of.StackStatus == types.StackStatusReviewInProgress {
		return "", nil
	}
	out, err := s.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: of.StackId, TemplateStage: types.TemplateStageOriginal})
	if err != nil {
		return "", s.Failed(ctx, "GetTemplate", err)
	}
	parameters := []string{}
	for _, p := range of.Parameters {
		parameters = append(parameters, fmt.Sprintf("%q=%q", sdk.ToString(p.ParameterKey), sdk.ToString(p.ParameterValue)))
	}
	slices.Sort(parameters)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", parameters, sdk.ToString(out.TemplateBody)))
	return hex.EncodeToString(sum[:]), nil
}
