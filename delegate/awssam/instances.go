package awssam

import (
	"context"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

// stackResource begins the name of a stack among what a step has put somewhere.
const stackResource = "AWS::CloudFormation::Stack/"

// change is what a step has done to a stack. Its instances are its functions.
func (j *job) change(ctx context.Context, action, stack string) task.Change {
	c := task.Change{Target: "cloudformation:" + j.access.Region + "/" + stack, Action: action, Resources: []string{stackResource + stack}, Whole: true}
	if action == "deleted" {
		c.Counted = true
		return c
	}
	c.Workloads = []task.Workload{{Resource: stackResource + stack}}
	instances, err := functions(ctx, j.client, j.access.Region, stack)
	if err != nil {
		j.Say("The functions of stack %s can't be told: %s", stack, j.failed(ctx, "ListStackResources", err))
		return c
	}
	c.Instances, c.Counted = instances, true
	return c
}

// functions are those of a stack.
func functions(ctx context.Context, client *cloudformation.Client, region, stack string) ([]task.Instance, error) {
	out := []task.Instance{}
	pages := cloudformation.NewListStackResourcesPaginator(client, &cloudformation.ListStackResourcesInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.StackResourceSummaries {
			if sdk.ToString(r.ResourceType) != "AWS::Lambda::Function" || strings.HasPrefix(string(r.ResourceStatus), "DELETE_COMPLETE") {
				continue
			}
			i := task.Instance{Name: sdk.ToString(r.PhysicalResourceId), Ready: true}
			i.Describe(map[string]string{"functionName": i.Name, "logicalId": sdk.ToString(r.LogicalResourceId), "stack": stack, "region": region})
			out = append(out, i)
		}
	}
	return out, nil
}

// Watch makes a watcher of stacks: it looks again and again which functions they
// have.
func Watch(accesses *aws.Accesses) executor.Watcher {
	return func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
		place, err := executor.Place[lane.Place](w.Kind, w.Place)
		if err != nil {
			return err
		}
		look := func(ctx context.Context) task.Observed { return observe(ctx, accesses, place, w) }
		return executor.Watch(ctx, look, awswait.Watch(), report)
	}
}

// observe looks once. What AWS doesn't say is a trouble of the place.
func observe(ctx context.Context, accesses *aws.Accesses, place lane.Place, w task.Watch) task.Observed {
	access, err := accesses.Get(ctx, place.AWS, "")
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	j := &job{access: access, client: cloudformation.NewFromConfig(access.Config)}
	var o task.Observed
	for _, one := range w.Workloads {
		stack, ok := strings.CutPrefix(one.Resource, stackResource)
		if !ok {
			continue
		}
		now, err := j.look(ctx, stack)
		if err == nil && now == nil {
			o.Workloads = append(o.Workloads, task.Workload{Resource: one.Resource, Gone: true})
			continue
		}
		var found []task.Instance
		if err == nil {
			found, err = functions(ctx, j.client, access.Region, stack)
		}
		if err != nil {
			return task.Observed{Trouble: err.Error()}
		}
		o.Instances, o.Workloads = append(o.Instances, found...), append(o.Workloads, task.Workload{Resource: one.Resource})
	}
	return o
}
