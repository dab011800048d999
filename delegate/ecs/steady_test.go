package ecs

import (
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// described is a service as DescribeServices answers, with 3 tasks desired.
func described(status string, running, pending int32, deployments ...types.Deployment) *types.Service {
	return &types.Service{
		Status: &status, ServiceName: sdk.String("web"), DesiredCount: 3, RunningCount: running, PendingCount: pending, Deployments: deployments,
	}
}

func deployment(id, status string, state types.DeploymentRolloutState, definition, why string) types.Deployment {
	return types.Deployment{Id: &id, Status: &status, RolloutState: state, TaskDefinition: &definition, RolloutStateReason: &why}
}

// said is a service that tells that the deployment "new" has failed.
func said(why string, s *types.Service) *types.Service {
	for _, text := range []string{"(service web) rolling back to deployment old.", "(service web) (deployment new) deployment failed: " + why + "."} {
		s.Events = append(s.Events, types.ServiceEvent{Message: &text})
	}
	return s
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const (
		completed = types.DeploymentRolloutStateCompleted
		failed    = types.DeploymentRolloutStateFailed
		going     = types.DeploymentRolloutStateInProgress
		none      = types.DeploymentRolloutState("") // behind a Classic Load Balancer
	)
	update := rollout{service: "web", deployment: "new", before: "web:1", previous: "old"}
	first := rollout{service: "web", deployment: "new", made: true}
	d := deployment
	const waiting = "Waiting for pending tasks to finish. 2/3 running, 1 pending"
	for name, tt := range map[string]struct {
		r     rollout
		s     *types.Service
		after time.Duration
		was   progress
		want  progress
	}{
		"just made, and not known yet":     {r: first, after: 59 * time.Second, want: progress{text: "Waiting for ECS to know the service web"}},
		"made a minute ago, and not known": {r: first, after: time.Minute, want: progress{failed: "service web was deleted meanwhile"}},
		"updated, and gone":                {r: update, want: progress{failed: "service web was deleted meanwhile"}},
		"inactive":                         {r: update, s: described("INACTIVE", 0, 0), want: progress{failed: "service web was deleted meanwhile: it is INACTIVE"}},
		"draining":                         {r: update, s: described("DRAINING", 2, 0), want: progress{failed: "service web was deleted meanwhile: it is DRAINING"}},
		"under way":                        {r: update, s: described("ACTIVE", 2, 1, d("new", "PRIMARY", going, "web:2", ""), d("old", "ACTIVE", completed, "web:1", "")), want: progress{text: waiting, seen: true}},
		"completed":                        {r: update, s: described("ACTIVE", 3, 0, d("new", "PRIMARY", completed, "web:2", "")), want: progress{done: true, seen: true, text: "Waiting for pending tasks to finish. 3/3 running, 0 pending"}},
		"completed, but a task has died":   {r: update, s: described("ACTIVE", 2, 1, d("new", "PRIMARY", completed, "web:2", "")), want: progress{text: waiting, seen: true}},
		"failed":                           {r: update, s: described("ACTIVE", 3, 0, d("new", "PRIMARY", failed, "web:2", "tasks failed to start")), want: progress{failed: "the deployment failed: tasks failed to start"}},
		"rolled back by ECS, told as failed": {
			r: update, s: described("ACTIVE", 3, 0, d("new", "INACTIVE", failed, "web:2", "tasks failed to start"), d("third", "PRIMARY", completed, "web:1", "rolling back")),
			want: progress{failed: "ECS rolled back: tasks failed to start"},
		},
		// All that ECS's own waiter looks at is as it should be.
		"rolled back by ECS, and forgotten": {
			r: update, s: described("ACTIVE", 3, 0, d("third", "PRIMARY", completed, "web:1", "")),
			want: progress{failed: "ECS rolled back: it doesn't say why"},
		},
		"superseded": {
			r: update, s: described("ACTIVE", 3, 0, d("third", "PRIMARY", completed, "web:3", ""), d("new", "ACTIVE", going, "web:2", "")),
			want: progress{failed: "superseded by deployment third (task definition web:3)"},
		},
		"superseded and forgotten": {
			r: first, s: described("ACTIVE", 3, 0, d("third", "PRIMARY", completed, "web:3", "")),
			want: progress{failed: "superseded by deployment third (task definition web:3)"},
		},
		"an answer from before the update":     {r: update, s: described("ACTIVE", 3, 0, d("old", "PRIMARY", completed, "web:1", "")), after: 59 * time.Second, want: progress{text: "Waiting for ECS to know the deployment new"}},
		"an answer from after it":              {r: update, s: described("ACTIVE", 3, 0, d("old", "PRIMARY", completed, "web:1", "")), was: progress{seen: true}, want: progress{failed: "ECS rolled back: it doesn't say why"}},
		"failed between two looks":             {r: update, s: said("tasks failed to start", described("ACTIVE", 3, 0, d("old", "PRIMARY", completed, "web:1", ""))), want: progress{failed: "ECS rolled back: deployment failed: tasks failed to start"}},
		"an update that ECS doesn't know of":   {r: update, s: described("ACTIVE", 3, 0, d("old", "PRIMARY", completed, "web:1", "")), after: time.Minute, want: progress{failed: "ECS rolled back: it doesn't say why"}},
		"no deployment":                        {r: first, s: described("ACTIVE", 0, 0), want: progress{failed: "service web has no deployment any more"}},
		"Classic Load Balancer, calm once":     {r: update, s: described("ACTIVE", 3, 0, d("new", "PRIMARY", none, "web:2", "")), want: progress{calm: true, seen: true, text: "Waiting for pending tasks to finish. 3/3 running, 0 pending"}},
		"Classic Load Balancer, calm twice":    {r: update, s: described("ACTIVE", 3, 0, d("new", "PRIMARY", none, "web:2", "")), was: progress{calm: true}, want: progress{calm: true, done: true, seen: true, text: "Waiting for pending tasks to finish. 3/3 running, 0 pending"}},
		"Classic Load Balancer, old tasks too": {r: update, s: described("ACTIVE", 3, 0, d("new", "PRIMARY", none, "web:2", ""), d("old", "ACTIVE", none, "web:1", "")), was: progress{calm: true}, want: progress{seen: true, text: "Waiting for pending tasks to finish. 3/3 running, 0 pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.r.judge(tt.s, tt.after, tt.was); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
