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

const waitTemplate = `template:
  name: pause
  identifier: pause
  versionLabel: v1
  type: Step
  spec: {type: Wait, spec: {duration: <+input>}}
`

func versioned(label string) string { return strings.Replace(waitTemplate, "v1", label, 1) }

// stability is which versions there are, and whether each is stable.
func (s *server) stability() map[string]bool {
	s.t.Helper()
	var list api.EntityList
	s.ask("GET", "/v1/entities/template"+scope, "").want(200, &list)
	out := map[string]bool{}
	for _, e := range list.Entities {
		out[e.ID] = e.Stable
	}
	return out
}

func TestATemplateHasOneStableVersion(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(versioned("v1"))
	s.save(versioned("v2"))
	if diff := cmp.Diff(map[string]bool{"pause@v1": true, "pause@v2": false}, s.stability()); diff != "" {
		t.Errorf("after two saves (-want +got):\n%s", diff)
	}
	stable := "/v1/templates/pause/stable" + scope
	if got := s.ask("PUT", stable, `{"versionLabel":"v3"}`); got.status != 404 {
		t.Errorf("a version that isn't there: %d %s; want 404", got.status, got.body)
	}
	for range 2 { // again is no change
		if got := s.ask("PUT", stable, `{"versionLabel":"v2"}`); got.status != 204 {
			t.Fatalf("set stable: %d %s", got.status, got.body)
		}
	}
	if diff := cmp.Diff(map[string]bool{"pause@v1": false, "pause@v2": true}, s.stability()); diff != "" {
		t.Errorf("after another was made stable (-want +got):\n%s", diff)
	}
	for id, want := range map[string]string{"pause": "pause@v2", "pause@v1": "pause@v1"} {
		var e api.Entity
		s.ask("GET", "/v1/entities/template/"+id+scope, "").want(200, &e)
		if e.ID != want || e.Stable != (want == "pause@v2") {
			t.Errorf("%s is %s, stable %t; want %s", id, e.ID, e.Stable, want)
		}
	}
}

func TestDeletingVersionsOfATemplate(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, label := range []string{"v1", "v2", "v3"} {
		s.save(versioned(label))
	}
	for _, c := range []struct {
		id     string
		status int
		say    string
	}{
		{"pause", 409, "name one of them"},
		{"pause@v1", 409, "make another one stable first: v2, v3"},
		{"pause@v9", 404, "pause@v9"},
		{"pause@v3", 204, ""},
		{"pause@v2", 204, ""},
		{"pause@v1", 204, ""},
		{"pause", 404, "pause"},
	} {
		got := s.ask("DELETE", "/v1/entities/template/"+c.id+scope, "")
		if got.status != c.status || !strings.Contains(string(got.body), c.say) {
			t.Fatalf("delete %s: %d %s; want %d and %q", c.id, got.status, got.body, c.status, c.say)
		}
	}
	if got := s.save(waitTemplate); got.Version != 1 {
		t.Errorf("saved anew, it has the version %d; want 1", got.Version)
	}
	if diff := cmp.Diff(map[string]bool{"pause@v1": true}, s.stability()); diff != "" {
		t.Errorf("saved anew (-want +got):\n%s", diff)
	}
}

func TestChangingAVersionsInputsIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(waitTemplate)
	if got := s.save(strings.Replace(waitTemplate, "pause\n", "Pause\n", 1)); len(got.Warnings) > 0 {
		t.Errorf("another name: %v; want no warning", got.Warnings)
	}
	got := s.save(strings.Replace(waitTemplate, "<+input>", "1m", 1))
	want := []fault.Detail{{
		Path: "spec", Line: 6, Column: 9, Severity: "warning", Code: "TEMPLATE_INPUTS_CHANGED",
		Message: "this version asked for spec.duration, and now for nothing; a new versionLabel leaves those who use it alone",
	}}
	if diff := cmp.Diff(want, got.Warnings); diff != "" {
		t.Errorf("other inputs (-want +got):\n%s", diff)
	}
}

const usesTemplate = `pipeline:
  name: hello
  identifier: hello
  stages:
    - stage:
        name: say
        identifier: say
        type: Custom
        spec:
          execution:
            steps:
              - step: {name: a, identifier: a, template: {templateRef: pause, templateInputs: {type: Wait, spec: {duration: 1m}}}}
              - step: {name: b, identifier: b, template: {templateRef: pause, versionLabel: v2, templateInputs: {type: Wait, spec: {duration: 1m}}}}
`

func TestAPipelineNamesItsTemplates(t *testing.T) {
	t.Parallel()
	s := setup(t)
	got := s.save(usesTemplate)
	want := []string{
		`12:72 there is no template "pause" in default/default/web yet; a run would fail`,
		`13:72 there is no template "pause@v2" in default/default/web yet; a run would fail`,
	}
	var warned []string
	for _, w := range got.Warnings {
		warned = append(warned, fmt.Sprintf("%d:%d %s", w.Line, w.Column, w.Message))
	}
	if diff := cmp.Diff(want, warned); diff != "" {
		t.Errorf("saved before its templates (-want +got):\n%s", diff)
	}
	for _, label := range []string{"v1", "v2", "v3"} {
		s.save(versioned(label))
	}
	if got := s.save(usesTemplate + "# again\n"); len(got.Warnings) > 0 {
		t.Errorf("with its templates: %v; want no warnings", got.Warnings)
	}
	for id, status := range map[string]int{"pause@v2": 409, "pause@v1": 409, "pause@v3": 204} {
		if got := s.ask("DELETE", "/v1/entities/template/"+id+scope, ""); got.status != status {
			t.Errorf("delete %s: %d %s; want %d", id, got.status, got.body, status)
		}
	}
	s.ask("DELETE", "/v1/entities/pipeline/hello"+scope, "").want(204, nil)
	for _, id := range []string{"pause@v2", "pause"} {
		s.ask("DELETE", "/v1/entities/template/"+id+scope, "").want(204, nil)
	}
}

func TestWhatATemplateBringsIsChecked(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(versioned("v1"))
	s.save(versioned("v2"))
	wrong := strings.Replace(usesTemplate, "duration: 1m", "duration: soon", 1)
	p := s.ask("PUT", "/v1/entities"+scope+"&file=p.yaml", wrong, "Content-Type", "application/yaml").problem(400)
	if len(p.Details) != 1 || p.Details[0].File != "p.yaml" || p.Details[0].Line != 12 {
		t.Errorf("an input that doesn't fit the step: %+v; want one finding in line 12 of p.yaml", p.Details)
	}
}

// What only shows where a template is used is the template's place to mend.
func TestFindingsNameTheTemplate(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save("template: {name: d, identifier: d, versionLabel: v1, type: Step, spec: {type: K8sScale, spec: {workload: web/web, instanceSelection: {type: Count, spec: {count: 1}}}}}\n")
	use := strings.Replace(usesTemplate, "templateRef: pause, templateInputs: {type: Wait, spec: {duration: 1m}}", "templateRef: d", 1)
	p := s.ask("PUT", "/v1/entities"+scope+"&file=p.yaml", use, "Content-Type", "application/yaml").problem(400)
	if len(p.Details) != 1 || p.Details[0].File != "template d@v1" || p.Details[0].Code != "WRONG_STAGE" {
		t.Errorf("a step that deploys in a Custom stage: %+v; want WRONG_STAGE in template d@v1", p.Details)
	}
}

// A run follows links anew: what doesn't fit any more starts nothing, and what
// starts says which versions it is made of.
func TestStartingFollowsLinks(t *testing.T) {
	t.Parallel()
	c := serve(t)
	save := func(doc string) {
		t.Helper()
		if _, err := c.Save(t.Context(), apiclient.Document{Scope: project(), YAML: []byte(doc)}); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(code string, line int) {
		t.Helper()
		_, err := c.Start(t.Context(), project(), "hello", api.StartExecution{})
		var f *fault.Error
		if !errors.As(err, &f) || len(f.Details) == 0 || f.Details[0].Code != code || f.Details[0].Line != line {
			t.Errorf("the run is refused with %v; want %s in line %d", err, code, line)
		}
	}
	save(strings.Replace(usesTemplate, "duration: 1m", "duration: 1s", 1))
	refused("UNKNOWN_REFERENCE", 12)
	save(versioned("v1"))
	save(versioned("v2"))
	save(strings.Replace(versioned("v2"), "pause\n", "Pause\n", 1))
	e, err := c.Start(t.Context(), project(), "hello", api.StartExecution{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Execution(t.Context(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]api.UsedTemplate{{Template: "pause@v1", Version: 1}, {Template: "pause@v2", Version: 2}}, made.Templates); diff != "" {
		t.Errorf("made of (-want +got):\n%s", diff)
	}
	save(strings.Replace(versioned("v3"), "spec: {type: Wait, spec: {duration: <+input>}}", "spec: {type: Wait, timeout: <+input>, spec: {duration: 1m}}", 1))
	if err := c.SetStableTemplate(t.Context(), project(), "pause", "v3"); err != nil {
		t.Fatal(err)
	}
	refused(input.NoInput, 12)
}
