package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// index lists every page of docs/.
const index = "docs/README.md"

var (
	fence  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	quoted = regexp.MustCompile("`[^`\n]*`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	title  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// pages are the pages for people: those of docs/, and all others but the
// folders of tools and of tests.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains([]string{"node_modules", ".git", "bin", "cdk.out", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			rel, _ := filepath.Rel(root(), path) // it is below
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// links are the places in the repository that a page links to.
func links(text string) []string {
	text = quoted.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	var out []string
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "mailto:") {
			out = append(out, m[1])
		}
	}
	return out
}

// TestEveryPageIsInTheIndex: who looks for a page finds it.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, l := range links(page(t, index)) {
		listed = append(listed, filepath.ToSlash(filepath.Join("docs", l)))
	}
	found := 0
	for _, path := range pages(t) {
		if !strings.HasPrefix(path, "docs/") || path == index {
			continue
		}
		if found++; !slices.Contains(listed, path) {
			t.Errorf("%s doesn't list %s", index, path)
		}
	}
	if found < 50 {
		t.Errorf("only %d pages were found", found)
	}
}

// TestLinksLeadSomewhere: what a page links to is in the repository, the
// heading too.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, path := range pages(t) {
		for _, l := range links(page(t, path)) {
			file, heading, _ := strings.Cut(l, "#")
			to := path
			if file != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(path), file))
			}
			if _, err := os.Stat(filepath.Join(root(), filepath.FromSlash(to))); err != nil || strings.HasPrefix(to, "..") {
				t.Errorf("%s links to %s, which isn't there", path, l)
				continue
			}
			if heading != "" && !slices.Contains(headings(page(t, to)), heading) {
				t.Errorf("%s links to %s; %s has no such heading", path, l, to)
			}
		}
	}
}

// headings are a page's as links name them: in small letters, hyphens for
// spaces, no punctuation, and a number after one that stands there again.
func headings(text string) []string {
	var out []string
	seen := map[string]int{}
	for _, m := range title.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
				return unicode.ToLower(c)
			}
			return -1
		}, m[1])
		if n := seen[name]; n > 0 {
			out = append(out, name+"-"+strconv.Itoa(n))
		} else {
			out = append(out, name)
		}
		seen[name]++
	}
	return out
}
