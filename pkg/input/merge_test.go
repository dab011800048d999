package input_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

const doc = `
identifier: p
variables:
  - {name: image, type: String, value: <+input>}
  - {name: tier, type: String, value: "<+input>.default(gold).allowedValues(gold,silver)"}
stages:
  - parallel:
      - stage:
          identifier: s
          type: Deployment
          delegateSelectors: <+input>.default(any)
          spec:
            environment: {environmentRef: <+input>, environmentInputs: <+input>}
            execution:
              steps:
                - step: {identifier: a, type: Http, timeout: "<+input>.default(10m)", spec: {replicas: 3}}
`

func parse(tb testing.TB, file, text string) *yamldoc.Node {
	tb.Helper()
	docs, report := yamldoc.Parse(file, []byte(text))
	if err := report.Err(); err != nil {
		tb.Fatal(err)
	}
	return docs[0].From(file)
}

// shown is what was filled in, as JSON-like YAML of one line per input.
func shown(m input.Merged) string { return string(input.Text("pipeline", m.Inputs)) }

func TestFindNamesInputsByWhatIdentifiesThem(t *testing.T) {
	t.Parallel()
	var got []string
	for _, in := range input.Find(parse(t, "", doc)) {
		got = append(got, in.Path+" "+in.Describe())
	}
	want := []string{
		"variables.image required",
		`variables.tier default "gold"; one of gold, silver`,
		`stages.s.delegateSelectors default "any"`,
		"stages.s.spec.environment.environmentRef required",
		"stages.s.spec.environment.environmentInputs optional",
		`stages.s.spec.execution.steps.a.timeout default "10m"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

// semantics/pipeline §2.4: later sources win per input, an empty text is a
// value, what is typed by path wins over all, and defaults fill what nobody
// says.
func TestMergeOrder(t *testing.T) {
	t.Parallel()
	first := parse(t, "first", `
variables: [{name: image, value: nginx:1}, {name: tier, value: silver}]
stages:
  - stage: {identifier: s, delegateSelectors: [one, two], spec: {environment: {environmentRef: dev, environmentInputs: {identifier: dev, variables: [{name: x, value: "1"}]}}}}
`)
	second := parse(t, "second", `
variables: [{name: image, value: ""}, {name: tier, value: <+input>}]
stages:
  - parallel: [{stage: {identifier: s, delegateSelectors: [three], spec: {environment: {environmentInputs: {identifier: dev}}}}}]
`)
	m := input.Merge(parse(t, "", doc), map[string]string{"stages.s.spec.environment.environmentRef": "prod"},
		input.Source{Doc: first}, input.Source{Doc: second})
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	want := `pipeline:
  identifier: p
  variables:
    - name: image
      type: String
      value: ""
    - name: tier
      type: String
      value: silver
  stages:
    - parallel:
        - stage:
            identifier: s
            type: Deployment
            delegateSelectors:
              - three
            spec:
              environment:
                environmentRef: prod
                environmentInputs:
                  identifier: dev
              execution:
                steps:
                  - step:
                      identifier: a
                      type: Http
                      timeout: 10m
`
	if diff := cmp.Diff(want, shown(m)); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	stage := m.Doc.Get("stages").Items[0].Get("parallel").Items[0].Get("stage")
	step := stage.At("spec", "execution", "steps").Items[0].Get("step")
	got := []string{stage.At("spec", "environment", "environmentRef").Value, step.Get("timeout").Value, step.At("spec", "replicas").Value}
	if diff := cmp.Diff([]string{"prod", "10m", "3"}, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// Everything that is wrong is said at once, with the input's path and the
// place in the source: missing, not allowed, fixed, unknown.
func TestMergeReportsAll(t *testing.T) {
	t.Parallel()
	set := parse(t, "set", `identifier: q
variables:
  - name: tier
    value: bronze
  - name: imgae
    value: x
stages:
  - stage:
      identifier: s
      type: Approval
      spec:
        execution:
          steps:
            - step: {identifier: a, spec: {replicas: 4}}
            - step: {identifier: b, timeout: 1m}
            - stepGroup: {identifier: a}
        service: {serviceRef: web}
`)
	m := input.Merge(parse(t, "", doc), map[string]string{"variables.nothing": "x"}, input.Source{Doc: set})
	e, ok := m.Err().(*fault.Error) //nolint:errorlint // the concrete type is what is tested
	if !ok || e.Code != fault.Invalid {
		t.Fatalf("error %v", m.Err())
	}
	var got []string
	for _, d := range e.Details {
		got = append(got, fmt.Sprintf("%s:%d %s: %s [%s]", d.File, d.Line, d.Path, d.Message, d.Code))
	}
	want := []string{
		":4 variables.image: a value is needed: it is a runtime input without a default [MISSING_INPUT]",
		":13 stages.s.spec.environment.environmentRef: a value is needed: it is a runtime input without a default [MISSING_INPUT]",
		`set:1 identifier: isn't a runtime input: "p" is fixed [NOT_AN_INPUT]`,
		`set:4 variables.tier: "bronze" isn't one of gold, silver [VALUE_NOT_ALLOWED]`,
		"set:5 variables.imgae: isn't in the document [NOT_AN_INPUT]",
		`set:10 stages.s.type: isn't a runtime input: "Deployment" is fixed [NOT_AN_INPUT]`,
		"set:17 stages.s.spec.service: isn't in the document [NOT_AN_INPUT]",
		`set:14 stages.s.spec.execution.steps.a.spec.replicas: isn't a runtime input: "3" is fixed [NOT_AN_INPUT]`,
		"set:15 stages.s.spec.execution.steps.b: isn't in the document [NOT_AN_INPUT]",
		"set:16 stages.s.spec.execution.steps.a: isn't in the document [NOT_AN_INPUT]",
	}
	last := got[len(got)-1]
	if diff := cmp.Diff(want, got[:len(got)-1]); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(last, ":0 variables.nothing: isn't a runtime input; there are: variables.image, ") {
		t.Errorf("the last finding is %s", last)
	}
}

// A lenient source's strangers are warnings; a wrong value never is.
func TestMergeLenient(t *testing.T) {
	t.Parallel()
	set := parse(t, "set", "variables: [{name: gone, value: x}, {name: tier, value: bronze}]")
	m := input.Merge(parse(t, "", "variables: [{name: tier, type: String, value: '<+input>.allowedValues(gold)'}]"), nil,
		input.Source{Doc: set, Lenient: true})
	if len(m.Warnings) != 1 || m.Warnings[0].Path != "variables.gone" || m.Warnings[0].Severity != "warning" {
		t.Errorf("warnings %+v", m.Warnings)
	}
	if len(m.Wrong) != 1 || m.Wrong[0].Path != "variables.tier" {
		t.Errorf("wrong %+v", m.Wrong)
	}
}

func TestMergeValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, doc, set string
		want           string // of .v, formatted; or a part of the error after "!"
	}{
		{"pipeline §1.5 a variable's default", "vars: [{name: v, type: String, value: <+input>, default: d}]", "{}", "d"},
		{"the input's own default wins over it", "vars: [{name: v, type: String, value: <+input>.default(a), default: d}]", "{}", "a"},
		{"pipeline §1.5 required and blank", "vars: [{name: v, type: String, required: true, value: <+input>}]", "vars: [{name: v, value: ''}]", "!required"},
		{"not required and absent is empty", "vars: [{name: v, type: String, required: false, value: <+input>}]", "{}", `""`},
		{"a Number has no empty value", "vars: [{name: v, type: Number, required: false, value: <+input>}]", "{}", "!a value is needed"},
		{"several allowed values of a String variable", "vars: [{name: v, type: String, value: '<+input>.allowedValues(a,b,c)'}]", "vars: [{name: v, value: 'a,c'}]", "a,c"},
		{"one allowed value of a Number variable", "vars: [{name: v, type: Number, value: '<+input>.allowedValues(1,2)'}]", "vars: [{name: v, value: '1,2'}]", "!isn't one of"},
		{"null is no value", "v: <+input>.default(d)", "v: null", "d"},
		{"an input is no value", "v: <+input>.default(d)", "v: <+input>", "d"},
		{"an input of the template's own form is no value", "v: '<+input>.allowedValues(a)'", "v: '<+input>.allowedValues(a)'", "!a value is needed"},
		{"an expression is", "v: '<+input>.allowedValues(a)'", "v: <+pipeline.name>", "<+pipeline.name>"},
		{"a list", "v: <+input>", "v: [a, {b: 1}]", "- a\n- b: 1"},
		{"items are checked one by one", "v: '<+input>.allowedValues(a,b)'", "v: [a, x]", `!item 1: "x" isn't one of a, b`},
		{"a mapping where texts are allowed", "v: '<+input>.allowedValues(a,b)'", "v: {a: b}", "!found a mapping"},
		{"a number stays one", "v: <+input>", "v: 1.10", "1.10"},
		{"an input within a given mapping", "v: <+input>", "v: {a: <+input>}", "!v.a: found <+input>"},
		{"a list's items by their place", "v: [a, <+input>]", "v: [a, b]", "- a\n- b"},
		{"an item whose identifier is an input", "v: [{identifier: <+input>}, {identifier: b, w: <+input>}]", "v: [{identifier: b, w: 1}, {identifier: a}]", "- identifier: a\n- identifier: b\n  w: 1"},
		{"too many items beside one", "v: [{identifier: <+input>}]", "v: [{identifier: a}, {identifier: c}]", "!v.c: isn't in the document"},
		{"too many items", "v: [a, <+input>]", "v: [a, b, c]", "!v.2: isn't in the document"},
		{"a mapping for a list", "v: [<+input>.default(x)]", "v: {a: b}", "!the document has a list here"},
		{"a text for a mapping", "v: {a: <+input>.default(x)}", "v: b", "!the document has a mapping here"},
		{"asked for later stays", "v: <+input>.executionInput().default(x)", "{}", "<+input>.executionInput().default(x)"},
		{"asked for later can't be given before", "v: <+input>.executionInput()", "v: x", "!asked for when it starts"},
		{"a ternary is an input", "v: <+a?<+input>:x>", "v: y", "y"},
		{"a regular expression matches all", "v: <+input>.regex(v\\d+)", "v: xv1", "!doesn't match"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := input.Merge(parse(t, "", c.doc), nil, input.Source{Doc: parse(t, "set", c.set)})
			if part, bad := strings.CutPrefix(c.want, "!"); bad {
				if err := m.Err(); err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v; want %q", err, part)
				}
				return
			}
			if err := m.Err(); err != nil {
				t.Fatal(err)
			}
			v := m.Doc.Get("v")
			if list := m.Doc.Get("vars"); list != nil {
				v = list.Items[0].Get("value")
			}
			if diff := cmp.Diff(c.want+"\n", string(yamldoc.Format(v, nil))); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeLeavesTheOriginal(t *testing.T) {
	t.Parallel()
	n := parse(t, "", doc)
	before := string(yamldoc.Format(n, nil))
	input.Merge(n, map[string]string{"variables.image": "x"})
	if after := string(yamldoc.Format(n, nil)); after != before {
		t.Errorf("the original was changed:\n%s", after)
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	want := `pipeline:
  identifier: p
  variables:
    - name: image
      type: String
      value: <+input> # required
    - name: tier
      type: String
      value: gold # default "gold"; one of gold, silver
  stages:
    - parallel:
        - stage:
            identifier: s
            type: Deployment
            delegateSelectors: any # default "any"
            spec:
              environment:
                environmentRef: <+input> # required
                environmentInputs: <+input> # optional
              execution:
                steps:
                  - step:
                      identifier: a
                      type: Http
                      timeout: 10m # default "10m"
`
	form := string(input.Form("pipeline", parse(t, "", doc)))
	if diff := cmp.Diff(want, form); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
	// What is required is missing, and nothing else is wrong with the form as it is.
	m := input.Merge(parse(t, "", doc), nil, input.Source{Doc: parse(t, "form", form).Get("pipeline")})
	if len(m.Wrong) > 0 || len(m.Missing) != 2 {
		t.Errorf("wrong %v, missing %v", m.Wrong, m.Missing)
	}
	// What templates brought may stand at the same place of another file.
	two := parse(t, "one", "{a: <+input>.default(x)}")
	two.Entries = append(two.Entries, parse(t, "two", "{a: <+input>.default(y)}").Entries...)
	two.Entries[1].Key = "b"
	if diff := cmp.Diff("p:\n  a: x # default \"x\"\n  b: y # default \"y\"\n", string(input.Form("p", two))); diff != "" {
		t.Errorf("form of two files (-want +got):\n%s", diff)
	}
	if got := input.Form("pipeline", parse(t, "", "{identifier: p, v: x}")); got != nil {
		t.Errorf("form of a document without inputs: %s", got)
	}
}

func TestEachValueSaysWhereItComesFrom(t *testing.T) {
	t.Parallel()
	set := input.Source{Doc: parse(t, "inputSet staging", "variables: [{name: tier, value: silver}, {name: image, value: ''}]"), Lenient: true, Set: true}
	own := input.Source{Doc: parse(t, "inputs", "stages: [{stage: {identifier: s, spec: {environment: {environmentInputs: {type: x}}}}}]")}
	got := input.Merge(parse(t, "", doc), map[string]string{"variables.image": "nginx"}, set, own).Values
	want := []input.Value{
		{Path: "variables.image", Text: "nginx", From: "given"},
		{Path: "variables.tier", Text: "silver", From: "set", Set: "staging"},
		{Path: "stages.s.delegateSelectors", Text: "any", From: "default"},
		{Path: "stages.s.spec.environment.environmentInputs", Text: "type: x\n", From: "inputs", Structured: true},
		{Path: "stages.s.spec.execution.steps.a.timeout", Text: "10m", From: "default"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
