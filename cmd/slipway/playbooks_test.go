package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPlaybookCommands: what playbooks tell operators to type exists.
func TestPlaybookCommands(t *testing.T) {
	t.Parallel()
	help := func(words ...string) string {
		var out bytes.Buffer
		c := root(newApp(process{out: &out, err: &out, env: func(string) string { return "" }}))
		c.SetArgs(append(slices.Clone(words), "--help"))
		if err := c.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "\n  slipway "+strings.Join(words, " ")) {
			t.Errorf("there is no command slipway %s: %v", strings.Join(words, " "), err)
		}
		return out.String()
	}
	pages, err := filepath.Glob("../../docs/playbooks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no playbooks: %v", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?m)(?:^ *|`)slipway ([a-z]+)((?: [^`\n]+)?)").FindAllStringSubmatch(string(text), -1) {
			said := help(m[1])
			words := strings.Fields(m[2])
			if len(words) > 0 && strings.Contains(said, "Available Commands:") && regexp.MustCompile("^[a-z]+$").MatchString(words[0]) {
				said = help(m[1], words[0])
			}
			for _, w := range words {
				if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(w, "-") && !strings.Contains(said, flag+" ") && !strings.Contains(said, flag+",") {
					t.Errorf("%s: slipway %s has no flag %s", filepath.Base(page), m[1], flag)
				}
			}
		}
	}
}
