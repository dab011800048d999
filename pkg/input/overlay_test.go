package input_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func tree(t *testing.T, text string) *yamldoc.Node {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte(text))
	if err := report.Err(); err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	return docs[0]
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, doc, over, want string }{
		{"a value", "a: <+input>", "a: x", "a: x\n"},
		{"nothing said stays an input, with its default", "a: <+input>.default(x)\nb: <+input>", "b: null", "a: <+input>.default(x)\nb: <+input>\n"},
		{"an input again", "a: <+input>", "a: <+input>.default(x)", "a: <+input>.default(x)\n"},
		{"suffixes of both", `a: "<+input>.allowedValues(x,y)"`, "a: <+input>.default(x)", "a: <+input>.default(x).allowedValues(x,y)\n"},
		{"the same suffix", "a: <+input>.default(x)", "a: <+input>.default(x)", "a: <+input>.default(x)\n"},
		{"a choice of an input", "a: <+input>", "a: <+env.name == \"p\"?<+input>:x>", "a: <+env.name == \"p\"?<+input>:x>\n"},
		{"a whole list", "a: <+input>", "a: [x, <+input>]", "a:\n  - x\n  - <+input>\n"},
		{"an expression", `a: "<+input>.allowedValues(x,y)"`, "a: <+env.name>", "a: <+env.name>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := input.Overlay(tree(t, c.doc), tree(t, c.over))
			if len(got.Wrong) > 0 {
				t.Errorf("wrong: %v", got.Wrong)
			}
			if diff := cmp.Diff(c.want, string(yamldoc.Format(got.Doc, nil))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverlayRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ doc, over, code string }{
		{"a: x", "a: y", input.NoInput},
		{"a: x", "a: <+input>", input.NoInput},
		{"a: [x]", "a: <+input>", input.NoInput},
		{"a: x", "b: y", input.NoInput},
		{`a: "<+input>.allowedValues(x,y)"`, "a: z", "VALUE_NOT_ALLOWED"},
		{"a: <+input>.default(x)", "a: <+input>.default(y)", "BAD_TEMPLATE_INPUT"},
		{`a: "<+input>.allowedValues(x,y)"`, "a: <+input>.default(z)", "BAD_TEMPLATE_INPUT"},
	} {
		got := input.Overlay(tree(t, c.doc), tree(t, c.over))
		if len(got.Wrong) != 1 || got.Wrong[0].Code != c.code {
			t.Errorf("%s over %s: %v; want %s", c.over, c.doc, got.Wrong, c.code)
		}
	}
}

// Harness writes the inputs of a node that is made of a template as those of
// its link; what is filled has them in their own place.
func TestInputsOfALink(t *testing.T) {
	t.Parallel()
	doc := `
stages:
  - stage:
      identifier: s
      template: {templateRef: st, versionLabel: v1}
      type: Custom
      spec:
        execution:
          steps:
            - step: {identifier: nap, template: {templateRef: nap, versionLabel: v1}, type: Wait, spec: {duration: <+input>}}
`
	set := `
stages:
  - stage:
      identifier: s
      template:
        templateInputs:
          type: Custom
          spec: {execution: {steps: [{step: {identifier: nap, template: {templateInputs: {type: Wait, spec: {duration: 5m}}}}}]}}
`
	got := input.Merge(tree(t, doc), nil, input.Source{Doc: tree(t, set)})
	if err := got.Err(); err != nil {
		t.Fatal(err)
	}
	stage := got.Doc.Get("stages").Items[0].Get("stage")
	nap := stage.At("spec", "execution", "steps").Items[0].At("step", "spec", "duration")
	if nap.Value != "5m" || stage.At("template", "templateRef").Value != "st" {
		t.Errorf("merged:\n%s", yamldoc.Format(got.Doc, nil))
	}
	wrong := input.Merge(tree(t, doc), nil, input.Source{Doc: tree(t, "stages: [{stage: {identifier: s, template: {templateInputs: {timeout: 1m}}}}]")})
	if len(wrong.Wrong) != 1 || wrong.Wrong[0].Path != "stages.s.timeout" {
		t.Errorf("what the template has no place for: %v; want it to be refused at stages.s.timeout", wrong.Wrong)
	}
}

// A setting that a link overrides with an input, for which nobody gives a
// value, is that of the system, not the template's (semantics/pipeline §9.3).
func TestSettingsWithoutAValueAreLeftOut(t *testing.T) {
	t.Parallel()
	got := input.Merge(tree(t, "step: {when: <+input>, timeout: <+input>, failureStrategies: <+input>, spec: {duration: <+input>}}"), nil)
	if len(got.Missing) != 1 || got.Missing[0].Path != "step.spec.duration" {
		t.Errorf("missing are %v; want step.spec.duration alone", got.Missing)
	}
	if when := got.Doc.At("step", "when"); when.Kind != yamldoc.Null {
		t.Errorf("when is %v; want nothing", when)
	}
}
