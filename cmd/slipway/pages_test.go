package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/ref"
)

var pageExample = regexp.MustCompile("(?ms)^```yaml\n(?:#[^\n]*\n)*(([a-zA-Z]+):.*?)^```")

// TestPageExamples: every document that a page shows can be saved, in a project or in the
// account. What isn't whole says so by "..." or "…".
func TestPageExamples(t *testing.T) {
	t.Parallel()
	lint := func(doc []byte, org, project string) (string, error) {
		var out bytes.Buffer
		c := root(newApp(process{in: bytes.NewReader(doc), out: &out, err: &out, env: func(string) string { return "" }}))
		c.SetArgs([]string{"lint", "-", "--org", org, "--project", project})
		err := c.ExecuteContext(t.Context())
		return out.String(), err
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range pageExample.FindAllSubmatchIndex(text, -1) {
			doc, key := text[at[2]:at[3]], string(text[at[4]:at[5]])
			if !slices.Contains(ref.Kinds(), ref.Kind(key)) || bytes.Contains(doc, []byte("...")) || bytes.Contains(doc, []byte("…")) {
				continue
			}
			checked++
			name := fmt.Sprintf("%s:%d", filepath.Base(page), bytes.Count(text[:at[2]], []byte("\n"))+1)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				said, err := lint(doc, "default", "web")
				if err == nil {
					return
				}
				if _, err := lint(doc, "", ""); err != nil {
					t.Errorf("the %s can't be saved:\n%s", key, strings.TrimSpace(said))
				}
			})
		}
	}
	if checked < 45 {
		t.Errorf("the pages have %d examples that are whole; want 45 at least", checked)
	}
}
