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

// §2.4: what an input set says has to have a place in its pipeline.
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
	if again, err := c.Retry(t.Context(), last.ID); err != nil || again.Inputs != last.Inputs {
		t.Errorf("repeated with %q, %v; want %q", again.Inputs, err, last.Inputs)
	}
	before, _, err := c.Executions(t.Context(), project(), "deploy", apiclient.Page{})
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
	if after, _, err := c.Executions(t.Context(), project(), "deploy", apiclient.Page{}); err != nil || len(after) != len(before) {
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
