package statemachines_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/statemachines"
)

// definitions are the definitions with ARNs in the place of what CloudFormation
// puts there.
func definitions() map[string]string {
	arns := strings.NewReplacer(
		"${EngineFunctionArn}", "arn:aws:lambda:eu-west-1:123456789012:function:engine",
		"${NodeMachineArn}", "arn:aws:states:eu-west-1:123456789012:stateMachine:node",
	)
	return map[string]string{"node": arns.Replace(string(statemachines.Node))}
}

// Step Functions would take every definition, as far as asl-validator can tell.
func TestDefinitionsAreValidForAWS(t *testing.T) {
	t.Parallel()
	validator, err := filepath.Abs("../tools/asl-validator/node_modules/.bin/asl-validator")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(validator); err != nil {
		t.Fatalf("asl-validator isn't installed; \"make setup\" installs it: %v", err)
	}
	for name, text := range definitions() {
		file := filepath.Join(t.TempDir(), name+".json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), validator, "--json-path", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// state is what the lint reads of a state.
type state struct {
	Type               string
	Resource           string
	TimeoutSeconds     int
	TimeoutSecondsPath string
	Retry              []struct{ ErrorEquals []string }
	Catch              []struct{ ErrorEquals []string }
	ItemProcessor      *machine
}

type machine struct{ States map[string]state }

// Every Task has a time-out, tries again what is only passing, and catches
// the rest: no run hangs, and none ends without the plan knowing.
func TestEveryTaskIsGuarded(t *testing.T) {
	t.Parallel()
	for name, text := range definitions() {
		var m machine
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		guarded(t, name, m)
	}
}

func guarded(t *testing.T, where string, m machine) {
	t.Helper()
	for name, s := range m.States {
		at := where + "." + name
		if s.ItemProcessor != nil {
			guarded(t, at, *s.ItemProcessor)
		}
		if s.Type != "Task" {
			continue
		}
		if s.TimeoutSeconds == 0 && s.TimeoutSecondsPath == "" {
			t.Errorf("%s has no time-out", at)
		}
		passing := "Lambda.TooManyRequestsException"
		if strings.Contains(s.Resource, "startExecution") {
			passing = "StepFunctions.ThrottlingException"
		}
		retried := slices.ContainsFunc(s.Retry, func(r struct{ ErrorEquals []string }) bool {
			return slices.Contains(r.ErrorEquals, passing) || slices.Contains(r.ErrorEquals, "States.ALL")
		})
		if !retried {
			t.Errorf("%s doesn't try again after %s", at, passing)
		}
		if !slices.ContainsFunc(s.Catch, func(c struct{ ErrorEquals []string }) bool { return slices.Contains(c.ErrorEquals, "States.ALL") }) {
			t.Errorf("%s doesn't catch what is left", at)
		}
	}
}
