package input_test

import (
	"slices"
	"testing"

	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// FuzzMerge: no two documents break the merge, findings have places, merging
// what was filled in gives it again, and the form says nothing by itself.
func FuzzMerge(f *testing.F) {
	f.Add(doc, doc)
	f.Add(doc, "variables: [{name: image, value: x}]\nstages: [{stage: {identifier: s, spec: {environment: {environmentRef: e}}}}]")
	f.Add("v: [a, <+input>, {parallel: [<+input>.default(x)]}]", "v: [1, [2], {parallel: null}]")
	f.Add("{a: <+input>, a: <+input>.default(x), b: {c: <+input>.regex(x)}}", "{a: {b: <+input>}, b: [1]}")
	f.Add("- stage: {identifier: a, v: <+input>}\n- stage: {identifier: a, v: <+input>}", "- stage: {identifier: a, v: 1}\n- parallel: [{stage: {identifier: a, v: 2}}]")
	f.Add("stages:\n  - 0:000000:\n          identifier: <+input>.default(0)", "stages:")
	f.Add("v: [{identifier: <+input>}, {identifier: b, w: <+input>}]", "v: [{identifier: a}, {identifier: b, w: 1}]")
	f.Fuzz(func(t *testing.T, text, set string) {
		n, s := first(text), first(set)
		if n == nil || s == nil {
			return
		}
		m := input.Merge(n, nil, input.Source{Doc: s.From("set")})
		for _, d := range append(m.Wrong, m.Missing...) {
			if d.Line < 1 || d.Column < 1 || d.Message == "" || d.Code == "" {
				t.Errorf("a finding without a place: %+v", d)
			}
		}
		if m.Err() == nil && keysOnce(n) {
			again := input.Merge(n, nil, input.Source{Doc: m.Inputs})
			if a, b := yamldoc.Format(m.Doc, nil), yamldoc.Format(again.Doc, nil); again.Err() != nil || string(a) != string(b) {
				t.Errorf("merging the same inputs again: %v\n%s\n%s", again.Err(), a, b)
			}
		}
		if form := input.Form("pipeline", n); form != nil {
			_ = input.Merge(n, nil, input.Source{Doc: first(string(form)).Get("pipeline")})
		}
	})
}

func first(text string) *yamldoc.Node {
	docs, report := yamldoc.Parse("", []byte(text))
	if report.Failed() || len(docs) == 0 {
		return nil
	}
	return docs[0]
}

// keysOnce says whether no mapping has a key twice: of such a document, which
// nobody can save, only the first is told apart.
func keysOnce(n *yamldoc.Node) bool {
	if n == nil {
		return true
	}
	seen := map[string]bool{}
	for _, e := range n.Entries {
		if seen[e.Key] || !keysOnce(e.Value) {
			return false
		}
		seen[e.Key] = true
	}
	return !slices.ContainsFunc(n.Items, func(i *yamldoc.Node) bool { return !keysOnce(i) })
}
