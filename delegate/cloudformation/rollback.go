package cloudformation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/task"
)

// rollback makes the stack what the last execution before this one has made of
// it. Of a stack that none of them knows, what was there before counts: what
// this execution has made goes, and what somebody else had made comes back.
func (s *session) rollback(ctx context.Context) (task.Result, error) {
	read, err := s.Env.Provisions(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if read.Own == nil {
		s.Say("Nothing to roll back: this execution has changed no stack")
		return executor.Succeed(struct{}{})
	}
	want, err := s.earlier(read)
	if err != nil {
		return task.Result{}, err
	}
	now, err := s.rested(ctx)
	if err != nil {
		return task.Result{}, err
	}
	done, err := s.drop(ctx, now)
	switch {
	case err != nil:
		return task.Result{}, err
	case done:
		return executor.Succeed(struct{}{})
	}
	if want == nil {
		s.Say("This execution has made stack %s: it is deleted", s.spec.Stack)
		return s.deleted(ctx, now)
	}
	if err := want.again(now); err != nil {
		return task.Result{}, err
	}
	if err := updates(now, s.spec.Stack); err != nil {
		return task.Result{}, err
	}
	if err := s.place(ctx, want); err != nil {
		return task.Result{}, err
	}
	end, err := s.apply(ctx, *want, now, "stack")
	if err != nil {
		return task.Result{}, err
	}
	if status := end.stack.StackStatus; !updatable(status) || status == types.StackStatusUpdateRollbackComplete && len(end.events) > 0 {
		return task.Result{}, fault.New(fault.Conflict, "stack %s is %s: %s", s.spec.Stack, status, end.cause()).Causing(fault.Unknown)
	}
	return s.applied(ctx, end.stack, want.URL, provision.RolledBack)
}

// earlier is what the stack was made of before the execution; nil: there was none.
func (s *session) earlier(read provision.Known) (*made, error) {
	if e := read.Earlier; e != nil && e.Status != provision.Destroyed && !backTo(*e, *read.Own) {
		var m made
		if err := json.Unmarshal(e.Inputs, &m); err != nil {
			return nil, fmt.Errorf("decode what execution %s has made: %w", e.Execution, err)
		}
		if m.Stack == s.spec.Stack && m.Region == s.access.Region { // the identifier may have meant another then
			s.Say("Going back to what execution %s has made of stack %s", e.Execution, s.spec.Stack)
			return &m, nil
		}
	}
	var was before
	if err := json.Unmarshal(read.Own.Before, &was); err != nil {
		return nil, fmt.Errorf("decode how stack %s was: %w", s.spec.Stack, err)
	}
	if was.Made != nil {
		s.Say("Going back to what stack %s was before this execution", s.spec.Stack)
	}
	return was.Made, nil
}

// backTo says whether what an execution has done last was to go back to what
// another one had made.
func backTo(done, own provision.Done) bool {
	return done.Status == provision.RolledBack && done.At.After(own.At) && bytes.Equal(done.Inputs, own.Inputs)
}

// rested is the stack once nothing changes it any more, whoever has begun that:
// what a step of this execution has begun goes on after its time is up.
func (s *session) rested(ctx context.Context) (*types.Stack, error) {
	now, err := s.stacks.Look(ctx, s.spec.Stack)
	if err != nil || now == nil || !awsstack.Changing(now.StackStatus) {
		return now, err
	}
	s.Say("Stack %s is %s: waiting for its end", s.spec.Stack, now.StackStatus)
	o, err := s.latest(ctx, now)
	if err != nil {
		return nil, err
	}
	done, err := s.end(ctx, o)
	if err != nil {
		return nil, err
	}
	if done.stack.StackStatus == types.StackStatusDeleteComplete {
		return nil, nil //nolint:nilnil // there is none
	}
	return done.stack, nil
}
