package cloudformation

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/task"
)

// delete deletes the stack.
func (s *session) delete(ctx context.Context) (task.Result, error) {
	now, err := s.ready(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if now != nil && s.work.Provisioner != nil {
		if err := s.keep(ctx, now); err != nil {
			return task.Result{}, err
		}
	}
	return s.deleted(ctx, now)
}

// deleted deletes a stack that may be there, and keeps that there is none.
func (s *session) deleted(ctx context.Context, now *types.Stack) (task.Result, error) {
	if now == nil {
		s.Say("There is no stack %s", s.spec.Stack)
	} else if err := s.remove(ctx, now, "stack"); err != nil {
		return task.Result{}, err
	}
	if s.work.Provisioner != nil {
		if _, err := s.Env.Provision(ctx, provision.Destroyed, struct{}{}); err != nil {
			return task.Result{}, err
		}
	}
	return executor.Succeed(struct{}{})
}

// remove deletes a stack and waits until it is gone.
func (s *session) remove(ctx context.Context, now *types.Stack, token string) error {
	o, err := s.newest(ctx, now)
	if err != nil {
		return err
	}
	s.Say("Deleting stack %s", sdk.ToString(now.StackName))
	in := &cloudformation.DeleteStackInput{StackName: now.StackId, ClientRequestToken: sdk.String(aws.Token(s.task, token))}
	if s.spec.RoleARN != "" {
		in.RoleARN = &s.spec.RoleARN
	}
	if _, err := s.stacks.DeleteStack(ctx, in); err != nil {
		return s.stacks.Failed(ctx, "DeleteStack", err)
	}
	done, err := s.end(ctx, o)
	if err != nil {
		return err
	}
	if status := done.stack.StackStatus; status != types.StackStatusDeleteComplete {
		return fault.New(fault.Conflict, "stack %s is %s: %s", s.spec.Stack, status, done.cause()).Causing(fault.Unknown)
	}
	return nil
}
