package template_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/template"
)

func TestVersionsAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, label string }{{"build", "v1"}, {"a$b", "1.0@x#y"}} {
		id, label := template.SplitID(template.ID(c.id, c.label))
		if id != c.id || label != c.label {
			t.Errorf("%s and %s become %s and %s", c.id, c.label, id, label)
		}
	}
	if id, label := template.SplitID("build"); id != "build" || label != "" {
		t.Errorf("a name without a version is %q, %q", id, label)
	}
}

// semantics/pipeline §9.3 has the table.
func TestWhatALinkMayOverride(t *testing.T) {
	t.Parallel()
	want := map[template.Kind]int{template.Step: 5, template.Stage: 5, template.StepGroup: 4, template.Pipeline: 4}
	got := map[template.Kind]int{}
	for _, k := range template.Kinds() {
		if n := len(template.Overridable(k)); n > 0 {
			got[k] = n
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}
