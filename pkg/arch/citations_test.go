package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// citation is a section sign with its number and what stands right before
	// it: a page, or a document of somebody else's.
	citation = regexp.MustCompile(`(?i)(?:(?:semantics/)?\b(pipeline|entities|kubernetes|gitops) |(RFC \d+) )?§(\d+(?:\.\d+)*)?`)
	// goesOn is all that may stand between two citations of one page: "§5.2 and
	// §5.3", also over the end of a comment's line.
	goesOn = regexp.MustCompile(`^(?:-\d+)?(?:[\s/,;]|\band\b|\bor\b|\bto\b)*$`)
	// section is a heading with a number, or a row of a table with one.
	section = regexp.MustCompile(`(?m)^(?:#+ (\d+(?:\.\d+)*)\.? |\| (\d+\.\d+) \|)`)
)

// TestCitations: what code, tests and docs cite of docs/semantics is there, as
// docs/semantics/README.md says how.
func TestCitations(t *testing.T) {
	t.Parallel()
	pages := sections(t)
	found := 0
	err := filepath.WalkDir(root(), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"node_modules", ".git", "bin", "cdk.out"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || entry.Name() == "citations_test.go" || !slices.Contains([]string{".go", ".md", ".txtar", ".yaml"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("§")) {
			return err
		}
		own := ""
		if filepath.Base(filepath.Dir(path)) == "semantics" {
			own = strings.TrimSuffix(filepath.Base(path), ".md")
		}
		for _, c := range citations(string(text), own) {
			found++
			switch numbers, ok := pages[c.page]; {
			case !ok:
				t.Errorf("%s:%d: §%s says no page; want semantics/pipeline, entities, kubernetes or gitops before it", path, c.line, c.number)
			case !numbers[c.number]:
				t.Errorf("%s:%d: docs/semantics/%s.md has no section %s", path, c.line, c.page, c.number)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 500 {
		t.Errorf("only %d citations were found", found)
	}
}

// cited is one citation.
type cited struct {
	page, number string
	line         int
}

// citations lists those of a text. own is the page that a number without one
// is of; empty: none.
func citations(text, own string) []cited {
	var out []cited
	page, end := "", 0
	for _, m := range citation.FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		switch {
		case group(2) != "": // it is of a document of somebody else's
			page = ""
			continue
		case group(1) != "":
			page = strings.ToLower(group(1))
		case page == "" || !goesOn.MatchString(text[end:m[0]]):
			page = own
		}
		end = m[1]
		out = append(out, cited{page: page, number: group(3), line: 1 + strings.Count(text[:m[0]], "\n")})
	}
	return out
}

// sections gives the numbers that each page of docs/semantics has.
func sections(t *testing.T) map[string]map[string]bool {
	t.Helper()
	pages := map[string]map[string]bool{}
	for _, name := range []string{"pipeline", "entities", "kubernetes", "gitops"} {
		pages[name] = map[string]bool{}
		for _, m := range section.FindAllStringSubmatch(page(t, "docs/semantics/"+name+".md"), -1) {
			number := m[1] + m[2]
			if pages[name][number] {
				t.Errorf("docs/semantics/%s.md has the section %s twice", name, number)
			}
			pages[name][number] = true
		}
	}
	return pages
}

// TestCitationsAreRead: what counts as a citation, and of which page.
func TestCitationsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"// (semantics/pipeline §7.3).":                        "pipeline 7.3",
		"{\"kubernetes §23.4 env\"}":                           "kubernetes 23.4",
		"(semantics/pipeline §7.8\n\t// and §7.9)":             "pipeline 7.8, pipeline 7.9",
		"semantics/entities §17.16-17, semantics/pipeline §5":  "entities 17.16, pipeline 5",
		"(semantics/pipeline §3.5, item 4)":                    "pipeline 3.5",
		"semantics/pipeline §5.2. It isn't inherited (§4).":    "pipeline 5.2,  4",
		"(RFC 6749 §5.2)":                                      "",
		"semantics/pipeline §":                                 "pipeline ",
		"Entities §8, kubernetes §16 and §17; see RFC 9110 §3": "entities 8, kubernetes 16, kubernetes 17",
	} {
		var got []string
		for _, c := range citations(text, "") {
			got = append(got, c.page+" "+c.number)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q has %q; want %q", text, got, want)
		}
	}
}
