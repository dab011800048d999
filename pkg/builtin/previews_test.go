package builtin_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/stepfiles"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// TestPreviewsTakeWhatStepsSay: what a preview takes over from the step of an example
// is all that the step type in its place wants, which the engine knows.
func TestPreviewsTakeWhatStepsSay(t *testing.T) {
	t.Parallel()
	files, err := stepfiles.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, preview := range builtin.Steps().Previews() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(builtin.Engine(), func(one step.Type) bool { return one.Name == preview.By })
			if i < 0 {
				t.Fatalf("the engine has no step type %s", preview.By)
			}
			text, err := os.ReadFile(files[strings.ToLower(name)].Example)
			if err != nil {
				t.Fatal(err)
			}
			docs, report := yamldoc.Parse("example.yaml", text)
			if err := report.Err(); err != nil {
				t.Fatal(err)
			}
			spec := specOf(docs[0], name)
			if spec == nil {
				t.Fatal("the example has no such step")
			}
			if !preview.Own {
				spec.Entries = slices.DeleteFunc(spec.Entries, func(e yamldoc.Entry) bool { return !slices.Contains(preview.Keys, e.Key) })
			}
			builtin.Engine()[i].Decode(spec, report)
			if err := report.Err(); err != nil {
				t.Errorf("%s: %v", preview.By, err)
			}
		})
	}
}

// specOf is the spec of the first step of a type; nil: there is none.
func specOf(n *yamldoc.Node, name string) *yamldoc.Node {
	if typ := n.Get("type"); typ != nil && typ.Value == name {
		return n.Get("spec")
	}
	for _, e := range n.Entries {
		if found := specOf(e.Value, name); found != nil {
			return found
		}
	}
	for _, item := range n.Items {
		if found := specOf(item, name); found != nil {
			return found
		}
	}
	return nil
}
