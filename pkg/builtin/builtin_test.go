package builtin_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/step/stepfiles"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	names := builtin.Steps().Names()
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a type is listed twice: %v", names)
	}
}

// TestEveryTypeIsListed: whoever has an example is in the list, and the other
// way around.
func TestEveryTypeIsListed(t *testing.T) {
	t.Parallel()
	all, err := stepfiles.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range builtin.Steps().Names() {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(all)), names); diff != "" {
		t.Errorf("step types (-folders +list):\n%s", diff)
	}
}

// TestDeploymentTypesHaveARow: docs/deployments.md lists every deployment type.
func TestDeploymentTypesHaveARow(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/deployments.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range builtin.Types().Lanes.Types() {
		if !strings.Contains(string(page), "\n| `"+name+"` | ") {
			t.Errorf("docs/deployments.md has no row of %s", name)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	docs, _ := yamldoc.Parse("", []byte("step:\n  spec:\n    duration: soon\n"))
	spec := docs[0].At("step", "spec")
	r := yamldoc.NewReport("p.yaml")
	r.Within("stages[0].step.spec", func(part *yamldoc.Report) {
		if !builtin.Steps().Check("Wait", spec, "Custom", part) {
			t.Error("Wait isn't known")
		}
	})
	want := `[p.yaml:3:15 stages[0].step.spec.duration: "soon" isn't a duration; want numbers with units, such as 30s, 10m or 1h 30m [WRONG_VALUE]]`
	if diff := cmp.Diff(want, fmt.Sprint(r.Findings())); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if builtin.Steps().Check("wait", spec, "Custom", r) {
		t.Error("types are known by their exact names")
	}
}
