package ecs

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/pkg/task"
)

// mostTasks is how many tasks ECS describes at once.
const mostTasks = 100

// looked is what some services are, and which tasks they run.
type looked struct {
	workloads map[string]task.Workload // by the service's name
	tasks     []running
}

// running is a task of a service.
type running struct {
	types.Task
	service  string
	instance task.Instance
}

// workload is a service as the ledger names it.
func (c cluster) workload(service string) string { return "ecs/Service/" + c.short() + "/" + service }

// look looks at services and their tasks.
func (c cluster) look(ctx context.Context, names []string) (looked, error) {
	out := looked{workloads: map[string]task.Workload{}}
	found, err := c.describe(ctx, names)
	if err != nil {
		return out, err
	}
	for _, name := range names {
		w := task.Workload{Resource: c.workload(name), Selector: name}
		one, ok := found[name]
		if !ok || sdk.ToString(one.Status) == inactive {
			w.Gone = true
			out.workloads[name] = w
			continue
		}
		if out.workloads[name], err = c.asIs(ctx, w, one); err != nil {
			return out, err
		}
		tasks, err := c.tasks(ctx, name)
		if err != nil {
			return out, err
		}
		for _, t := range tasks {
			out.tasks = append(out.tasks, running{Task: t, service: name, instance: instance(t, name)})
		}
	}
	return out, nil
}

// asIs says of a service which images it runs, by which revision of a task
// definition, and how many tasks it should have. That is nobody's to say where
// something scales it.
func (c cluster) asIs(ctx context.Context, w task.Workload, one types.Service) (task.Workload, error) {
	d, err := c.described(ctx, sdk.ToString(one.TaskDefinition))
	if err != nil {
		return w, err
	}
	if d != nil {
		for _, container := range d.TaskDefinition.ContainerDefinitions {
			w.Images = append(w.Images, sdk.ToString(container.Image))
		}
	}
	if revision := last(sdk.ToString(one.TaskDefinition)); revision != "" { // two revisions may have one image
		w.Images = append(w.Images, "task definition "+revision)
	}
	if one.SchedulingStrategy == types.SchedulingStrategyDaemon {
		return w, nil
	}
	scales, err := c.scalingOf(ctx, sdk.ToString(one.ServiceName))
	if err == nil && len(scales.Targets) == 0 {
		n := int64(one.DesiredCount)
		w.Replicas = &n
	}
	return w, err
}

// tasks are those of a service that run, or are about to.
func (c cluster) tasks(ctx context.Context, service string) ([]types.Task, error) {
	var arns []string
	pages := ecs.NewListTasksPaginator(c.ecs, &ecs.ListTasksInput{Cluster: &c.name, ServiceName: &service, DesiredStatus: types.DesiredStatusRunning})
	for pages.HasMorePages() && len(arns) < task.MaxInstances {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, c.Failed(ctx, "ecs:ListTasks", err)
		}
		arns = append(arns, page.TaskArns...)
	}
	return c.describeTasks(ctx, arns)
}

// describeTasks describes tasks, those that there are.
func (c cluster) describeTasks(ctx context.Context, arns []string) ([]types.Task, error) {
	var out []types.Task
	for some := range slices.Chunk(arns, mostTasks) {
		got, err := c.ecs.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &c.name, Tasks: some})
		if err != nil {
			return nil, c.Failed(ctx, "ecs:DescribeTasks", err)
		}
		out = append(out, got.Tasks...)
	}
	return out, nil
}

// instance is a task as the ledger has it.
func instance(t types.Task, service string) task.Instance {
	i := task.Instance{
		Name: last(sdk.ToString(t.TaskArn)), Release: service, Canary: strings.HasSuffix(service, canarySuffix), IP: address(t),
		Phase: sdk.ToString(t.LastStatus), Ready: sdk.ToString(t.LastStatus) == "RUNNING" && t.HealthStatus != types.HealthStatusUnhealthy,
		Since: sdk.ToTime(t.StartedAt).UTC(),
	}
	more := map[string]string{
		"service": service, "taskDefinition": last(sdk.ToString(t.TaskDefinitionArn)), "launchType": string(t.LaunchType),
		"availabilityZone": sdk.ToString(t.AvailabilityZone), "startedBy": sdk.ToString(t.StartedBy), "taskArn": sdk.ToString(t.TaskArn),
	}
	if t.HealthStatus != "" && t.HealthStatus != types.HealthStatusUnknown {
		more["health"] = string(t.HealthStatus)
	}
	for _, c := range t.Containers {
		i.Images = append(i.Images, sdk.ToString(c.Image))
		if c.ImageDigest != nil {
			more["digest."+sdk.ToString(c.Name)] = *c.ImageDigest
		}
	}
	for name, value := range more {
		if value == "" {
			delete(more, name)
		}
	}
	i.Describe(more)
	return i
}

// address is the address of a task in its network, if it has one of its own.
func address(t types.Task) string {
	for _, a := range t.Attachments {
		for _, d := range a.Details {
			if sdk.ToString(d.Name) == "privateIPv4Address" {
				return sdk.ToString(d.Value)
			}
		}
	}
	return ""
}
