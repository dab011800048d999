package elastigroup_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestLane(t *testing.T) {
	t.Parallel()
	swimlanetest.Run(t, elastigroup.Lane(), elastigroup.Steps(), swimlanetest.Config{
		Service:         `{startupScript: {store: {type: Inline, spec: {content: "#!/bin/sh"}}}}`,
		Infrastructures: map[string]string{elastigroup.Type: "{connectorRef: c, configuration: {store: {type: Inline, spec: {content: x}}}}"},
		Connector:       "Spot",
		Undo: map[string]string{"ElastigroupSetup": "ElastigroupRollback", "ElastigroupDeploy": "ElastigroupRollback",
			"ElastigroupBGStageSetup": "ElastigroupRollback", "ElastigroupSwapRoute": "ElastigroupRollback", "ElastigroupBlueGreenTrafficShift": "ElastigroupRollback",
		},
		Shared: []string{"StandAloneTrafficShiftRollback"},
		Others: swimlane.Lanes{kubernetes.Lane(), ecs.Lane()},
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[elastigroup.Target](t, elastigroup.Lane(), elastigroup.Steps())
}

// The step that stages of ECS have, too, is done by the delegate of Elastigroups, by
// the account of the stage's setup.
func TestShiftsAreTakenBack(t *testing.T) {
	t.Parallel()
	byName := func(all []step.Type, name string) step.Type {
		t.Helper()
		i := slices.IndexFunc(all, func(one step.Type) bool { return one.Name == name })
		if i < 0 {
			t.Fatalf("there is no step %s", name)
		}
		return all[i]
	}
	decoded := func(typ step.Type, text string) step.Spec {
		t.Helper()
		docs, report := yamldoc.Parse("", []byte(text))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		return typ.Decode(docs[0], report)
	}
	in := step.In{
		Selectors: []string{"fast"}, Deployment: &step.Deployment{Type: elastigroup.Type, Target: &elastigroup.Target{Selectors: []string{"spot"}}},
		AWS: func(ref, region string) (task.AWS, []string, error) {
			return task.AWS{Region: region}, []string{ref}, nil
		},
		Others: func(name string) ([]step.Spec, error) {
			return []step.Spec{decoded(byName(elastigroup.Steps(), name), "{connectedCloudProvider: {type: AWS, spec: {connectorRef: aws, region: eu-west-1}}}")}, nil
		},
	}
	a, err := decoded(byName(ecs.Steps(), "StandAloneTrafficShiftRollback"), "{}").Start(in)
	if err != nil {
		t.Fatal(err)
	}
	var spec elastigroup.Spec
	if err := json.Unmarshal(a.Task.Payload.(task.Work).Spec, &spec); err != nil {
		t.Fatal(err)
	}
	if a.Task.Kind != elastigroup.Kind || spec.Op != elastigroup.OpShiftRollback || spec.AWS == nil || spec.AWS.Region != "eu-west-1" || !slices.Equal(a.Task.Selectors, []string{"fast", "spot", "aws"}) {
		t.Errorf("it is a task of %s for %v: %+v", a.Task.Kind, a.Task.Selectors, spec)
	}
}
