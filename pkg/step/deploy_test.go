package step_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
)

type starts func(in step.In) (step.Action, error)

func (s starts) Start(in step.In) (step.Action, error) { return s(in) }

func deploying() step.In {
	return step.In{
		Execution: "e", StageNode: "s", Node: "n", Rollback: true, Selectors: []string{"near"},
		Deployment: &step.Deployment{ServiceID: "web", EnvironmentID: "prod", Infrastructure: "hall", Release: "r", Namespace: "shop", Image: "web:1"},
	}
}

func TestDeploySaysWhatGoesWhere(t *testing.T) {
	t.Parallel()
	typ := step.Type{Name: "Trial", Deploys: true}
	got, err := typ.Start(starts(func(in step.In) (step.Action, error) {
		return step.Deploy(in, "trial", map[string]int{"key": 1}, map[string]string{"door": "((1))"}, "connector")
	}), deploying())
	want := step.Action{Task: &step.Task{Kind: "trial", Selectors: []string{"near", "connector"}, Payload: task.Work{
		Target:    task.Target{Service: "web", Environment: "prod", Infrastructure: "hall", Release: "r", Namespace: "shop", Image: "web:1"},
		Execution: "e", Stage: "s", Step: "n", Rollback: true, Place: []byte(`{"door":"((1))"}`), Spec: []byte(`{"key":1}`),
	}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, action (-want +got):\n%s", err, diff)
	}
}

// What the instance ledger couldn't know is refused where it is made.
func TestNothingIsDeployedUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start starts
		in    step.In
		want  string
	}{
		"a payload of its own": {
			func(step.In) (step.Action, error) {
				return step.Action{Task: &step.Task{Kind: "trial", Payload: map[string]string{"service": "web"}}}, nil
			}, deploying(), "the step type Trial deploys by a map[string]string that step.Deploy hasn't made",
		},
		"work that names nothing": {
			func(in step.In) (step.Action, error) {
				in.Deployment = nil
				w, err := step.Work(in, nil)
				return step.Action{Task: &step.Task{Kind: "trial", Payload: w}}, err
			}, deploying(), "deploys by a task.Work that step.Deploy hasn't made",
		},
		"no place": {
			func(in step.In) (step.Action, error) { return step.Deploy(in, "trial", 1, nil) }, deploying(), "it names no place",
		},
		"a stage that deploys nothing": {
			func(in step.In) (step.Action, error) { return step.Deploy(in, "trial", 1, 1) }, step.In{}, "the step needs a Deployment stage",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := step.Type{Name: "Trial", Deploys: true}.Start(c.start, c.in)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it gave %+v, %v; want %s", got, err, c.want)
			}
		})
	}
}
