package expr_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// The error-prone behaviours of semantics/pipeline §14 that are the
// language's, by their numbers there.

func TestFAQ01MethodInsideAndOutsideInnerBrackets(t *testing.T) {
	t.Parallel()
	interpolate(t, []row{
		{text: `<+<+pipeline.variables.v>.toLowerCase()>`, want: `"abc"`},
		{text: `<+pipeline.variables.v.toLowerCase()>`, want: `"abc"`},
	})
}

func TestFAQ02UnwrappedGreaterThan(t *testing.T) {
	t.Parallel()
	if ok, err := expr.Condition(`<+pipeline.variables.n> > 0`, newScope(t)); !ok || err != nil {
		t.Errorf("got %v, %v, want true", ok, err)
	}
}

func TestFAQ03TernaryLeavesTheOtherSideAlone(t *testing.T) {
	t.Parallel()
	interpolate(t, []row{
		{text: `echo <+<+pipeline.triggerType> == "MANUAL" ? <+pipeline.executionId>:<+trigger.commitSha>>`, want: `"echo exec-1"`},
		{text: `<+<+pipeline.triggerType> == "MANUAL" ? <+pipeline.executionId>:<+nope.commitSha>>`, want: `"exec-1"`},
	})
}

func TestFAQ04UnknownVariableInAScriptComment(t *testing.T) {
	t.Parallel()
	_, err := expr.Interpolate("#!/bin/sh\n# uses <+pipeline.variables.undefined>\necho hi", newScope(t))
	if !fault.Is(err, fault.UnresolvedExpression) || !strings.Contains(err.Error(), "pipeline.variables.undefined") {
		t.Errorf("got %v, want an UNRESOLVED_EXPRESSION that names it", err)
	}
}

func TestFAQ05OutputOfASkippedStepIsNull(t *testing.T) {
	t.Parallel()
	interpolate(t, []row{{text: `echo <+execution.steps.skippedStep.output.outputVariables.x>`, want: `"echo null"`}})
}

func TestFAQ06And07ValueThatDoesNotExistYet(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{`<+env.name> == "prod"`: false, `<+env.name> != "prod"`: true} {
		if got, err := expr.Condition(body, newScope(t)); got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", body, got, err, want)
		}
	}
}

func TestFAQ08NumberInAText(t *testing.T) {
	t.Parallel()
	interpolate(t, []row{
		{text: `/tmp/<+pipeline.sequenceId>`, want: `"/tmp/7"`},
		{text: `"/tmp/<+pipeline.sequenceId>"`, want: `"\"/tmp/7\""`},
		{text: `<+"/tmp/" + <+pipeline.sequenceId>>`, want: `"/tmp/7"`},
	})
}

func TestFAQ09SplitTakesARegularExpression(t *testing.T) {
	t.Parallel()
	interpolate(t, []row{
		{text: `<+pipeline.variables.version.split('\\.')[1]>`, want: `"6"`},
		{text: `<+pipeline.variables.version.split('.')[1]>`, err: "index 1 is out of range: the list has 0 elements"},
	})
}

func TestFAQ10SubstringIsJavas(t *testing.T) {
	t.Parallel()
	interpolate(t, []row{{text: `<+"prod-x".substring(0,3)>`, want: `"pro"`}})
}

func TestFAQ11SecretByAComputedName(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	v, err := expr.Interpolate(`<+secrets.getValue("a_" + <+pipeline.variables.env>)>`, s)
	if err != nil {
		t.Fatal(err)
	}
	if v.Kind() != expr.KindSecret || !slices.Equal(*s.calls, []string{"secrets.getValue", "a_dev"}) {
		t.Errorf("got %s after the calls %v", v.Kind(), *s.calls)
	}
}

func TestFAQ12SecretInALaterTextIsAPlaceholder(t *testing.T) {
	t.Parallel()
	interpolate(t, []row{{text: `echo <+secrets.getValue("db")>`, want: `"echo {{db}}"`}})
}

func TestFAQ13ListOutsideTheBrackets(t *testing.T) {
	t.Parallel()
	evaluate(t, []row{{text: `<+pipeline.variables.list>.split(',')`, want: `["a","b","c"]`}})
}

func TestFAQ15OnlyTheIndexedStageOfALoopExists(t *testing.T) {
	t.Parallel()
	root, err := expr.FromJSON([]byte(`{"pipeline": {"stages": {"looped_0": {"variables": {"x": "value"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := newScope(t)
	s.root = root
	if _, err := expr.Interpolate(`<+pipeline.stages.looped.variables.x>`, s); !fault.Is(err, fault.UnresolvedExpression) {
		t.Errorf("without an index: got %v, want UNRESOLVED_EXPRESSION", err)
	}
	if v, err := expr.Interpolate(`<+pipeline.stages.looped_0.variables.x>`, s); err != nil || v.Text() != "value" {
		t.Errorf("with an index: got %q, %v", v.Text(), err)
	}
}
