package execution

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

func TestSetSecretPutsAReference(t *testing.T) {
	t.Parallel()
	in := map[string]any{"output": map[string]any{"outputVariables": map[string]any{"a": "1"}}}
	got, err := setSecret(in, "output.outputVariables.token", "output:acme:t/1")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"output": map[string]any{"outputVariables": map[string]any{
		"a": "1", "token": map[string]any{"$secret": "output:acme:t/1"},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := setSecret(map[string]any{"output": "text"}, "output.x", "n"); err == nil {
		t.Error("a path through a text was accepted")
	}
}

// A delegate can't smuggle a reference to a secret into its outputs.
func TestReferencesInOutputsAreRefused(t *testing.T) {
	t.Parallel()
	s := NewTasks(TasksConfig{})
	for _, outputs := range []string{
		`{"output":{"outputVariables":{"x":{"$secret":"secret:acme:root"}}}}`,
		`{"output":[{"\u0024secret":"secret:acme:root"}]}`,
	} {
		r, err := s.sealOutputs(t.Context(), store.Delegate{ID: "d1"}, "t1", protocol.Report{Result: task.Result{Status: task.Succeeded, Outputs: []byte(outputs)}})
		if err != nil || r.Status != task.Errored || r.Outputs != nil {
			t.Errorf("%s gave %+v, %v; want an errored result without outputs", outputs, r, err)
		}
	}
}
