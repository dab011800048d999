package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// runTaskType is the step type EcsRunTask: tasks that no service keeps, such as
// a migration, are run once in the cluster. The step waits until they have ended,
// and fails if a container of theirs did.
//
// Outputs: output.tasks, output.taskDefinitionArn. The tasks are run by
// delegate/ecs.
func runTaskType() step.Type {
	return step.Type{Name: string(OpRunTask), Deploys: true, New: decodeRunTask}
}

// runTask is the step's spec.
type runTask struct {
	Request       *filesource.Store // runTaskRequestDefinition
	Definition    *filesource.Store // taskDefinition, or:
	DefinitionARN yamldoc.Field[string]
	SkipSteady    yamldoc.Field[bool]
}

func decodeRunTask(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &runTask{}
	d.Fields(v, document.Keys{
		"runTaskRequestDefinition": func(e yamldoc.Value) { s.Request = aws.Store(d, e, "run task request", filesource.S3) },
		"taskDefinition":           func(e yamldoc.Value) { s.Definition = aws.Store(d, e, taskDefinition, filesource.S3) },
		"taskDefinitionArn":        d.Text(&s.DefinitionARN),
		"skipSteadyStateCheck":     d.Flag(&s.SkipSteady),
		"delegateSelectors":        d.Words(nil), // the plan's
	})
	d.Missing(v, "runTaskRequestDefinition")
	d.OneOf(v, "taskDefinition", "taskDefinitionArn")
	return s
}

// Start has a delegate run the tasks.
func (s *runTask) Start(in step.In) (step.Action, error) {
	run := &RunTask{TaskDefinitionARN: step.Text(s.DefinitionARN)}
	var err error
	if run.Request, err = own(in, "runTaskRequestDefinition", s.Request); err != nil {
		return step.Action{}, err
	}
	if s.Definition != nil {
		definition, err := own(in, "taskDefinition", s.Definition)
		if err != nil {
			return step.Action{}, err
		}
		run.TaskDefinition = &definition
	}
	return start(in, Spec{Op: OpRunTask, RunTask: run, SkipSteady: s.SkipSteady.Value})
}
