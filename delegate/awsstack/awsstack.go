// Package awsstack looks at stacks of CloudFormation: what a stack is, whether it
// changes just now, and which functions it has; and it waits for the turn of a task
// by a provisioner.
//
// Tools that deploy by stacks are run by the executors of their deployment types;
// what a step does to a stack itself is delegate/cloudformation's.
package awsstack

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Stacks are those of an account in a region.
type Stacks struct {
	*cloudformation.Client

	access *aws.Access
	pace   awswait.Pace
}

// In gives the stacks that an access leads to. pace is how often one that changes
// is looked at; nil: awswait.Stack.
func In(access *aws.Access, pace awswait.Pace) Stacks {
	if pace == nil {
		pace = awswait.Stack()
	}
	return Stacks{cloudformation.NewFromConfig(access.Config), access, pace}
}

// unitTurn is the command unit of the log of waiting for others.
const unitTurn = "Wait for Others"

// Turn waits until no other task works by a task's provisioner; one without any has
// nobody to wait for. It tells whom it waits for in a section of its own, and goes on
// in the task's. pace is how often it asks; nil: awswait.Stack.
func Turn(ctx context.Context, s *executor.Section, by *provision.Provisioner, pace awswait.Pace) error {
	if by == nil {
		return nil
	}
	if pace == nil {
		pace = awswait.Stack()
	}
	own := s.Unit
	s.In(unitTurn)
	err := awswait.Until(ctx, awswait.Wait{Pace: pace, Log: s.Env.Log(s.Unit)}, func(ctx context.Context) (awswait.State, error) {
		holder, err := s.Env.Alone(ctx)
		return awswait.State{Done: holder == "", Progress: "Execution " + holder + " works by the provisioner " + by.Identifier + ", which one does at a time"}, err
	})
	if err == nil {
		s.In(own)
	}
	return err
}

// Failed is the error of a call.
func (s Stacks) Failed(ctx context.Context, operation string, err error) error {
	return s.access.Failed(ctx, "cloudformation:"+operation, err)
}

// Look reads a stack by its name or its id; nil if there is none. One that was
// deleted is found by its id.
func (s Stacks) Look(ctx context.Context, name string) (*types.Stack, error) {
	out, err := s.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if aws.Is(err, "ValidationError") && strings.Contains(err.Error(), "does not exist") {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, s.Failed(ctx, "DescribeStacks", err)
	}
	if len(out.Stacks) == 0 {
		return nil, nil //nolint:nilnil // see above
	}
	return &out.Stacks[0], nil
}

// Changing says whether an operation is under way.
func Changing(status types.StackStatus) bool {
	return strings.HasSuffix(string(status), "_IN_PROGRESS") && status != types.StackStatusReviewInProgress
}

// Settled waits until nothing changes a stack; nil if there is none.
func (s Stacks) Settled(ctx context.Context, name string, log io.Writer) (*types.Stack, error) {
	var now *types.Stack
	err := awswait.Until(ctx, awswait.Wait{Pace: s.pace, Log: log}, func(ctx context.Context) (awswait.State, error) {
		var err error
		if now, err = s.Look(ctx, name); err != nil || now == nil {
			return awswait.State{Done: true}, err
		}
		return awswait.State{Done: !Changing(now.StackStatus), Progress: fmt.Sprintf("Stack %s is %s", sdk.ToString(now.StackName), now.StackStatus)}, nil
	})
	return now, err
}

// Outputs are those of a stack.
func Outputs(of *types.Stack) map[string]string {
	out := map[string]string{}
	for _, o := range of.Outputs {
		out[sdk.ToString(o.OutputKey)] = sdk.ToString(o.OutputValue)
	}
	return out
}

// Explain tells why a stack's newest operation has failed: tools don't always.
func (s Stacks) Explain(ctx context.Context, stack string, say func(format string, values ...any)) {
	if ctx.Err() != nil {
		say("What CloudFormation does with stack %s goes on.", stack)
		return
	}
	out, err := s.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &stack})
	if err != nil {
		return // there is no stack, or the tool has said why not
	}
	newest := out.StackEvents // the newest comes first
	if i := slices.IndexFunc(newest, begins); i >= 0 {
		newest = newest[:i]
	}
	for _, e := range slices.Backward(newest) {
		if strings.HasSuffix(string(e.ResourceStatus), "_FAILED") {
			say("%s %s %s: %s", e.ResourceStatus, sdk.ToString(e.ResourceType), sdk.ToString(e.LogicalResourceId), sdk.ToString(e.ResourceStatusReason))
		}
	}
}

// begins says whether an event is the beginning of a stack's operation, which isn't
// its going back.
func begins(e types.StackEvent) bool {
	if sdk.ToString(e.PhysicalResourceId) != sdk.ToString(e.StackId) {
		return false
	}
	switch e.ResourceStatus {
	case types.ResourceStatusCreateInProgress, types.ResourceStatusUpdateInProgress, types.ResourceStatusDeleteInProgress, "REVIEW_IN_PROGRESS":
		return true
	default:
		return false
	}
}

// resource begins the name of a stack among what a step has put somewhere.
const resource = "AWS::CloudFormation::Stack/"

// Deleted is what is told of a stack that a step has deleted.
const Deleted = "deleted"

// Change is what a step has done to a stack. Its instances are its functions.
func (s Stacks) Change(ctx context.Context, action, stack string, say func(format string, values ...any)) task.Change {
	c := task.Change{Target: "cloudformation:" + s.access.Region + "/" + stack, Action: action, Resources: []string{resource + stack}, Whole: true}
	if action == Deleted {
		c.Counted = true
		return c
	}
	one := task.Workload{Resource: resource + stack}
	if now, err := s.Look(ctx, stack); err == nil && now != nil { // else its drift isn't told
		one.State = left(now)
	}
	c.Workloads = []task.Workload{one}
	instances, err := s.instances(ctx, stack)
	if err != nil {
		say("The functions of stack %s can't be told: %s", stack, err)
		return c
	}
	c.Instances, c.Counted = instances, true
	return c
}

// PutBack puts the stacks back that a stage has found, in the order in which they
// are given. What one of them came to, putBack says: its name, and what was done to
// it; empty: nothing had to be.
func PutBack[B any](
	ctx context.Context, s Stacks, found []B, putBack func(context.Context, B) (stack, done string, err error), say func(format string, values ...any),
) (task.Result, error) {
	stacks, changes := []string{}, []task.Change{}
	for _, b := range found {
		stack, done, err := putBack(ctx, b)
		if err != nil {
			return task.Result{Changes: changes}, err
		}
		if done != "" {
			changes = append(changes, s.Change(ctx, done, stack, say))
		}
		stacks = append(stacks, stack)
	}
	if len(stacks) == 0 {
		say("Nothing to roll back: the stage has deployed nothing.")
	}
	return executor.Succeed(map[string]any{"stacks": stacks}, changes...)
}

// Function is a function of a stack.
type Function struct {
	Name string `json:"name"`
	ARN  string `json:"arn"`
	id   string // in the template
}

// Functions are those of a stack.
func (s Stacks) Functions(ctx context.Context, stack string) ([]Function, error) {
	out := []Function{}
	pages := cloudformation.NewListStackResourcesPaginator(s.Client, &cloudformation.ListStackResourcesInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.Failed(ctx, "ListStackResources", err)
		}
		for _, r := range page.StackResourceSummaries {
			if sdk.ToString(r.ResourceType) == "AWS::Lambda::Function" && !strings.HasPrefix(string(r.ResourceStatus), "DELETE_COMPLETE") {
				out = append(out, Function{Name: sdk.ToString(r.PhysicalResourceId), id: sdk.ToString(r.LogicalResourceId)})
			}
		}
	}
	if len(out) == 0 {
		return out, nil
	}
	now, err := s.Look(ctx, stack)
	if err != nil || now == nil {
		return out, err
	}
	if at, err := arn.Parse(sdk.ToString(now.StackId)); err == nil {
		for i := range out {
			at.Service, at.Resource = "lambda", "function:"+out[i].Name
			out[i].ARN = at.String()
		}
	}
	return out, nil
}

func (s Stacks) instances(ctx context.Context, stack string) ([]task.Instance, error) {
	found, err := s.Functions(ctx, stack)
	if err != nil {
		return nil, err
	}
	out, functions := []task.Instance{}, lambda.NewFromConfig(s.access.Config)
	for _, f := range found {
		known := map[string]string{"functionName": f.Name, "functionArn": f.ARN, "logicalId": f.id, "stack": stack, "region": s.access.Region}
		switch c, err := functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &f.Name}); {
		case err == nil:
			known["codeSha256"], known["lastModified"] = sdk.ToString(c.CodeSha256), sdk.ToString(c.LastModified)
		case aws.Is(err, "ResourceNotFoundException"):
			continue // somebody has deleted it
		case !aws.Is(err, "AccessDeniedException"): // without the right it is told without its code
			return nil, s.access.Failed(ctx, "lambda:GetFunctionConfiguration", err)
		}
		i := task.Instance{Name: f.Name, Ready: true}
		i.Describe(known)
		out = append(out, i)
	}
	return out, nil
}

// Watch makes a watcher of stacks: it looks again and again which functions they
// have, as often as awswait.Watch says. Places of type P are in an account.
func Watch[P any](accesses *aws.Accesses, account func(P) task.AWS, seldom time.Duration) executor.Watcher {
	return executor.WatchPlace(func(ctx context.Context, place P, workloads []task.Workload) task.Observed {
		return observe(ctx, accesses, account(place), workloads)
	}, awswait.Watch(seldom))
}

// observe looks once. What AWS doesn't say is a trouble of the place.
func observe(ctx context.Context, accesses *aws.Accesses, account task.AWS, workloads []task.Workload) task.Observed {
	access, err := accesses.Get(ctx, account, "")
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	s := In(access, nil)
	var o task.Observed
	for _, one := range workloads {
		stack, ok := strings.CutPrefix(one.Resource, resource)
		if !ok {
			continue
		}
		now, err := s.Look(ctx, stack)
		if err == nil && now == nil {
			o.Workloads = append(o.Workloads, task.Workload{Resource: one.Resource, Gone: true})
			continue
		}
		var found []task.Instance
		if err == nil {
			found, err = s.instances(ctx, stack)
		}
		if err != nil {
			return task.Observed{Trouble: err.Error()}
		}
		o.Instances, o.Workloads = append(o.Instances, found...), append(o.Workloads, task.Workload{Resource: one.Resource, State: left(now)})
	}
	return o
}

// left is how the last operation has left a stack, and when that began: another one
// is another state. Empty: one is under way.
func left(now *types.Stack) string {
	if Changing(now.StackStatus) {
		return ""
	}
	at := sdk.ToTime(now.CreationTime)
	if now.LastUpdatedTime != nil {
		at = *now.LastUpdatedTime
	}
	return fmt.Sprintf("%s, last changed at %s", now.StackStatus, at.UTC().Format(time.RFC3339))
}
