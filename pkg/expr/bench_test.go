package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/expr"
)

func bench(b *testing.B, text string) {
	b.Helper()
	s := newScope(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := expr.Interpolate(text, s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlainText(b *testing.B) { bench(b, strings.Repeat("no expression in here\n", 50)) }

func BenchmarkPath(b *testing.B) { bench(b, `<+pipeline.variables.v>`) }

func BenchmarkMethod(b *testing.B) { bench(b, `<+<+pipeline.variables.v>.toLowerCase()>`) }

func BenchmarkTernary(b *testing.B) {
	bench(b, `<+<+pipeline.triggerType> == "MANUAL" ? <+pipeline.executionId> : <+trigger.commitSha>>`)
}

func BenchmarkCompiledPath(b *testing.B) {
	s := newScope(b)
	p, err := expr.Compile(`<+pipeline.variables.v>`)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Run(s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManifest is one text with 10,000 expressions.
func BenchmarkManifest(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "  k%d: <+pipeline.variables.v>\n", i)
	}
	bench(b, text.String())
}
