package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// BenchmarkLint checks 500 pipelines of 20 steps each: a repository of many
// teams, which a commit hook must be able to check. The bound is 2 s.
func BenchmarkLint(b *testing.B) {
	dir := b.TempDir()
	for i := range 500 {
		var doc strings.Builder
		fmt.Fprintf(&doc, "pipeline:\n  name: p%d\n  identifier: p%d\n  variables:\n    - {name: tag, type: String, value: <+input>}\n", i, i)
		doc.WriteString("  stages:\n    - stage:\n        name: s\n        identifier: s\n        type: Custom\n        spec:\n          execution:\n            steps:\n")
		for j := range 20 {
			fmt.Fprintf(&doc, "              - step:\n                  type: ShellScript\n                  name: s%d\n                  identifier: s%d\n", j, j)
			doc.WriteString("                  spec:\n                    shell: Bash\n                    source:\n                      type: Inline\n                      spec:\n")
			doc.WriteString("                        script: |\n                          echo <+pipeline.variables.tag> <+stage.name> <+execution.steps.s0.status>\n")
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("p%d.yaml", i)), []byte(doc.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var out bytes.Buffer
	a := newApp(process{out: &out, env: func(string) string { return "" }})
	a.shows.output, a.caller.changed = "table", func(string) bool { return false }
	for b.Loop() {
		if err := a.linter.lint(b.Context(), []string{dir}, lintFlags{}); err != nil {
			b.Fatal(err, out.String())
		}
	}
}

func TestSARIFOfNothingHasNoNulls(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := newApp(process{out: &out})
	if err := a.shows.printFindings([]fault.Detail{}, 1, "sarif"); err != nil || strings.Contains(out.String(), "null") {
		t.Errorf("%v: %s", err, out.String())
	}
}
