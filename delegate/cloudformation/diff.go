package cloudformation

import (
	"context"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsdiff"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// compare tells what CreateStack would change of a stack. A change set says it,
// which is never executed and is gone afterwards; so is the stack that AWS makes to
// have one for a stack that isn't there.
func (s *session) compare(ctx context.Context) (task.Result, error) {
	s.Unit = unitFetch
	want, err := s.wanted(ctx)
	if err != nil {
		return task.Result{}, err
	}
	s.Unit = unitDiff
	now, err := s.stacks.Look(ctx, s.spec.Stack)
	if err != nil {
		return task.Result{}, err
	}
	switch {
	case now != nil && awsstack.Changing(now.StackStatus):
		return task.Result{}, fault.New(fault.Conflict, "stack %s is %s: how it would change isn't known before that has ended", s.spec.Stack, now.StackStatus).Causing(fault.Unknown)
	case now != nil && now.StackStatus == types.StackStatusRollbackComplete:
		s.Say("Stack %s is %s: it holds nothing, and would be deleted and made anew", s.spec.Stack, now.StackStatus)
		var diff awsdiff.Diff
		if _, err := diff.Add("Stack/"+s.spec.Stack, now.StackStatus, "made anew"); err != nil {
			return task.Result{}, err
		}
		return executor.Succeed(diff.Outputs(s.Say))
	}
	if err := updates(now, s.spec.Stack); err != nil {
		return task.Result{}, err
	}
	set, changes, err := s.changes(ctx, want, now, "How Slipway would change the stack; it is never executed")
	if err != nil {
		return task.Result{}, err
	}
	if err := s.forget(ctx, set, now == nil); err != nil {
		return task.Result{}, err
	}
	outputs, err := s.show(changes)
	if err != nil {
		return task.Result{}, err
	}
	return executor.Succeed(outputs)
}

// show tells changes.
func (s *session) show(changes []types.ResourceChange) (awsdiff.Outputs, error) {
	var diff awsdiff.Diff
	for _, c := range changes {
		name, was, is := told(c)
		hunks, err := diff.Add(name, was, is)
		if err != nil {
			return awsdiff.Outputs{}, err
		}
		s.Say("%s\n%s", name, hunks)
	}
	if diff.Empty() {
		s.Say("Nothing would change")
	}
	return diff.Outputs(s.Say), nil
}

// changes makes a change set and waits for it: its changes are those of the
// resources. What fails leaves none.
func (s *session) changes(ctx context.Context, want made, now *types.Stack, description string) (_ *cloudformation.CreateChangeSetOutput, _ []types.ResourceChange, err error) {
	typ := types.ChangeSetTypeUpdate
	if now == nil || now.StackStatus == types.StackStatusReviewInProgress {
		typ = types.ChangeSetTypeCreate
	}
	body, url := want.template()
	name := "slipway-" + aws.Token(s.task, "changes")
	set, err := s.stacks.CreateChangeSet(ctx, &cloudformation.CreateChangeSetInput{
		StackName: &s.spec.Stack, ChangeSetName: &name, ChangeSetType: typ, TemplateBody: body, TemplateURL: url, Parameters: want.parameters(),
		Tags: want.tags(), Capabilities: want.capabilities(), RoleARN: want.role(), Description: &description,
	})
	if aws.Is(err, "AlreadyExistsException") { // the task is delivered again
		var there *cloudformation.DescribeChangeSetOutput
		if there, err = s.stacks.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{StackName: &s.spec.Stack, ChangeSetName: &name}); err != nil {
			return nil, nil, s.stacks.Failed(ctx, "DescribeChangeSet", err)
		}
		set = &cloudformation.CreateChangeSetOutput{Id: there.ChangeSetId, StackId: there.StackId}
	}
	if err != nil {
		return nil, nil, s.stacks.Failed(ctx, "CreateChangeSet", err)
	}
	defer func() {
		if err != nil {
			_ = s.forget(ctx, set, now == nil) // why it failed is more
		}
	}()
	var out []types.ResourceChange
	wait := awswait.Wait{Pace: s.cfg.Pace, Log: s.Env.Log(s.Unit)}
	err = awswait.Until(ctx, wait, func(ctx context.Context) (awswait.State, error) {
		found, err := s.stacks.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: set.Id})
		if err != nil {
			return awswait.State{}, s.stacks.Failed(ctx, "DescribeChangeSet", err)
		}
		switch found.Status { //nolint:exhaustive // the others are on the way to one of these
		case types.ChangeSetStatusFailed:
			if why := sdk.ToString(found.StatusReason); !unchanged(why) {
				return awswait.State{}, fault.New(fault.Invalid, "CloudFormation can't say how stack %s would change: %s", s.spec.Stack, why).Causing(fault.ConfigurationFailure)
			}
			return awswait.State{Done: true}, nil
		case types.ChangeSetStatusCreateComplete:
			out, err = s.pages(ctx, found)
			return awswait.State{Done: true}, err
		}
		return awswait.State{Progress: "The change set is " + string(found.Status)}, nil
	})
	return set, out, err
}

// unchanged says whether a change set failed because there is nothing in it.
func unchanged(why string) bool {
	return strings.Contains(why, "didn't contain changes") || strings.Contains(why, "No updates are to be performed")
}

// pages are the changes of a change set, of which the first page is there.
func (s *session) pages(ctx context.Context, page *cloudformation.DescribeChangeSetOutput) ([]types.ResourceChange, error) {
	var out []types.ResourceChange
	for {
		for _, c := range page.Changes {
			if c.ResourceChange != nil {
				out = append(out, *c.ResourceChange)
			}
		}
		if page.NextToken == nil {
			break
		}
		next, err := s.stacks.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: page.ChangeSetId, NextToken: page.NextToken})
		if err != nil {
			return nil, s.stacks.Failed(ctx, "DescribeChangeSet", err)
		}
		page = next
	}
	if len(out) == 0 {
		out = append(out, types.ResourceChange{
			ResourceType: sdk.String("Stack"), LogicalResourceId: &s.spec.Stack, Action: types.ChangeActionModify, Replacement: types.ReplacementFalse,
			Scope: []types.ResourceAttribute{"Outputs, parameters or tags"},
		})
	}
	return out, nil
}

// forget deletes a change set, and the stack that was made for it alone. The task
// may have been ended meanwhile.
func (s *session) forget(ctx context.Context, set *cloudformation.CreateChangeSetOutput, alone bool) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	if _, err := s.stacks.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{ChangeSetName: set.Id}); err != nil {
		return s.stacks.Failed(ctx, "DeleteChangeSet", err)
	}
	if !alone {
		return nil
	}
	now, err := s.stacks.Look(ctx, sdk.ToString(set.StackId))
	if err != nil || now == nil || now.StackStatus != types.StackStatusReviewInProgress {
		return err
	}
	if _, err := s.stacks.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: set.StackId}); err != nil {
		return s.stacks.Failed(ctx, "DeleteStack", err)
	}
	wait := awswait.Wait{Pace: s.cfg.Pace, Log: s.Env.Log(s.Unit)}
	return awswait.Until(ctx, wait, func(ctx context.Context) (awswait.State, error) {
		now, err := s.stacks.Look(ctx, sdk.ToString(set.StackId))
		return awswait.State{Done: now == nil || now.StackStatus == types.StackStatusDeleteComplete, Progress: "The stack that the change set came with goes"}, err
	})
}

// resource is what is told of a resource that changes.
type resource struct {
	ID          string   `json:"id,omitempty"`
	Changes     []string `json:"changes,omitempty"`
	Replacement string   `json:"replacement,omitempty"`
}

// told is what is told of a change: what there is, and what would be.
func told(c types.ResourceChange) (name string, was, is any) {
	name = sdk.ToString(c.ResourceType) + "/" + sdk.ToString(c.LogicalResourceId)
	before := resource{ID: sdk.ToString(c.PhysicalResourceId)}
	switch c.Action { //nolint:exhaustive // the others change what is there
	case types.ChangeActionAdd, types.ChangeActionImport:
		return name, nil, resource{ID: "(new)"}
	case types.ChangeActionRemove:
		return name, before, nil
	}
	after := before
	for _, scope := range c.Scope {
		after.Changes = append(after.Changes, string(scope))
	}
	for _, d := range c.Details {
		if d.Target != nil && d.Target.Name != nil {
			after.Changes = append(after.Changes, string(d.Target.Attribute)+"."+sdk.ToString(d.Target.Name))
		}
	}
	switch c.Replacement {
	case types.ReplacementTrue:
		after.Replacement = "yes: another one takes its place"
	case types.ReplacementConditional:
		after.Replacement = "perhaps: it depends on values that aren't known yet"
	case types.ReplacementFalse:
		after.Replacement = "no"
	}
	return name, before, after
}
