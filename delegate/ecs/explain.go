package ecs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// The bounds of an explanation: it says a few tasks, of those that ECS lists
// first, and is given up rather than that it keeps a failure from being told.
const (
	explained   = 5
	explainFor  = 10 * time.Second
	mostStopped = 100
)

// explain says of a few tasks of a service's deployment why they have stopped. ECS
// lists the stopped tasks of a service, or those that a deployment started, but not
// the ones that are both.
func (s *session) explain(ctx context.Context, service, deployment string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), explainFor)
	defer stop()
	list, err := s.ecs.ListTasks(ctx, &ecs.ListTasksInput{
		Cluster: &s.name, ServiceName: &service, DesiredStatus: types.DesiredStatusStopped, MaxResults: sdk.Int32(mostStopped),
	})
	if err != nil || len(list.TaskArns) == 0 {
		return // nothing more is known
	}
	out, err := s.ecs.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &s.name, Tasks: list.TaskArns})
	if err != nil {
		return
	}
	own := slices.DeleteFunc(out.Tasks, func(t types.Task) bool { return sdk.ToString(t.StartedBy) != deployment })
	slices.SortFunc(own, func(a, b types.Task) int {
		return cmp.Compare(sdk.ToTime(b.StoppedAt).Unix(), sdk.ToTime(a.StoppedAt).Unix())
	})
	for _, one := range own[:min(explained, len(own))] {
		s.Say("%s", stopped(one))
	}
}

// stopped says why a task has stopped.
func stopped(one types.Task) string {
	line := fmt.Sprintf("Task %s stopped (%s): %s", last(sdk.ToString(one.TaskArn)), one.StopCode, sdk.ToString(one.StoppedReason))
	for _, c := range one.Containers {
		line += "; container " + sdk.ToString(c.Name)
		if c.ExitCode != nil {
			line += fmt.Sprintf(" exited with %d", *c.ExitCode)
		}
		if why := sdk.ToString(c.Reason); why != "" {
			line += ": " + why
		}
	}
	return line
}

// last is the last part of an ARN.
func last(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }
