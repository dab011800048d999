package cloudformation

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/task"
)

// before is what an execution finds of a stack before its first change.
type before struct {
	First bool `json:"first,omitempty"` // there was none
	// Made is what it was made of.
	Made *made `json:"made,omitempty"`
}

// create makes the stack, or updates it.
func (s *session) create(ctx context.Context) (task.Result, error) {
	s.Unit = unitFetch
	want, err := s.wanted(ctx)
	if err != nil {
		return task.Result{}, err
	}
	s.Unit = unitCreate
	now, err := s.ready(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if now != nil && s.enough(now.StackStatus) && !updatable(now.StackStatus) && !empty(now.StackStatus) {
		s.Say("Stack %s is %s, which CloudFormation doesn't update; the step goes on, as its skipOnStackStatuses says", s.spec.Stack, now.StackStatus)
		return s.result(now)
	}
	if err := updates(now, s.spec.Stack); err != nil {
		return task.Result{}, err
	}
	if err := s.keep(ctx, now); err != nil {
		return task.Result{}, err
	}
	done, err := s.do(ctx, want, now)
	if err != nil {
		return task.Result{}, err
	}
	status := done.stack.StackStatus
	if !good(status) && !s.enough(status) {
		return task.Result{}, fault.New(fault.Conflict, "stack %s is %s: %s", s.spec.Stack, status, done.cause()).Causing(fault.Unknown)
	}
	if !good(status) {
		s.Say("Stack %s is %s; the step goes on, as its skipOnStackStatuses says", s.spec.Stack, status)
		return s.result(done.stack)
	}
	return s.applied(ctx, done.stack, want.URL, provision.Applied)
}

// do makes the stack what it is to be: by the change set that the stage has shown,
// if it has.
func (s *session) do(ctx context.Context, want made, now *types.Stack) (ended, error) {
	c, err := s.lastShown(ctx)
	switch {
	case err != nil:
		return ended{}, err
	case c != nil:
		return s.execute(ctx, *c, want, now)
	}
	return s.apply(ctx, want, now, "stack")
}

// keep keeps what is there before the execution's first change.
func (s *session) keep(ctx context.Context, now *types.Stack) error {
	was := before{First: now == nil || empty(now.StackStatus)}
	if !was.First {
		m, err := s.snapshot(ctx, now, "")
		if err != nil {
			return err
		}
		was.Made = &m
	}
	_, err := s.Env.Provision(ctx, provision.Begun, was)
	return err
}

// ready is the stack once nothing changes it any more; nil if there is none. What
// an earlier attempt of the step has begun is waited for.
func (s *session) ready(ctx context.Context) (*types.Stack, error) {
	now, err := s.stacks.Look(ctx, s.spec.Stack)
	if err != nil || now == nil || !awsstack.Changing(now.StackStatus) {
		return now, err
	}
	o, err := s.latest(ctx, now)
	if err != nil {
		return nil, err
	}
	if !s.own(o.token) {
		text := "stack " + s.spec.Stack + " is being changed by another operation: it is " + string(now.StackStatus)
		if o.token != "" {
			text += ", by a call with the token " + o.token
		}
		return nil, fault.New(fault.Conflict, "%s", text).Causing(fault.Unknown)
	}
	s.Say("Stack %s is %s: an earlier attempt of this step has begun that", s.spec.Stack, now.StackStatus)
	done, err := s.end(ctx, o)
	if err != nil {
		return nil, err
	}
	if done.stack.StackStatus == types.StackStatusDeleteComplete {
		return nil, nil //nolint:nilnil // see above
	}
	return done.stack, nil
}

// own says whether the step has begun an operation, at any attempt.
func (s *session) own(token string) bool {
	a := s.task
	for ; a.Attempt > 0; a.Attempt-- {
		for _, name := range []string{"stack", "clear"} {
			if aws.Token(a, name) == token {
				return true
			}
		}
	}
	return false
}

// empty says whether a stack holds nothing and can only be deleted: its creation
// was rolled back, or no change set was ever executed.
func empty(status types.StackStatus) bool {
	return status == types.StackStatusRollbackComplete || status == types.StackStatusReviewInProgress
}

func good(status types.StackStatus) bool {
	return status == types.StackStatusCreateComplete || status == types.StackStatusUpdateComplete || status == types.StackStatusImportComplete
}

func updatable(status types.StackStatus) bool {
	return good(status) || status == types.StackStatusUpdateRollbackComplete || status == types.StackStatusImportRollbackComplete
}

// enough says whether the step takes a final status for a success.
func (s *session) enough(status types.StackStatus) bool {
	return s.spec.Create != nil && slices.Contains(s.spec.Create.Enough, string(status))
}

// updates says why a stack can't be updated as it is, and what to do about it.
func updates(now *types.Stack, name string) error {
	if now == nil || updatable(now.StackStatus) || empty(now.StackStatus) {
		return nil
	}
	way := "delete it, or have CloudFormation repair it"
	switch now.StackStatus { //nolint:exhaustive // the others need nothing of their own
	case types.StackStatusUpdateRollbackFailed:
		way = "continue its rollback (aws cloudformation continue-update-rollback), which Slipway never does by itself"
	case types.StackStatusRollbackFailed, types.StackStatusCreateFailed:
		way = "delete it; its events say what couldn't be made or removed"
	case types.StackStatusDeleteFailed:
		way = "delete it again once what holds its resources is gone; its events say which"
	}
	return fault.New(fault.Conflict, "stack %s is %s, in which CloudFormation doesn't update it: %s", name, now.StackStatus, way).Causing(fault.Unknown)
}

// apply makes a stack what it is to be, and waits for that. token tells its calls
// from others of the task.
func (s *session) apply(ctx context.Context, want made, now *types.Stack, token string) (ended, error) {
	if now != nil && empty(now.StackStatus) {
		s.Say("Stack %s is %s: it holds nothing and is deleted first", s.spec.Stack, now.StackStatus)
		if err := s.remove(ctx, now, "clear"); err != nil {
			return ended{}, err
		}
		now = nil
	}
	if now == nil {
		return s.makes(ctx, want, token)
	}
	return s.update(ctx, want, now, token)
}

func (s *session) makes(ctx context.Context, want made, token string) (ended, error) {
	for _, p := range want.Parameters {
		if p.Kept {
			return ended{}, wrong("the parameter %s is to keep its value, and there is no stack %s that has one", p.Name, s.spec.Stack)
		}
	}
	s.Say("Creating stack %s", s.spec.Stack)
	body, url := want.template()
	out, err := s.stacks.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &s.spec.Stack, TemplateBody: body, TemplateURL: url, Parameters: want.parameters(), Tags: want.tags(),
		Capabilities: want.capabilities(), RoleARN: want.role(), ClientRequestToken: sdk.String(aws.Token(s.task, token)),
	})
	if err != nil {
		return ended{}, s.stacks.Failed(ctx, "CreateStack", err)
	}
	return s.end(ctx, operation{stack: sdk.ToString(out.StackId)})
}

func (s *session) update(ctx context.Context, want made, now *types.Stack, token string) (ended, error) {
	last, err := s.latest(ctx, now)
	if err != nil {
		return ended{}, err
	}
	if last.token == aws.Token(s.task, token) {
		s.Say("This attempt of the step has updated stack %s already", s.spec.Stack)
		return s.end(ctx, last)
	}
	o, err := s.newest(ctx, now)
	if err != nil {
		return ended{}, err
	}
	s.Say("Updating stack %s, which is %s", s.spec.Stack, now.StackStatus)
	body, url := want.template()
	_, err = s.stacks.UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: now.StackId, TemplateBody: body, TemplateURL: url, Parameters: want.parameters(), Tags: want.tags(),
		Capabilities: want.capabilities(), RoleARN: want.role(), ClientRequestToken: sdk.String(aws.Token(s.task, token)),
	})
	if aws.Is(err, "ValidationError") && strings.Contains(err.Error(), "No updates are to be performed") {
		s.Say("Stack %s is as it is to be; nothing is updated", s.spec.Stack)
		return ended{stack: now}, nil
	}
	if err != nil {
		return ended{}, s.stacks.Failed(ctx, "UpdateStack", err)
	}
	return s.end(ctx, o)
}

// applied keeps what the stack is made of now, and tells its outputs.
func (s *session) applied(ctx context.Context, now *types.Stack, url string, status provision.Status) (task.Result, error) {
	m, err := s.snapshot(ctx, now, url)
	if err != nil {
		return task.Result{}, err
	}
	if _, err := s.Env.Provision(ctx, status, m); err != nil {
		return task.Result{}, err
	}
	return s.result(now)
}

// result is what expressions read of a stack.
func (s *session) result(now *types.Stack) (task.Result, error) {
	outputs := map[string]string{"stackId": sdk.ToString(now.StackId), "stackStatus": string(now.StackStatus)}
	for _, o := range now.Outputs {
		outputs[sdk.ToString(o.OutputKey)] = sdk.ToString(o.OutputValue)
	}
	return executor.Succeed(outputs)
}
