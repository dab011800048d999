package jenkins_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/jenkins"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/task"
)

func run(ctx context.Context, t *testing.T, server *testservers.Jenkins, p task.Jenkins) (task.Result, *executortest.Env) {
	t.Helper()
	p.Server = task.Server{URL: server.URL, Auth: task.AuthBasic, Username: testservers.Username, Password: testservers.Password}
	p.Every = time.Millisecond
	env := executortest.New(t, nil)
	r, err := jenkins.New(nil)(ctx, executortest.Assignment(t, task.KindJenkins, p), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	return r, env
}

func values(pairs ...string) []task.NamedValue {
	var list []task.NamedValue
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, task.NamedValue{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

func TestBuilds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		task    task.Jenkins
		status  task.Status
		result  string
		console string
		env     map[string]any
	}{
		{"with parameters", task.Jenkins{Job: "team/deploy", Parameters: values("VERSION", "1.2")}, task.Succeeded, "SUCCESS",
			"Deploying 1.2\nFinished: SUCCESS\n", map[string]any{"BUILD_NUMBER": "1", "VERSION": "1.2"}},
		{"with the defaults of parameters", task.Jenkins{Job: "/team/deploy/"}, task.Succeeded, "SUCCESS",
			"Deploying latest\nFinished: SUCCESS\n", map[string]any{"BUILD_NUMBER": "1", "VERSION": "latest"}},
		{"without parameters, and without the plugin for the environment", task.Jenkins{Job: "plain"}, task.Succeeded, "SUCCESS",
			"Deploying latest\nFinished: SUCCESS\n", map[string]any{}},
		{"failed", task.Jenkins{Job: "team/deploy", Parameters: values("RESULT", "FAILURE")}, task.Failed, "FAILURE",
			"Deploying latest\nFinished: FAILURE\n", map[string]any{"BUILD_NUMBER": "1", "VERSION": "latest"}},
		{"unstable", task.Jenkins{Job: "team/deploy", Parameters: values("RESULT", "UNSTABLE")}, task.Failed, "UNSTABLE",
			"Deploying latest\nFinished: UNSTABLE\n", map[string]any{"BUILD_NUMBER": "1", "VERSION": "latest"}},
		{"unstable as success", task.Jenkins{Job: "team/deploy", Unstable: true, Parameters: values("RESULT", "UNSTABLE")}, task.Succeeded, "UNSTABLE",
			"Deploying latest\nFinished: UNSTABLE\n", map[string]any{"BUILD_NUMBER": "1", "VERSION": "latest"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, env := run(t.Context(), t, testservers.NewJenkins(t), tt.task)
			if r.Status != tt.status {
				t.Fatalf("%s: %s; want %s", r.Status, r.Message, tt.status)
			}
			var got struct{ Build map[string]any }
			if err := json.Unmarshal(r.Outputs, &got); err != nil {
				t.Fatal(err)
			}
			job := strings.Trim(tt.task.Job, "/")
			want := map[string]any{
				"executionStatus": tt.result, "buildNumber": 1.0, "buildDisplayName": "#1", "buildFullDisplayName": job + " #1",
				"jobUrl": "https://jenkins.example.com/job/" + strings.ReplaceAll(job, "/", "/job/") + "/1/", "envVars": tt.env,
			}
			if diff := cmp.Diff(want, got.Build); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.console, env.Text(jenkins.Console, executor.Info)); diff != "" {
				t.Errorf("console (-want +got):\n%s", diff)
			}
			if log := env.Text(jenkins.Unit, executor.Info); !strings.Contains(log, "Waiting: In the quiet period") {
				t.Errorf("the log doesn't tell of the queue: %q", log)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for says, p := range map[string]task.Jenkins{
		"status 404":                               {Job: "nothing"},
		"job plain takes no parameters; found 1":   {Job: "plain", Parameters: values("VERSION", "1")},
		"GET /job/team/job/x/api/json: status 404": {Job: "team/x"},
	} {
		r, env := run(t.Context(), t, testservers.NewJenkins(t), p)
		if r.Status != task.Failed || !strings.Contains(r.Message, says) || !strings.Contains(env.Text(jenkins.Unit, executor.Error), says) {
			t.Errorf("job %s: %s: %s; want Failed: …%s", p.Job, r.Status, r.Message, says)
		}
	}
}

// A build that nobody wants any more is stopped; one whose delegate ends isn't.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cause  error
		result string
	}{{executor.ErrCancelled, "ABORTED"}, {executor.ErrTimeout, "ABORTED"}, {executor.ErrDraining, ""}} {
		server := testservers.NewJenkins(t)
		server.Hang = true
		ctx, cancel := context.WithCancelCause(t.Context())
		server.Saw = func(r string) {
			if strings.HasSuffix(r, "progressiveText") { // the build is under way
				cancel(tt.cause)
			}
		}
		run(ctx, t, server, task.Jenkins{Job: "plain"})
		if got := server.Result(1); got != tt.result {
			t.Errorf("%v: the build's result is %q, want %q", tt.cause, got, tt.result)
		}
	}
}
