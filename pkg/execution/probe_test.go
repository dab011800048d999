package execution

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// What a test has come to is told by its step and its task, however it ended.
func TestJudge(t *testing.T) {
	t.Parallel()
	outputs := json.RawMessage(`{"output":{"test":{"status":"PARTIAL","checks":[{"name":"login","ok":true,"message":"in","took":1}]}}}`)
	bad := func(name probe.CheckName) []probe.Check { return []probe.Check{{Name: name, Message: "why"}} }
	done := store.Task{Status: store.TaskDone, Delegate: "d1"}
	for name, tt := range map[string]struct {
		state plan.State
		made  bool
		task  store.Task
		want  Probe
	}{
		"it hasn't begun":             {plan.State{}, false, store.Task{}, Probe{Status: ProbeRunning}},
		"it is under way":             {plan.State{Status: plan.Running}, true, store.Task{Status: store.TaskClaimed, Delegate: "d1"}, Probe{Status: ProbeRunning}},
		"it was made":                 {plan.State{Status: plan.Success, Outputs: outputs}, true, done, Probe{Status: "PARTIAL", Checks: []probe.Check{{Name: "login", OK: true, Message: "in", Took: 1}}}},
		"no delegate fits":            {plan.State{Status: plan.Failed, Message: "why", Failures: []fault.FailureType{fault.DelegateProvisioning}}, false, store.Task{}, Probe{Status: ProbeNoDelegate, Message: "why"}},
		"none has taken it":           {plan.State{Status: plan.Expired, Message: "why", Failures: []fault.FailureType{fault.Timeout}}, true, store.Task{Status: store.TaskCancelled}, Probe{Status: ProbeNoDelegate, Message: "why"}},
		"it can't be resolved":        {plan.State{Status: plan.Failed, Message: "why", Failures: []fault.FailureType{fault.ConfigurationFailure}}, false, store.Task{}, Probe{Status: "FAILURE", Checks: bad("configuration")}},
		"its secrets can't be opened": {plan.State{Status: plan.Errored, Message: "why", Failures: []fault.FailureType{fault.ConfigurationFailure}}, true, done, Probe{Status: "FAILURE", Checks: bad("secrets")}},
		"the delegate was lost":       {plan.State{Status: plan.Failed, Message: "why", Failures: []fault.FailureType{fault.DelegateRestart}}, true, done, Probe{Status: "UNKNOWN", Message: "why"}},
		"the delegate stopped":        {plan.State{Status: plan.Errored, Message: "why", Failures: []fault.FailureType{fault.DelegateRestart}}, true, done, Probe{Status: "UNKNOWN", Message: "why"}},
		"it took too long":            {plan.State{Status: plan.Expired, Message: "why", Failures: []fault.FailureType{fault.Timeout}}, true, done, Probe{Status: "UNKNOWN", Message: "why"}},
		"it was aborted":              {plan.State{Status: plan.Aborted, Message: "why"}, false, store.Task{}, Probe{Status: "UNKNOWN", Message: "why"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := judge(tt.state, tt.made, tt.task)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
