package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
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
