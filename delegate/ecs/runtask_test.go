package ecs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	scaling "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/pkg/fault"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// scales is what scales the service.
type scales struct{ targets, policies string }

func (s *stage) scales(t *testing.T, service string) scales {
	t.Helper()
	name := resource(service)
	targets, err := s.scaler().DescribeScalableTargets(t.Context(), &scaling.DescribeScalableTargetsInput{ServiceNamespace: "ecs", ResourceIds: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range targets.ScalableTargets {
		targets.ScalableTargets[i].CreationTime, targets.ScalableTargets[i].ScalableTargetARN = nil, nil
	}
	policies, err := s.scaler().DescribeScalingPolicies(t.Context(), &scaling.DescribeScalingPoliciesInput{ServiceNamespace: "ecs", ResourceId: &name})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range policies.ScalingPolicies {
		names = append(names, *p.PolicyName)
	}
	doc, err := json.Marshal(targets.ScalableTargets)
	if err != nil {
		t.Fatal(err)
	}
	return scales{string(doc), strings.Join(names, " ")}
}

func containers(image string) []types.ContainerDefinition {
	name, memory := "web", int32(64)
	return []types.ContainerDefinition{{Name: &name, Image: &image, Memory: &memory}}
}

// runs has the stage run tasks.
func (s *stage) runs(image, request string) func(*ecslane.Spec) {
	subnet := s.Network().Subnets[0]
	return func(s *ecslane.Spec) {
		s.RunTask = &ecslane.RunTask{
			Request:        *manifest("runTaskRequestDefinition", "launchType: FARGATE\nnetworkConfiguration: {awsvpcConfiguration: {subnets: ["+subnet+"]}}\n"+request),
			TaskDefinition: manifest("taskDefinition", strings.Replace(taskDefinition, "IMAGE", image, 1)),
		}
	}
}

// A task that ends badly fails the step with its exit code, unless nobody waits.
func TestRunTask(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.refused(t, "exited with 3", ecslane.OpRunTask, s.runs("migrate:exit-3", ""))
	s.attempt++
	s.succeeds(t, ecslane.OpRunTask, s.runs("migrate:exit-3", ""), func(s *ecslane.Spec) { s.SkipSteady = true })
	if log := s.env.Text("Deploy", executor.Info); !strings.Contains(log, "Skipped Steady State Check") {
		t.Errorf("the log says:\n%s", log)
	}
	s.attempt++
	r := s.succeeds(t, ecslane.OpRunTask, s.runs("migrate:1", ""))
	if tasks := fmt.Sprint(output(t, r, "tasks")); !strings.Contains(tasks, "exitCodes:map[web:0]") {
		t.Errorf("tasks %s; want one with the exit code 0", tasks)
	}
	if len(r.Changes) != 0 {
		t.Errorf("the ledger gets %+v of tasks that no service keeps", r.Changes)
	}
}

// More than ten are run by several calls, each with a token of its own: the same
// step again runs the same tasks.
func TestRunManyTasks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range 2 {
		r := s.succeeds(t, ecslane.OpRunTask, s.runs("migrate:1", "count: 25\n"))
		if tasks, ok := output(t, r, "tasks").([]any); !ok || len(tasks) != 25 {
			t.Errorf("%d tasks; want 25", len(tasks))
		}
	}
	tokens, counts := map[string]bool{}, ""
	for _, c := range s.CallsOf("ecs:RunTask") {
		var in awsecs.RunTaskInput
		c.Decode(t, &in)
		tokens[*in.ClientToken] = true
		counts += fmt.Sprint(*in.Count, " ")
	}
	if len(tokens) != 3 || counts != "10 10 5 10 10 5 " {
		t.Errorf("%d tokens, counts %s; want 3 of 10 10 5, twice", len(tokens), counts)
	}
}

// A cluster without room fails the step before its time is up, by what is missing.
func TestNoRoomForTasks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r, err := s.kind.Do(executortest.Ending(t.Context(), 30*time.Second), s.assignment(t, ecslane.OpRunTask, s.runs("migrate:noroom", "")), s.env.Env)
	if err != nil || r.Status != task.Failed || !strings.Contains(r.Message, "the cluster has no room for 1 of the tasks") || !slices.Contains(r.FailureTypes, fault.ResourceLimitsFailure) {
		t.Errorf("it is %s by %v: %s, %v\n%s", r.Status, r.FailureTypes, r.Message, err, s.log())
	}
}
