package arch

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryPackageSaysWhatItIsFor: one comment, in one file, with at least two
// sentences: what the package is for, and what it leaves to others.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		var docs, files []string
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Error(err)
				continue
			}
			if file.Doc != nil {
				docs, files = append(docs, file.Doc.Text()), append(files, name)
			}
		}
		if len(p.GoFiles) == 0 { // only tests, or only for another system
			continue
		}
		if len(docs) != 1 {
			t.Errorf("%s has %d package comments (%s), want 1", p.path(), len(docs), strings.Join(files, ", "))
			continue
		}
		begin := "Package " + p.Name + " "
		if p.Name == "main" {
			begin = "Command " + filepath.Base(p.Dir) + " "
		}
		if !strings.HasPrefix(docs[0], begin) {
			t.Errorf("the comment of %s begins with %.30q, want %q", p.path(), docs[0], begin)
		}
		if p.Name != "main" && sentences(docs[0]) < 2 {
			t.Errorf("the comment of %s is one sentence; say too what it leaves to others", p.path())
		}
	}
}

// sentences counts what ends with a full stop.
func sentences(text string) int {
	text = strings.Join(strings.Fields(text), " ") + " "
	return strings.Count(text, ". ") + strings.Count(text, ".) ")
}
