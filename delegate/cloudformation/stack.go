package cloudformation

import (
	"context"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// operation is one on a stack that is under way, or was last.
type operation struct {
	stack string // its id
	since string // the id of the newest event before it; empty: there was none
	token string // of the call that began it; empty: it isn't known
}

// events reads those of a stack until one, the oldest first.
func (s *session) events(ctx context.Context, o operation) ([]types.StackEvent, error) {
	var out []types.StackEvent
	pages := cloudformation.NewDescribeStackEventsPaginator(s.stacks, &cloudformation.DescribeStackEventsInput{StackName: &o.stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range page.StackEvents {
			if sdk.ToString(e.EventId) == o.since {
				slices.Reverse(out)
				return out, nil
			}
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// latest is the operation of a stack that began last: its events begin with the
// one that tells of the stack itself and isn't its end.
func (s *session) latest(ctx context.Context, now *types.Stack) (operation, error) {
	o, found := operation{stack: sdk.ToString(now.StackId)}, false
	pages := cloudformation.NewDescribeStackEventsPaginator(s.stacks, &cloudformation.DescribeStackEventsInput{StackName: now.StackId})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return o, s.stacks.Failed(ctx, "DescribeStackEvents", err)
		}
		for _, e := range page.StackEvents { // the newest first
			if found {
				o.since = sdk.ToString(e.EventId)
				return o, nil
			}
			if found = begins(e); found {
				o.token = sdk.ToString(e.ClientRequestToken)
			}
		}
	}
	return o, nil
}

// begins says whether an operation begins with an event.
func begins(e types.StackEvent) bool {
	if sdk.ToString(e.PhysicalResourceId) != sdk.ToString(e.StackId) {
		return false
	}
	switch e.ResourceStatus { //nolint:exhaustive // the others are in the middle of one, or its end
	case types.ResourceStatusCreateInProgress, types.ResourceStatusUpdateInProgress, types.ResourceStatusDeleteInProgress, types.ResourceStatusImportInProgress:
		return true
	}
	return false
}

// newest is where the events of an operation that is about to begin will follow.
func (s *session) newest(ctx context.Context, now *types.Stack) (operation, error) {
	o := operation{stack: sdk.ToString(now.StackId)}
	out, err := s.stacks.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: now.StackId})
	if err != nil {
		return o, s.stacks.Failed(ctx, "DescribeStackEvents", err)
	}
	if len(out.StackEvents) > 0 {
		o.since = sdk.ToString(out.StackEvents[0].EventId)
	}
	return o, nil
}

// ended is how an operation came to its end.
type ended struct {
	stack  *types.Stack
	events []types.StackEvent // the oldest first
}

// end waits until nothing changes the stack any more, and tells its events.
func (s *session) end(ctx context.Context, o operation) (ended, error) {
	var out ended
	said := o
	wait := awswait.Wait{Pace: s.cfg.Pace, Log: s.Env.Log(s.Unit)}
	err := awswait.Until(ctx, wait, func(ctx context.Context) (awswait.State, error) {
		now, err := s.stacks.Look(ctx, o.stack)
		if err != nil {
			return awswait.State{}, err
		}
		if now == nil {
			return awswait.State{}, fault.New(fault.NotFound, "stack %s has gone while it was waited for", s.spec.Stack).Causing(fault.Unknown)
		}
		more, err := s.events(ctx, said)
		if err != nil {
			return awswait.State{}, s.stacks.Failed(ctx, "DescribeStackEvents", err)
		}
		for _, e := range more {
			s.tell(e)
			said.since = sdk.ToString(e.EventId)
		}
		out.stack, out.events = now, append(out.events, more...)
		status := string(now.StackStatus)
		return awswait.State{Done: !awsstack.Changing(now.StackStatus), Progress: "Stack " + s.spec.Stack + " is " + status}, nil
	})
	return out, err
}

// tell prints an event with the time of AWS.
func (s *session) tell(e types.StackEvent) {
	line := []string{sdk.ToTime(e.Timestamp).UTC().Format(time.RFC3339), string(e.ResourceStatus), sdk.ToString(e.ResourceType), sdk.ToString(e.LogicalResourceId)}
	if why := sdk.ToString(e.ResourceStatusReason); why != "" {
		line = append(line, why)
	}
	s.Say("%s", strings.Join(line, " "))
}

// cause is why an operation failed: what failed first, and not what was cancelled
// because of it. Empty if no event tells.
func (e ended) cause() string {
	for _, one := range e.events {
		why := sdk.ToString(one.ResourceStatusReason)
		if strings.HasSuffix(string(one.ResourceStatus), "_FAILED") && !strings.HasSuffix(why, "cancelled") && sdk.ToString(one.PhysicalResourceId) != sdk.ToString(one.StackId) {
			return sdk.ToString(one.LogicalResourceId) + " (" + sdk.ToString(one.ResourceType) + "): " + why
		}
	}
	return sdk.ToString(e.stack.StackStatusReason)
}
