package awssam

import (
	"context"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// before is what a stage finds of a stack. Values that CloudFormation hides aren't
// in it: it takes the previous ones.
type before struct {
	Stack        string            `json:"stack"` // its name
	First        bool              `json:"first,omitempty"`
	Template     string            `json:"template,omitempty"`
	Parts        []string          `json:"parts,omitempty"` // in its place: the keys of a large one's parts
	Parameters   map[string]string `json:"parameters,omitempty"`
	Hidden       []string          `json:"hidden,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
	Capabilities []string          `json:"capabilities,omitempty"`
	Role         string            `json:"role,omitempty"`
}

// beforeKey begins the keys of these checkpoints.
const beforeKey = "sam:before:"

// hidden is what CloudFormation says in place of a value that isn't to be read.
const hidden = "****"

// keep keeps what is there before the first change.
func (j *job) keep(ctx context.Context) error {
	now, err := j.stacks.Settled(ctx, j.spec.Stack, j.Env.Log(j.Unit)) // sam doesn't wait for what an earlier attempt has begun
	if err != nil {
		return err
	}
	b := before{Stack: j.spec.Stack, First: now == nil || now.StackStatus == types.StackStatusReviewInProgress || now.StackStatus == types.StackStatusRollbackComplete}
	if !b.First {
		if b, err = j.read(ctx, now); err != nil {
			return err
		}
	}
	if err := j.divide(ctx, &b); err != nil {
		return err
	}
	_, err = executor.Keep(ctx, j.Env, beforeKey+j.access.Region+":"+j.spec.Stack, b)
	return err
}

func (j *job) read(ctx context.Context, now *types.Stack) (before, error) {
	name := sdk.ToString(now.StackName)
	b := before{Stack: name, Parameters: map[string]string{}, Tags: map[string]string{}, Role: sdk.ToString(now.RoleARN)}
	out, err := j.stacks.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &name, TemplateStage: types.TemplateStageOriginal})
	if err != nil {
		return b, j.stacks.Failed(ctx, "GetTemplate", err)
	}
	b.Template = sdk.ToString(out.TemplateBody)
	for _, p := range now.Parameters {
		if value := sdk.ToString(p.ParameterValue); value != hidden {
			b.Parameters[sdk.ToString(p.ParameterKey)] = value
		} else {
			b.Hidden = append(b.Hidden, sdk.ToString(p.ParameterKey))
		}
	}
	for _, t := range now.Tags {
		if key := sdk.ToString(t.Key); !strings.HasPrefix(key, "aws:") { // those are AWS's own
			b.Tags[key] = sdk.ToString(t.Value)
		}
	}
	for _, c := range now.Capabilities {
		b.Capabilities = append(b.Capabilities, string(c))
	}
	return b, nil
}

// rollback puts the stacks back that the stage has deployed, the newest first.
func (j *job) rollback(ctx context.Context) (task.Result, error) {
	kept, err := executor.Kept[before](ctx, j.Env, beforeKey)
	if err != nil {
		return task.Result{}, err
	}
	for i := range kept {
		if err := j.join(ctx, &kept[i]); err != nil {
			return task.Result{}, err
		}
	}
	return awsstack.PutBack(ctx, j.stacks, kept, func(ctx context.Context, b before) (stack, done string, err error) {
		done, err = j.putBack(ctx, b)
		return b.Stack, done, err
	}, j.Say)
}

// putBack says what was done to the stack; empty: nothing had to be.
func (j *job) putBack(ctx context.Context, b before) (done string, err error) {
	now, err := j.stacks.Settled(ctx, b.Stack, j.Env.Log(j.Unit))
	if err != nil {
		return "", err
	}
	switch {
	case now == nil:
		j.Say("Stack %s isn't there, as before the stage.", b.Stack)
		return "", nil
	case b.First:
		if over, err := j.stacks.Overtaken(ctx, j.Env, now, j.Say); err != nil || over {
			return "", err
		}
		return awsstack.Deleted, j.remove(ctx, now)
	}
	is, err := j.read(ctx, now)
	if err != nil {
		return "", err
	}
	if is.Template == b.Template && maps.Equal(is.Parameters, b.Parameters) && maps.Equal(is.Tags, b.Tags) {
		j.Say("Stack %s is as it was before the stage: it is %s.", b.Stack, now.StackStatus)
		return "", nil
	}
	if over, err := j.stacks.Overtaken(ctx, j.Env, now, j.Say); err != nil || over {
		return "", err
	}
	return "applied", j.update(ctx, b, is, sdk.ToString(now.StackId))
}

// remove deletes a stack that the stage has made.
func (j *job) remove(ctx context.Context, now *types.Stack) error {
	name, id := sdk.ToString(now.StackName), sdk.ToString(now.StackId)
	j.Say("Stack %s wasn't there before the stage; it is deleted.", name)
	_, err := j.stacks.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &id, ClientRequestToken: sdk.String(aws.Token(j.task, "delete "+name))})
	if err != nil {
		return j.stacks.Failed(ctx, "DeleteStack", err)
	}
	gone, err := j.stacks.Settled(ctx, id, j.Env.Log(j.Unit))
	if err != nil {
		return err
	}
	if gone != nil && gone.StackStatus != types.StackStatusDeleteComplete {
		return fault.New(fault.Conflict, "stack %s is %s: %s", name, gone.StackStatus, sdk.ToString(gone.StackStatusReason)).Causing(fault.Unknown)
	}
	return nil
}

// update gives a stack its earlier template and parameters. A template that is too
// large to come with a call goes through the delegate's bucket.
func (j *job) update(ctx context.Context, b, is before, id string) error {
	in := &cloudformation.UpdateStackInput{StackName: &b.Stack, TemplateBody: &b.Template, ClientRequestToken: sdk.String(aws.Token(j.task, "update "+b.Stack))}
	if len(b.Template) > awsstack.MaxBody {
		bucket := awsstack.Bucket{Accesses: j.cfg.Accesses, Name: j.cfg.Bucket}
		if bucket.Name == "" {
			return fault.New(fault.TooLarge, "the template that stack %s had before the stage has %d bytes; CloudFormation takes %d with a call. Start the delegate with --cloudformation-bucket, or deploy the earlier version to roll back",
				b.Stack, len(b.Template), awsstack.MaxBody).Causing(fault.Unknown)
		}
		url, remove, err := bucket.Put(ctx, j.spec.Target.AWS, j.task, b.Template)
		if err != nil {
			return err
		}
		defer func() {
			if err := remove(); err != nil {
				j.Warn("the template is still in the bucket %s: %s", bucket.Name, err)
			}
		}()
		j.Say("The template has %d bytes, and is in the bucket %s until the step ends", len(b.Template), bucket.Name)
		in.TemplateBody, in.TemplateURL = nil, &url
	}
	j.Say("Stack %s gets the template, the parameters and the tags back that it had before the stage.", b.Stack)
	for _, key := range slices.Sorted(maps.Keys(b.Parameters)) {
		in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: &key, ParameterValue: sdk.String(b.Parameters[key])})
	}
	for _, key := range b.Hidden {
		if slices.Contains(is.Hidden, key) {
			in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: &key, UsePreviousValue: sdk.Bool(true)})
		}
	}
	in.Tags = []types.Tag{} // without any it would keep those that it has
	for _, key := range slices.Sorted(maps.Keys(b.Tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: &key, Value: sdk.String(b.Tags[key])})
	}
	for _, c := range b.Capabilities {
		in.Capabilities = append(in.Capabilities, types.Capability(c))
	}
	// The transform of SAM has to be acknowledged where no change set shows what comes
	// of it; sam makes one, and needn't.
	if !slices.Contains(in.Capabilities, types.CapabilityCapabilityAutoExpand) {
		in.Capabilities = append(in.Capabilities, types.CapabilityCapabilityAutoExpand)
	}
	if b.Role != "" {
		in.RoleARN = &b.Role
	}
	_, err := j.stacks.UpdateStack(ctx, in)
	if aws.Is(err, "ValidationError") && strings.Contains(err.Error(), "No updates are to be performed") {
		return nil
	}
	if err != nil {
		return j.stacks.Failed(ctx, "UpdateStack", err)
	}
	now, err := j.stacks.Settled(ctx, id, j.Env.Log(j.Unit))
	if err != nil {
		return err
	}
	if now == nil || now.StackStatus != types.StackStatusUpdateComplete {
		status := "gone"
		if now != nil {
			status = string(now.StackStatus)
			j.stacks.Explain(ctx, b.Stack, j.Say)
		}
		return fault.New(fault.Conflict, "stack %s is %s after its rollback", b.Stack, status).Causing(fault.Unknown)
	}
	return nil
}
