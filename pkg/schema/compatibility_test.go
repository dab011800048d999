package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
)

const introduction = `# What of Harness's YAML Slipway reads

This page is made from the code that reads documents (` + "`go generate ./pkg/schema`" + `); a test keeps it true. Of
each type, word and key there are three sorts: it is honoured; Harness has it and Slipway refuses it when a document
is saved, with the reason below; nobody documents it, then it is a warning and kept as it is.

A key that is refused may still be blank, ` + "`false`" + ` or empty: that says nothing. What every key may hold is in the
JSON Schemas ([editors](editors.md)); ` + "`slipway lint`" + ` finds what is refused without a server ([lint](lint.md)).

Settings of an account, an organization or a project, which change what documents mean in Harness, aren't there; what Harness
documents for an account that has changed none holds. So a blank value in an input set isn't a value: it is asked for, as
` + "`<+input>`" + ` is.
`

// TestCompatibility keeps docs/compatibility.md true.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	lacking, err := os.ReadFile(filepath.Join("testdata", "lacking.txt"))
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join("..", "..", "docs", "compatibility.md")
	got := compatibility(string(lacking))
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("docs/compatibility.md isn't what the code says (-page +code); go generate ./pkg/schema writes it anew:\n%s", diff)
	}
}

// page reads docs/compatibility.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compatibility is the page.
func compatibility(lacking string) string {
	var b strings.Builder
	b.WriteString(introduction)
	kinds := slices.Clone(ref.Kinds())
	slices.SortStableFunc(kinds, func(x, y ref.Kind) int { return rank(x) - rank(y) })
	b.WriteString("\n## Kinds of documents\n\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "- `%s`: [every key and what it may hold](../pkg/schema/testdata/%s.txt)\n", k, k)
	}
	fmt.Fprintf(&b, "\nRefused: %s.\n", strings.Join(sorted(entity.OtherKinds()), ", "))
	steps(&b)
	words, keys := newTable("kind", "mapping and key", "honoured", "refused"), newTable("kind", "mapping and key", "why it is refused")
	var without []string
	idle := newTable("kind", "mapping and key", "why it has no effect")
	for _, kind := range kinds {
		for _, d := range outlines()[kind] {
			for _, k := range d.Keys {
				place := fmt.Sprintf("`%s.%s`", d.Name, k.Name)
				if k.Refused != "" {
					keys.row(string(kind), place, k.Refused)
				}
				without = append(without, k.Without...)
				if k.Idle != "" {
					idle.row(string(kind), place, k.Idle)
				}
				if len(k.Others) > 0 {
					words.row(string(kind), place, strings.Join(k.Words, ", "), strings.Join(sorted(k.Others), ", "))
				}
			}
		}
	}
	b.WriteString("\n## Types and words\n\n" + words.String())
	b.WriteString("\n## Keys that are refused\n\n" + keys.String())
	b.WriteString("\n## Keys that are taken and have no effect\n\n" +
		"Documents of Harness have them, and a run is the same without; each is a warning (`NO_EFFECT`).\n\n" + idle.String())
	b.WriteString("\n## Values that are refused\n\nFrom the broken documents of the tests, as they are told:\n\n")
	for _, reason := range sorted(append(values(), without...)) {
		if !strings.Contains(b.String(), reason) {
			fmt.Fprintf(&b, "- %s\n", reason)
		}
	}
	if source, err := refusedByCode(); err == nil { // else the page lacks what TestEveryRefusalIsOnThePage wants
		b.WriteString("\nAnd by the source, where … stands for what a document says:\n\n")
		for _, line := range source.lacks(b.String()) {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	b.WriteString("\n## Keys that Slipway doesn't know\n\n" +
		"These are in Harness's public JSON Schema for a supported type; Slipway warns of them and does nothing with them\n" +
		"(`go run ./tools/compareschema CHECKOUT` compares with a checkout of harness-schema).\n\n")
	theirs := newTable("where", "key")
	for line := range strings.Lines(lacking) {
		where, key, _ := strings.Cut(strings.TrimSpace(line), ": ")
		theirs.row(where, "`"+key+"`")
	}
	b.WriteString(theirs.String())
	return b.String()
}

var refusal = regexp.MustCompile(`(?m)^\S+ \S+: (.*) \[UNSUPPORTED\]$`)

// values are the reasons for which values are refused that have a test, but
// for those about one type of many.
func values() []string {
	var out []string
	files, _ := filepath.Glob(filepath.Join("..", "entity", "testdata", "err", "*.out")) // the pattern is well-formed
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, m := range refusal.FindAllStringSubmatch(string(text), -1) {
			if !oneOfMany.MatchString(m[1]) {
				out = append(out, m[1])
			}
		}
	}
	return sorted(out)
}

var oneOfMany = regexp.MustCompile(`isn't supported yet(; want .*)?$|^documents of the kind`)

// rank puts the kinds that people write first.
func rank(k ref.Kind) int {
	order := []ref.Kind{ref.Pipeline, ref.Service, ref.Environment, ref.Infrastructure, ref.Connector, ref.Secret, ref.Trigger}
	if i := slices.Index(order, k); i >= 0 {
		return i
	}
	return len(order)
}

func sorted(words []string) []string {
	out := slices.Clone(words)
	slices.Sort(out)
	return slices.Compact(out)
}

func steps(b *strings.Builder) {
	names := builtin.Steps().Names()
	fmt.Fprintf(b, "\n## Step types\n\n%d are honoured:\n\n", len(names))
	for _, name := range names {
		fmt.Fprintf(b, "- [%s](steps/%s.md)\n", name, strings.ToLower(name))
	}
	others := slices.DeleteFunc(entity.HarnessSteps(), func(s string) bool { return slices.Contains(names, s) })
	fmt.Fprintf(b, "\n%d are refused: they aren't supported yet, or belong to other products of Harness's.\n\n%s.\n",
		len(others), wrap(strings.Join(others, ", ")))
}

// wrap breaks a text into lines that fit a page.
func wrap(text string) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case length+len(word) > 115:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String()
}

// table is a table of Markdown whose rows are told once for the first kind
// that has them.
type table struct {
	strings.Builder
	seen []string
}

func newTable(columns ...string) *table {
	t := &table{}
	t.WriteString("| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat(" --- |", len(columns)) + "\n")
	return t
}

func (t *table) row(kind string, cells ...string) {
	line := strings.Join(cells, " | ")
	if slices.Contains(t.seen, line) {
		return
	}
	t.seen = append(t.seen, line)
	t.WriteString("| " + kind + " | " + line + " |\n")
}

// TestLackingKeysAreLacking: a key that has been built isn't in the list.
func TestLackingKeysAreLacking(t *testing.T) {
	t.Parallel()
	lacking, err := os.ReadFile(filepath.Join("testdata", "lacking.txt"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, d := range outlines()[ref.Pipeline] {
		for _, k := range d.Keys {
			have[d.Name+"."+k.Name] = true
		}
	}
	for line := range strings.Lines(string(lacking)) {
		owner, path, _ := strings.Cut(strings.TrimSpace(line), ": ")
		names := strings.Split(strings.ReplaceAll(path, "[]", ""), ".")
		mapping := strings.ToLower(owner[:1]) + owner[1:] + "Spec"
		switch {
		case strings.HasSuffix(owner, " stage"):
			mapping = "stage"
		case names[0] != "spec":
			mapping = "step"
		case len(names) != 2:
			continue // which definition that is, the outline doesn't say
		}
		if have[mapping+"."+names[len(names)-1]] {
			t.Errorf("%s: Slipway knows it now; go run ./tools/compareschema makes the list anew", strings.TrimSpace(line))
		}
	}
}
