package probe_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	probestep "github.com/slipway-cd/slipway/pkg/step/probe"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func spec(t *testing.T, text string) step.Spec {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte(text))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return probestep.Type().New(nil, yamldoc.Sub(docs[0], ""))
}

func TestStart(t *testing.T) {
	t.Parallel()
	work := probe.Spec{Connector: "Jira jira", Requests: &probe.Requests{Path: "/x"}}
	in := step.In{Selectors: []string{"zone"}, Probe: func(name, document string) (step.Probe, error) {
		if name != "account.jira" || document != "" {
			return step.Probe{}, errors.New("another was asked for")
		}
		return step.Probe{Task: work, Selectors: []string{"near"}}, nil
	}}
	got, err := spec(t, "connector: account.jira").Start(in)
	want := step.Action{Task: &step.Task{Kind: task.KindProbe, Payload: work, Selectors: []string{"zone", "near"}, Timeout: 45 * time.Second, Prompt: true}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, action (-want +got):\n%s", err, diff)
	}
	if _, err := spec(t, "document: 'connector: {}'").Start(in); err == nil {
		t.Error("a connector that can't be resolved is no error")
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	outputs := func(status probe.Status, checks ...probe.Check) json.RawMessage {
		doc, err := json.Marshal(map[string]any{"output": map[string]any{"test": probe.Result{Status: status, Checks: checks}}})
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	reach, denied := probe.Check{Name: probe.CheckReach, OK: true, Message: "it takes connections"}, probe.Check{Name: probe.CheckLogin, Message: "wrong password"}
	for name, tt := range map[string]struct {
		result  task.Result
		status  plan.Status
		message string
	}{
		"all is well":         {task.Result{Status: task.Succeeded, Outputs: outputs(probe.Success, reach)}, plan.Success, ""},
		"it isn't let in":     {task.Result{Status: task.Succeeded, Outputs: outputs(probe.Failure, reach, denied)}, plan.Failed, "login: wrong password"},
		"it may do little":    {task.Result{Status: task.Succeeded, Outputs: outputs(probe.Partial, reach, denied)}, plan.Success, "login: wrong password"},
		"it couldn't be told": {task.Result{Status: task.Errored, Message: "the delegate stopped"}, plan.Errored, "the delegate stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := probestep.Type().Finish(spec(t, "{}"), step.In{}, tt.result)
			if err != nil || o.Status != tt.status || o.Message != tt.message {
				t.Errorf("%s: %s, %v; want %s: %s", o.Status, o.Message, err, tt.status, tt.message)
			}
		})
	}
	if _, err := probestep.Type().Finish(spec(t, "{}"), step.In{}, task.Result{Status: task.Succeeded, Outputs: json.RawMessage(`{"output":{"test":1}}`)}); err == nil {
		t.Error("outputs that aren't a test's are no error")
	}
}
