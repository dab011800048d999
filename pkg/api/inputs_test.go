package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
)

const withInputs = `pipeline:
  identifier: deploy
  name: deploy
  variables:
    - {name: image, type: String, value: <+input>}
    - {name: tier, type: String, value: "<+input>.default(gold).allowedValues(gold,silver)"}
  stages:
    - stage:
        identifier: say
        name: say
        type: Custom
        spec:
          execution:
            steps:
              - step: {identifier: rest, name: rest, type: Wait, spec: {duration: <+input>.default(1s)}}
`

// set is an input set with one variable and a step's duration.
func set(id, name, value, duration string) string {
	return fmt.Sprintf(`inputSet:
  identifier: %s
  name: %s
  pipeline:
    identifier: deploy
    variables:
      - {name: %s, type: String, value: %q}
    stages:
      - stage:
          identifier: say
          spec:
            execution:
              steps:
                - step: {identifier: rest, spec: {duration: %s}}
`, id, id, name, value, duration)
}

const overlay = `overlayInputSet:
  identifier: both
  name: both
  pipelineIdentifier: deploy
  inputSetReferences: [first, second]
`

func (c *control) saveAll(docs ...string) {
	c.t.Helper()
	for _, doc := range docs {
		if _, err := c.Save(c.t.Context(), apiclient.Document{Scope: project(), YAML: []byte(doc)}); err != nil {
			c.t.Fatalf("%v\n%s", err, doc)
		}
	}
}

// details are the places that an error names.
func details(err error) []string {
	var f *fault.Error
	var out []string
	if errors.As(err, &f) {
		for _, d := range f.Details {
			out = append(out, fmt.Sprintf("%s:%d %s %s", d.File, d.Line, d.Path, d.Code))
		}
	}
	return out
}

// semantics/pipeline §2.4: what an input set says has to have a place in its
// pipeline.
func TestAnInputSetFitsItsPipeline(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.saveAll(withInputs, set("first", "image", "nginx:1", "1s"))
	for _, tt := range []struct{ name, doc, want string }{
		{"an unknown variable", set("x", "imgae", "nginx:1", "1s"), "f.yaml:7 variables.imgae NOT_AN_INPUT"},
		{"a value that isn't allowed", set("x", "tier", "bronze", "1s"), "f.yaml:7 variables.tier VALUE_NOT_ALLOWED"},
		{"a value that can't be decoded", set("x", "image", "nginx:1", "soon"), "f.yaml:14 stages[0].stage.spec.execution.steps[0].step.spec.duration WRONG_VALUE"},
	} {
		_, err := c.Save(t.Context(), apiclient.Document{Scope: project(), File: "f.yaml", YAML: []byte(tt.doc)})
		if diff := cmp.Diff([]string{tt.want}, details(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	_, err := c.Save(t.Context(), apiclient.Document{Scope: project(), YAML: []byte(strings.ReplaceAll(overlay, "both", "first"))})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("an overlay with a set's identifier: %v; want a conflict", err)
	}
	// Sets are the pipeline's, and the overlay's sets can't go before it.
	c.saveAll(set("second", "tier", "silver", "2s"), overlay)
	key := apiclient.EntityKey{Scope: project(), Kind: "inputSet", Env: "deploy", ID: "first"}
	if err := c.DeleteEntity(t.Context(), key, nil); !fault.Is(err, fault.Referenced) {
		t.Errorf("deleting a set of an overlay: %v; want that it is referenced", err)
	}
	if e, err := c.Entity(t.Context(), key); err != nil || e.Env != "deploy" {
		t.Errorf("the set is %+v, %v; want it in deploy", e, err)
	}
}

func TestStartWithInputs(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.saveAll(withInputs, set("first", "image", "nginx:1", "2s"), set("second", "tier", "silver", "3s"), overlay)
	var last api.Execution
	for _, tt := range []struct {
		name string
		in   api.StartExecution
		want string // values of image, tier and duration
	}{
		{"sets in their order", api.StartExecution{InputSets: []string{"second", "first"}}, "nginx:1 silver 2s"},
		{"an overlay's", api.StartExecution{InputSets: []string{"both"}}, "nginx:1 silver 3s"},
		{"a set after an overlay", api.StartExecution{InputSets: []string{"both", "first"}}, "nginx:1 silver 2s"},
		{"YAML over sets", api.StartExecution{InputSets: []string{"both"}, InputsYAML: "pipeline: {variables: [{name: image, value: nginx:2}]}"}, "nginx:2 silver 3s"},
		{"paths over YAML", api.StartExecution{
			InputsYAML: "variables: [{name: image, value: nginx:2}]", Inputs: map[string]string{"pipeline.variables.image": "nginx:3"},
		}, "nginx:3 gold 1s"},
	} {
		e, err := c.Start(t.Context(), project(), "deploy", tt.in)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := inputsOf(e.Inputs); got != tt.want {
			t.Errorf("%s: the inputs are %s; want %s", tt.name, got, tt.want)
		}
		last = e
	}
	// The same again, from what was kept.
	if last = c.ends(last.ID).Execution; last.Status != "Success" {
		t.Errorf("%s: %s", last.Status, last.Message)
	}
	if again, err := c.Retry(t.Context(), last.ID, api.Retry{}); err != nil || again.Inputs != last.Inputs {
		t.Errorf("repeated with %q, %v; want %q", again.Inputs, err, last.Inputs)
	}
	before, _, err := c.Executions(t.Context(), project(), apiclient.ExecutionFilter{Pipeline: "deploy"}, apiclient.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		in   api.StartExecution
		want []string
	}{
		{"nothing", api.StartExecution{}, []string{":5 variables.image MISSING_INPUT"}},
		{"a wrong value", api.StartExecution{InputSets: []string{"both"}, InputsYAML: "variables:\n- {name: tier, value: tin}"}, []string{"inputs:2 variables.tier VALUE_NOT_ALLOWED"}},
		{"a wrong place", api.StartExecution{InputSets: []string{"both"}, InputsYAML: "stages:\n- stage: {identifier: other}"}, []string{"inputs:2 stages.other NOT_AN_INPUT"}},
		{"no such set", api.StartExecution{InputSets: []string{"third"}}, nil},
		{"no YAML", api.StartExecution{InputsYAML: "a: ["}, []string{"inputs:1  SYNTAX"}},
	} {
		_, err := c.Start(t.Context(), project(), "deploy", tt.in)
		if diff := cmp.Diff(tt.want, details(err)); diff != "" || err == nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
	if after, _, err := c.Executions(t.Context(), project(), apiclient.ExecutionFilter{Pipeline: "deploy"}, apiclient.Page{}); err != nil || len(after) != len(before) {
		t.Errorf("there are %d executions, %v; want the %d from before", len(after), err, len(before))
	}
}

// inputsOf is the three values of an execution's inputs.
func inputsOf(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key == "value" || key == "duration" {
			out = append(out, value)
		}
	}
	return strings.Join(out, " ")
}

// semantics/pipeline §2.3: the template says what remains to be filled in.
func TestInputsOfAPipeline(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.saveAll(withInputs)
	got, err := c.Inputs(t.Context(), project(), "deploy")
	if err != nil {
		t.Fatal(err)
	}
	gold, second := "gold", "1s"
	want := []input.Question{
		{Path: "variables.image", Line: 5, Type: "String", Required: true, Help: "required"},
		{Path: "variables.tier", Line: 6, Type: "String", Default: &gold, OneOf: []string{"gold", "silver"}, Help: `default "gold"; one of gold, silver`},
		{Path: "stages.say.spec.execution.steps.rest.spec.duration", Line: 15, Default: &second, Help: `default "1s"`},
	}
	if diff := cmp.Diff(want, got.Inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if !strings.Contains(got.YAML, "value: <+input> # required\n") || !strings.Contains(got.YAML, "value: gold # default") {
		t.Errorf("the form is\n%s", got.YAML)
	}
	merged, err := c.MergeInputs(t.Context(), project(), "deploy", api.StartExecution{InputsYAML: strings.Replace(got.YAML, "value: gold", "value: tin", 1)})
	if err != nil {
		t.Fatal(err)
	}
	if len(merged.Missing) != 1 || merged.Missing[0].Path != "variables.image" || len(merged.Wrong) != 1 || merged.Wrong[0].Path != "variables.tier" {
		t.Errorf("missing %v, wrong %v", merged.Missing, merged.Wrong)
	}
	if !strings.Contains(merged.Pipeline, "duration: 1s") {
		t.Errorf("the pipeline is\n%s", merged.Pipeline)
	}
}

// semantics/pipeline §2.4: a set that its pipeline has left behind is
// reported, dropped from a run with a warning, and reconciled.
func TestOutdatedInputSets(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.saveAll(withInputs, set("first", "image", "nginx:1", "2s"), set("second", "tier", "silver", "1s"),
		strings.Replace(overlay, "second]", "second, third]", 1))
	changed := strings.Replace(withInputs, "name: tier", "name: level", 1)
	saved, err := c.Save(t.Context(), apiclient.Document{Scope: project(), YAML: []byte(changed)})
	if err != nil {
		t.Fatal(err)
	}
	const stale = "inputSet second, line 7: isn't in the document"
	if len(saved.Warnings) != 2 || saved.Warnings[0].Code != "INPUT_SET_OUTDATED" || saved.Warnings[0].Message != stale {
		t.Errorf("warnings %+v", saved.Warnings)
	}
	list, err := c.InputSets(t.Context(), project(), "deploy")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprint(s.Kind, " ", s.ID, " ", s.Valid, " ", len(s.Wrong)))
	}
	if diff := cmp.Diff([]string{"inputSet first true 0", "inputSet second false 1", "overlayInputSet both false 1"}, got); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	if _, err := c.Start(t.Context(), project(), "deploy", api.StartExecution{InputSets: []string{"both"}}); err == nil || !strings.Contains(err.Error(), `"third"`) {
		t.Errorf("a run with an overlay whose set is missing: %v", err)
	}
	e, err := c.Start(t.Context(), project(), "deploy", api.StartExecution{InputSets: []string{"first", "second"}})
	if err != nil || len(e.Warnings) != 1 || e.Warnings[0].File != "inputSet second" || e.Warnings[0].Path != "variables.tier" {
		t.Errorf("a run with an outdated set: %v, warnings %+v", err, e.Warnings)
	}
	for _, dry := range []bool{true, false} {
		for id, without := range map[string]string{"second": "tier", "both": "third"} {
			r, err := c.ReconcileInputSet(t.Context(), project(), "deploy", id, api.Reconcile{DryRun: dry})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Dropped) != 1 || !strings.Contains(r.Before, without) || strings.Contains(r.After, without) || (r.Version == 1) != dry {
				t.Errorf("reconciled %s (dry run: %t): %+v", id, dry, r)
			}
		}
	}
	if list, err = c.InputSets(t.Context(), project(), "deploy"); err != nil || !list[1].Valid || !list[2].Valid {
		t.Errorf("after the reconciliation: %+v, %v", list, err)
	}
}
