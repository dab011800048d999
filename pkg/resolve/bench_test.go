package resolve_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkManifest resolves a manifest with 10,000 expressions of a step's
// scope, as a values file may have. The bound is 50 ms.
func BenchmarkManifest(b *testing.B) {
	var text strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&text, "k%d: <+pipeline.variables.v> <+serviceVariables.host> <+env.name> <+artifact.tag>\n", i)
	}
	s := scopeAt(b, "pipeline.stages.deploy.spec.execution.steps.roll")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Text(text.String()); err != nil {
			b.Fatal(err)
		}
	}
}
