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

// explain says of a few tasks of a deployment why they have stopped.
func (s *session) explain(ctx context.Context, deployment string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), explainFor)
	defer stop()
	list, err := s.ecs.ListTasks(ctx, &ecs.ListTasksInput{
		Cluster: &s.name, StartedBy: &deployment, DesiredStatus: types.DesiredStatusStopped, MaxResults: sdk.Int32(mostStopped),
	})
	if err != nil || len(list.TaskArns) == 0 {
		return // nothing more is known
	}
	out, err := s.ecs.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &s.name, Tasks: list.TaskArns})
	if err != nil {
		return
	}
	slices.SortFunc(out.Tasks, func(a, b types.Task) int {
		return cmp.Compare(sdk.ToTime(b.StoppedAt).Unix(), sdk.ToTime(a.StoppedAt).Unix())
	})
	for _, one := range out.Tasks[:min(explained, len(out.Tasks))] {
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
