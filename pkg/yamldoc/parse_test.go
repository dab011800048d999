package yamldoc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func parse(t *testing.T, text string) *yamldoc.Node {
	t.Helper()
	docs, report := yamldoc.Parse("f.yaml", []byte(text))
	if err := report.Err(); err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	return docs[0]
}

func findings(r *yamldoc.Report) []string {
	var out []string
	for _, f := range r.Findings() {
		out = append(out, f.String())
	}
	return out
}

func TestParseKeepsPlaces(t *testing.T) {
	t.Parallel()
	doc := parse(t, "a:\n  b: [1, x]\n  \"c\": |\n    text\n")
	want := &yamldoc.Node{Kind: yamldoc.Mapping, Line: 1, Column: 1, Entries: []yamldoc.Entry{
		{Key: "a", Line: 1, Column: 1, Value: &yamldoc.Node{Kind: yamldoc.Mapping, Line: 2, Column: 3, Entries: []yamldoc.Entry{
			{Key: "b", Line: 2, Column: 3, Value: &yamldoc.Node{Kind: yamldoc.Sequence, Line: 2, Column: 6, Items: []*yamldoc.Node{
				{Kind: yamldoc.Scalar, Value: "1", Tag: yamldoc.Int, Line: 2, Column: 7},
				{Kind: yamldoc.Scalar, Value: "x", Line: 2, Column: 10},
			}}},
			{Key: "c", Line: 3, Column: 3, Value: &yamldoc.Node{Kind: yamldoc.Scalar, Value: "text\n", Line: 3, Column: 8}},
		}}},
	}}
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := doc.At("a", "b").Items[1].Value; got != "x" {
		t.Errorf("At found %q", got)
	}
	if doc.At("a", "none", "deeper") != nil {
		t.Error("At found what isn't there")
	}
}

func TestParseReadsSeveralDocuments(t *testing.T) {
	t.Parallel()
	docs, report := yamldoc.Parse("", []byte("a: 1\n---\n# nothing\n---\nb: 2\n"))
	if len(docs) != 3 || report.Failed() {
		t.Fatalf("%d documents, %v", len(docs), findings(report))
	}
	if docs[1].Kind != yamldoc.Null || docs[2].Get("b").Line != 5 {
		t.Errorf("read %+v and %+v", docs[1], docs[2])
	}
	for _, empty := range []string{"", "\n\n", "# comment\n"} {
		if docs, report := yamldoc.Parse("", []byte(empty)); len(docs) != 0 || report.Failed() {
			t.Errorf("%q: %d documents, %v", empty, len(docs), findings(report))
		}
	}
}

func TestAliasesAndMergeKeysAreExpanded(t *testing.T) {
	t.Parallel()
	doc := parse(t, `
base: &base {a: 1, b: 2}
other: &other {b: 3, c: 4}
one: {<<: *base, b: 9}
many: {<<: [*base, *other]}
same: *base
`)
	got := doc.Any().(map[string]any)
	want := map[string]any{
		"base": map[string]any{"a": int64(1), "b": int64(2)}, "other": map[string]any{"b": int64(3), "c": int64(4)},
		"one":  map[string]any{"a": int64(1), "b": int64(9)},
		"many": map[string]any{"a": int64(1), "b": int64(2), "c": int64(4)},
		"same": map[string]any{"a": int64(1), "b": int64(2)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	tests := []struct{ name, text, want string }{
		{"a billion laughs", laughs, "more than 200000 values when its aliases are expanded"},
		{"laughs in many documents", strings.Repeat("a: &a ["+strings.Repeat("x, ", 1000)+"]\nb: ["+strings.Repeat("*a, ", 100)+"]\n---\n", 2), "more than 200000 values"},
		{"an anchor in itself", "a: &a\n  b: [*a]\n", `anchor "a" contains itself`},
		{"depth", strings.Repeat("[", 300) + strings.Repeat("]", 300), "nested more than 200 deep"},
		{"size", strings.Repeat("#", yamldoc.MaxBytes+1), "the limit is 3145728"},
		{"a mapping as a key", "{a: b}: c\n", "a key must be a text"},
		{"a binary file", "\x00\x01\x02", "not YAML"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			docs, report := yamldoc.Parse("", []byte(tt.text))
			if got := findings(report); len(docs) != 0 || len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("%d documents, %v; want one finding with %q", len(docs), got, tt.want)
			}
		})
	}
}

// The parser's own errors often name where something began, or no line.
func TestSyntaxErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"a list where a key should be", "a:\n  b: x\n- c\nd: 1\ne: 2\n", "3:1"},
		{"a tab", "a: 1\nb:\n\tc: 1\nd: 2\n", "3:2"},
		{"a list that isn't closed", "a: 1\nb: [1,\n 2\nc: 3\nd: 4\n", "4:1"},
		{"a list that isn't closed at the end", "a: 1\nb: [1,\n 2\n", "3:2"},
		{"a quote that isn't closed", "a: 1\nb: \"x\nc: 3\nd: 4\n", "2:1"},
		{"no such anchor", "a: 1\n  # comment\nb: *x\nc: 3\nd: 4\n", "3:1"},
		{"two colons", "a: 1\nb: c: d\ne: 3\n", "2:1"},
		{"a key without a value", "a: 1\nb\nc: 1\nd: 1\n", "2:1"},
		{"after a block text", "a: 1\nb: |\n x\n y\n- q\nr: 1\n", "5:1"},
		{"in the last line", "a:\n  b: x\n- c", "3:1"},
		{"in the first line", "a: %x\nb: 1\n", "1:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			docs, report := yamldoc.Parse("", []byte(tt.text))
			if got := findings(report); len(docs) != 0 || len(got) != 1 || !strings.HasPrefix(got[0], tt.want+" not YAML: ") {
				t.Errorf("%d documents, %v; want one at %s", len(docs), got, tt.want)
			}
		})
	}
}

func TestScalarsHaveKinds(t *testing.T) {
	t.Parallel()
	doc := parse(t, `[1, -7, 0x10, 0o17, 1_000, 1.5, 1e3, true, "true", "1", text, ~, null, "", 2026-01-02, 99999999999999999999, .inf]`)
	want := []any{int64(1), int64(-7), int64(16), int64(15), int64(1000), 1.5, 1000.0, true, "true", "1", "text", nil, nil, "", "2026-01-02", 1e20, ".inf"}
	if diff := cmp.Diff(want, doc.Any()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFromAnyIsTheReverseOfAny(t *testing.T) {
	t.Parallel()
	v := map[string]any{"a": []any{int64(1), 2.5, true, nil, "x", ""}, "b": map[string]any{}, "c": "1", "d": 3}
	n := yamldoc.FromAny(v, 7, 3)
	want := map[string]any{"a": []any{int64(1), 2.5, true, nil, "x", ""}, "b": map[string]any{}, "c": "1", "d": int64(3)}
	if diff := cmp.Diff(want, n.Any()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n.Get("a").Items[1].Line != 7 {
		t.Error("a value has lost the place that it was given")
	}
}

// FuzzParse: whatever the bytes, there is either a document or a finding with
// a place; and a document survives its JSON form.
func FuzzParse(f *testing.F) {
	f.Add([]byte("a: &a {b: [1, 2.5, true, ~, x]}\nc: {<<: *a}\n---\nd: |\n  text\n"))
	f.Add([]byte("a: [\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, report := yamldoc.Parse("f", data)
		for _, one := range report.Findings() {
			if one.Line < 1 || one.Column < 1 {
				t.Errorf("a finding without a place: %v", one)
			}
		}
		if report.Failed() && docs != nil {
			t.Error("a broken file gave documents")
		}
		for _, doc := range docs {
			encoded, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			back := &yamldoc.Node{}
			if err := json.Unmarshal(encoded, back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(doc.Any(), back.Any()); diff != "" {
				t.Errorf("JSON changed the document (-before +after):\n%s", diff)
			}
		}
	})
}
