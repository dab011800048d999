package input_test

import (
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
          spec:
            environment: {environmentRef: <+input>}
            execution:
              steps:
                - step: {identifier: a, timeout: "<+input>.default(10m)", spec: {replicas: 3}}
`

func parse(t *testing.T, text string) *yamldoc.Node {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte(text))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return docs[0]
}

func TestFindNamesInputsByWhatIdentifiesThem(t *testing.T) {
	t.Parallel()
	var got []string
	for _, in := range input.Find(parse(t, doc)) {
		got = append(got, in.Path)
	}
	want := []string{
		"variables.image", "variables.tier", "stages.s.spec.environment.environmentRef",
		"stages.s.spec.execution.steps.a.timeout",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestFillTakesValuesThenDefaults(t *testing.T) {
	t.Parallel()
	filled, err := input.Fill(parse(t, doc), map[string]string{
		"variables.image": "nginx:1", "variables.tier": "silver", "stages.s.spec.environment.environmentRef": "dev",
	})
	if err != nil {
		t.Fatal(err)
	}
	vars := filled.Get("variables").Items
	stage := filled.Get("stages").Items[0].Get("parallel").Items[0].Get("stage")
	step := stage.At("spec", "execution", "steps").Items[0].Get("step")
	got := []string{
		vars[0].Get("value").Value, vars[1].Get("value").Value, stage.At("spec", "environment", "environmentRef").Value,
		step.Get("timeout").Value, step.At("spec", "replicas").Value,
	}
	if diff := cmp.Diff([]string{"nginx:1", "silver", "dev", "10m", "3"}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// Everything that is wrong is said at once: missing, not allowed, unknown.
func TestFillReportsAll(t *testing.T) {
	t.Parallel()
	_, err := input.Fill(parse(t, doc), map[string]string{"variables.tier": "bronze", "variables.imgae": "x"})
	e, ok := err.(*fault.Error) //nolint:errorlint // the concrete type is what is tested
	if !ok || e.Code != fault.Invalid {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, d := range e.Details {
		got = append(got, d.Path)
	}
	want := []string{"variables.image", "variables.tier", "stages.s.spec.environment.environmentRef", "variables.imgae"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong paths (-want +got):\n%s", diff)
	}
}

func TestOverlayFillsOnlyInputs(t *testing.T) {
	t.Parallel()
	service := parse(t, `{identifier: web, serviceDefinition: {spec: {variables: [{name: a, value: <+input>}, {name: b, value: fixed}]}}}`)
	over := parse(t, `{serviceDefinition: {spec: {variables: [{name: a, value: one}, {name: b, value: two}]}}}`)
	out := input.Overlay(service, over).At("serviceDefinition", "spec", "variables").Items
	got := []string{out[0].Get("value").Value, out[1].Get("value").Value}
	if diff := cmp.Diff([]string{"one", "fixed"}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if service.At("serviceDefinition", "spec", "variables").Items[0].Get("value").Value != "<+input>" {
		t.Error("the original was changed")
	}
}
