package ecs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsdoc"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// The bounds of running tasks.
const (
	mostRun      = 10 // tasks of one call
	mostStarted  = 128
	roomEvery    = 30 * time.Second // between two tries where there was no room
	reporting    = 15 * time.Second // is left of a step's time to say how things stood
	stoppedState = "STOPPED"
)

// taskRun is a task that was run, as the step puts it out.
type taskRun struct {
	TaskARN   string           `json:"taskArn"`
	ExitCodes map[string]int32 `json:"exitCodes"` // by container, of those that have one
}

// once is a task that runs tasks of ECS once.
type once struct{ *session }

// runTask runs tasks that no service keeps, and waits until they have ended.
func (s once) runTask(ctx context.Context) error {
	run := s.spec.RunTask
	if run == nil {
		return fault.New(fault.Invalid, "the task says nothing of what is run")
	}
	s.In(fetchUnit)
	in, err := s.request(ctx)
	if err != nil {
		return err
	}
	w := &wanted{}
	if w.definition, err = s.documents().definition(ctx, run.TaskDefinition); err != nil {
		return err
	}
	s.In(deployUnit)
	s.spec.Target.TaskDefinitionARN = run.TaskDefinitionARN
	definition, err := s.toDeploy(ctx, w)
	if err != nil {
		return err
	}
	in.TaskDefinition = &definition
	started, err := s.start(ctx, *in)
	for _, t := range started {
		s.outputs.Tasks = append(s.outputs.Tasks, ran(t))
	}
	if err != nil || s.spec.SkipSteady {
		if err == nil {
			s.Say("Skipped Steady State Check")
		}
		return err
	}
	return s.ended(ctx, definition, started)
}

// request reads how tasks are run.
func (s once) request(ctx context.Context) (*ecs.RunTaskInput, error) {
	files, err := s.documents().source().Fetch(ctx, s.spec.RunTask.Request)
	if err != nil {
		return nil, err
	}
	in, notes, err := awsdoc.One[ecs.RunTaskInput](files, awsdoc.Rules{What: "run task request", Ours: []string{"taskDefinition", "cluster", "clientToken"}})
	s.documents().note(notes)
	if err != nil {
		return nil, err
	}
	if in.Count == nil {
		in.Count = sdk.Int32(1)
	}
	if *in.Count < 1 {
		return nil, wrong("the run task request wants %d tasks; want 1 or more", *in.Count)
	}
	if in.StartedBy == nil {
		by := "slipway-" + s.work.Execution
		in.StartedBy = sdk.String(by[:min(len(by), mostStarted)])
	}
	in.Cluster = &s.name
	in.Tags = tagged(in.Tags, s.Accesses.Tags(s.work))
	return in, nil
}

// start runs as many tasks as are wanted, a few with each call. Where the cluster
// has no room for all, the rest is tried again.
func (s once) start(ctx context.Context, in ecs.RunTaskInput) ([]types.Task, error) {
	var all []types.Task
	calls := 0
	for left := *in.Count; left > 0; {
		calls++
		in.Count = sdk.Int32(min(left, mostRun))
		in.ClientToken = sdk.String(aws.Token(s.task, fmt.Sprintf("run %d", calls)))
		out, err := s.ecs.RunTask(ctx, &in)
		if err != nil {
			return all, s.Failed(ctx, "ecs:RunTask", err)
		}
		for _, t := range out.Tasks {
			s.Say("Started task %s", sdk.ToString(t.TaskArn))
		}
		all = append(all, out.Tasks...)
		left -= int32(len(out.Tasks)) //nolint:gosec // ten at most
		if len(out.Failures) == 0 {
			continue
		}
		if err := refusals(out.Failures); err != nil {
			s.leave(all)
			return all, err
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < roomEvery+reporting {
			s.leave(all)
			return all, fault.New(fault.Conflict, "the cluster has no room for %d of the tasks: %s", left, reasons(out.Failures)).Causing(fault.ResourceLimitsFailure)
		}
		s.Say("The cluster has no room for %d of the tasks (%s); trying again", len(out.Failures), reasons(out.Failures))
		select {
		case <-ctx.Done():
			s.leave(all)
			return all, fmt.Errorf("wait for room in the cluster: %w", context.Cause(ctx))
		case <-time.After(roomEvery):
		}
	}
	return all, nil
}

// leave says which tasks go on, whose step doesn't.
func (s once) leave(tasks []types.Task) {
	var arns []string
	for _, t := range tasks {
		arns = append(arns, sdk.ToString(t.TaskArn))
	}
	if len(arns) > 0 {
		s.Say("These tasks are left running: %s", strings.Join(arns, ", "))
	}
}

// refusals are the failures to run a task that no time mends; nil if there are
// none.
func refusals(all []types.Failure) error {
	hard := slices.DeleteFunc(slices.Clone(all), func(f types.Failure) bool {
		why := sdk.ToString(f.Reason)
		return strings.HasPrefix(why, "RESOURCE:") || strings.HasPrefix(why, "CAPACITY") || strings.Contains(strings.ToLower(why), "capacity is unavailable")
	})
	if len(hard) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "ECS didn't run %d of the tasks: %s", len(hard), reasons(hard)).Causing(fault.Unknown)
}

func reasons(all []types.Failure) string {
	var out []string
	for _, f := range all {
		why := sdk.ToString(f.Reason)
		if detail := sdk.ToString(f.Detail); detail != "" {
			why += " (" + detail + ")"
		}
		if !slices.Contains(out, why) {
			out = append(out, why)
		}
	}
	return strings.Join(out, ", ")
}

// ended waits until tasks have stopped, and fails if one of their essential
// containers did. A step that is stopped leaves them running: half a migration is
// worse than a whole one.
func (s once) ended(ctx context.Context, definition string, started []types.Task) error {
	essential, err := s.essential(ctx, definition, started)
	if err != nil {
		return err
	}
	var arns []string
	for _, t := range started {
		arns = append(arns, sdk.ToString(t.TaskArn))
	}
	var tasks []types.Task
	asked := time.Now()
	err = awswait.Until(ctx, awswait.Wait{Pace: s.Pace, Log: s.Env.Log(s.Unit)}, func(ctx context.Context) (awswait.State, error) {
		var err error
		if tasks, err = s.describeTasks(ctx, arns); err != nil {
			return awswait.State{}, err
		}
		over := 0
		for _, t := range tasks {
			if sdk.ToString(t.LastStatus) == stoppedState {
				over++
			}
		}
		if len(tasks) < len(arns) && time.Since(asked) > unseen {
			return awswait.State{}, fault.New(fault.Conflict, "ECS doesn't know %d of the tasks any more", len(arns)-len(tasks)).Causing(fault.Unknown)
		}
		return awswait.State{Done: over == len(arns), Progress: fmt.Sprintf("Waiting for tasks to stop. %d of %d have", over, len(arns))}, nil
	})
	if err != nil {
		s.leave(started)
		return err
	}
	return s.judgeRuns(tasks, essential)
}

// essential are the containers that must end well. Where their logs go is said.
func (s once) essential(ctx context.Context, definition string, started []types.Task) (map[string]bool, error) {
	d, err := s.described(ctx, definition)
	if err != nil || d == nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, c := range d.TaskDefinition.ContainerDefinitions {
		name := sdk.ToString(c.Name)
		out[name] = c.Essential == nil || *c.Essential
		if l := c.LogConfiguration; l != nil && l.LogDriver == types.LogDriverAwslogs && l.Options["awslogs-stream-prefix"] != "" {
			for _, t := range started {
				s.Say("The log of container %s is in the log group %s, stream %s/%s/%s", name, l.Options["awslogs-group"], l.Options["awslogs-stream-prefix"], name, last(sdk.ToString(t.TaskArn)))
			}
		}
	}
	return out, nil
}

// judgeRuns says how tasks that have stopped ended.
func (s once) judgeRuns(tasks []types.Task, essential map[string]bool) error {
	s.outputs.Tasks = nil
	var bad []string
	for _, t := range tasks {
		s.outputs.Tasks = append(s.outputs.Tasks, ran(t))
		if slices.ContainsFunc(t.Containers, func(c types.Container) bool {
			return essential[sdk.ToString(c.Name)] && (c.ExitCode == nil || *c.ExitCode != 0)
		}) {
			bad = append(bad, stopped(t))
		}
	}
	if len(bad) > 0 {
		return fault.New(fault.Conflict, "%s", strings.Join(bad, "\n")).Causing(fault.Unknown)
	}
	s.Say("All tasks have ended well")
	return nil
}

func ran(t types.Task) taskRun {
	out := taskRun{TaskARN: sdk.ToString(t.TaskArn), ExitCodes: map[string]int32{}}
	for _, c := range t.Containers {
		if c.ExitCode != nil {
			out.ExitCodes[sdk.ToString(c.Name)] = *c.ExitCode
		}
	}
	return out
}
