package e2e_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// pagesFolder has the pages that are held against the program.
const pagesFolder = "../../docs/steps"

// TestStepPages: every step type has a page and every page a type; it shows
// the example that is run here and tells of the fields that there are.
func TestStepPages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(pagesFolder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, typ := range builtin.Steps() {
		path := filepath.Join(pagesFolder, strings.ToLower(typ.Name)+".md")
		want = append(want, path)
		t.Run(typ.Name, func(t *testing.T) {
			t.Parallel()
			page, files := read(t, path), filesOf(t, typ.Name)
			if !strings.HasPrefix(page, "# "+typ.Name+"\n") {
				t.Errorf("the page's title isn't %s", typ.Name)
			}
			if diff := cmp.Diff(read(t, files.Example), firstGroup(page, "(?s)\n## Example\n.*?```yaml\n(.*?)```", "")); diff != "" {
				t.Errorf("the page's example (-example.yaml +page):\n%s", diff)
			}
			if diff := cmp.Diff(keysOfCases(t, files.Cases, typ), keysOfPage(t, page, typ)); diff != "" {
				t.Errorf("fields (-testdata/save-*.txtar +page):\n%s", diff)
			}
		})
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// keysOfPage are the keys of a spec that the page's table of fields has.
func keysOfPage(t *testing.T, page string, typ step.Type) []string {
	t.Helper()
	table := firstGroup(page, `(?s)## Fields\n(.*?)\n## `, "")
	var keys []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile("`([a-zA-Z]+)").FindAllStringSubmatch(row[1], -1) {
			keys = append(keys, m[1])
			if !known(t, typ, m[1]) {
				t.Errorf("the page has the field %q, which the type doesn't know", m[1])
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// keysOfCases are the keys of the specs in the type's cases that it knows.
func keysOfCases(t *testing.T, folder string, typ step.Type) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "save-*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, path := range paths {
		for _, m := range regexp.MustCompile(`(?m)^([a-zA-Z]+):`).FindAllStringSubmatch(firstGroup(read(t, path), `(?s)-- spec.yaml --\n(.*?)\n-- `, ""), -1) {
			if known(t, typ, m[1]) {
				keys = append(keys, m[1])
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// known says whether a type's spec may have a key.
func known(t *testing.T, typ step.Type, key string) bool {
	t.Helper()
	docs, r := yamldoc.Parse("", []byte("{"+key+": }"))
	typ.Decode(docs[0], r)
	return !slices.ContainsFunc(r.Findings(), func(f yamldoc.Finding) bool { return f.Code == "UNKNOWN_KEY" })
}
