package bamboo_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/bamboo"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/task"
)

func run(ctx context.Context, t *testing.T, server *testservers.Bamboo, p task.Bamboo) (task.Result, *executortest.Env) {
	t.Helper()
	p.Server = task.Server{URL: server.URL, Auth: task.AuthBasic, Username: testservers.Username, Password: testservers.Password}
	p.Every = time.Millisecond
	env := executortest.New(t, nil)
	r, err := bamboo.New(nil)(ctx, executortest.Assignment(t, task.KindBamboo, p), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	return r, env
}

func TestBuilds(t *testing.T) {
	t.Parallel()
	for state, status := range map[string]task.Status{"": task.Succeeded, "Failed": task.Failed} {
		server := testservers.NewBamboo(t)
		r, env := run(t.Context(), t, server, task.Bamboo{Plan: "WEB-DEPLOY", Parameters: []task.NamedValue{{Name: "version", Value: "1 & 2"}, {Name: "state", Value: state}}})
		if state == "" {
			state = "Successful"
		}
		if r.Status != status {
			t.Errorf("%s: %s; want %s", r.Status, r.Message, status)
		}
		var got struct{ Build map[string]any }
		if err := json.Unmarshal(r.Outputs, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"executionStatus": state, "buildNumber": 1.0, "buildResultKey": "WEB-DEPLOY-1", "buildUrl": server.URL + "/browse/WEB-DEPLOY-1",
		}
		if diff := cmp.Diff(want, got.Build); diff != "" {
			t.Errorf("outputs (-want +got):\n%s", diff)
		}
		if v := server.Variables(1); v["bamboo.variable.version"] != "1 & 2" {
			t.Errorf("the plan's variables are %v", v)
		}
		if log := env.Text(bamboo.Unit, executor.Info); !strings.Contains(log, "WEB-DEPLOY-1 is Queued\nWEB-DEPLOY-1 is Finished\n") {
			t.Errorf("the log doesn't tell how the build did: %q", log)
		}
	}
}

func TestNoPlan(t *testing.T) {
	t.Parallel()
	r, _ := run(t.Context(), t, testservers.NewBamboo(t), task.Bamboo{Plan: "X-Y"})
	if r.Status != task.Failed || !strings.Contains(r.Message, "Plan X-Y not found.") {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
}

// A build that nobody wants any more is stopped.
func TestStop(t *testing.T) {
	t.Parallel()
	server := testservers.NewBamboo(t)
	server.Hang = true
	ctx, cancel := context.WithCancelCause(t.Context())
	server.Saw = func(r string) {
		if strings.HasPrefix(r, "GET ") { // the build is queued
			cancel(executor.ErrCancelled)
		}
	}
	run(ctx, t, server, task.Bamboo{Plan: "WEB-DEPLOY"})
	if server.Variables(1)["stopped"] != true {
		t.Error("the build goes on")
	}
}
