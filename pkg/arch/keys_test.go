package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// decoders are the packages that say what may stand in documents, and read it
// into fields: a key is named there. The rest of a package may look ahead at the
// word that a mapping goes by.
func decoders() []string {
	return []string{
		"pkg/yamldoc", "pkg/document", "pkg/entity", "pkg/artifact", "pkg/connector/...", "pkg/filesource", "pkg/gitops/argo",
		"pkg/step/...", "pkg/swimlane/...", "pkg/provisioner/...",
	}
}

// keyReaders are the others that read documents by keys, each with how many it
// names. A number may become smaller only.
func keyReaders() map[string]int {
	return map[string]int{
		// What a path of an expression leads to, what a secret manager's template
		// brings, and names of secrets, which may stand anywhere.
		"pkg/resolve": 12,
		// Texts that are run, and what is put into them: of documents of any kind and
		// of templates, where a step's spec has no type yet, and once more with inputs
		// that are only in question. What names mean is asked of the typed pipeline.
		"pkg/lint": 17,
		// Of what a Deployment keeps: the documents of its service and of its
		// infrastructure as templates, inputs and overrides have made them, in which
		// expressions are resolved one at a time, when they are asked for.
		"pkg/plan": 25,
		// These change documents before anything is decoded, and put each part back
		// where it was: templates and inputs are spliced in, stages are left out.
		"pkg/input": 7, "pkg/template": 13, "pkg/launch": 16, "pkg/target": 4,
		// These find a document, or a place in its text, that may be wrong elsewhere:
		// which template a file holds, where a secret's value stands.
		"pkg/catalog": 10, "cmd/slipway": 21,
		// These read the parts of documents that the nodes of a plan keep. A strategy's
		// iterations are counted on save and in a plan alike.
		"pkg/engine": 6, "pkg/execution": 5, "pkg/extent": 11, "pkg/api": 2, "pkg/notify": 1,
		"cmd/checksamples": 1, "cmd/runsamples": 3, // samples of others
	}
}

// TestKeysAreNamedByDecoders: a document is decoded once, and what is decoded is
// what runs. Who reads it by a key again has a spelling of that key of its own,
// and finds nothing where it is wrong.
func TestKeysAreNamedByDecoders(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if within(p.path(), decoders()) || !slices.Contains(p.Imports, module+"/pkg/yamldoc") {
			continue
		}
		got := 0
		for _, file := range filesOf(t, p) {
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					got += keysRead(call)
				}
				return true
			})
		}
		if want := keyReaders()[p.path()]; got != want {
			t.Errorf("%s reads documents by %d keys; want %d, or the lower number if it is lower now", p.path(), got, want)
		}
	}
}

// keysRead counts the keys by which a call reads a document.
func keysRead(call *ast.CallExpr) int {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return 0
	}
	args := call.Args
	switch x := f.X.(type) {
	case *ast.Ident:
		if x.Name == "document" && (f.Sel.Name == "Peek" || f.Sel.Name == "Child") {
			return literals(args)
		}
	case *ast.SelectorExpr:
		if x.Sel.Name == "Header" {
			return 0
		}
	case *ast.CallExpr:
		if q, ok := x.Fun.(*ast.SelectorExpr); ok && (q.Sel.Name == "Query" || q.Sel.Name == "Header") {
			return 0
		}
	}
	if slices.Contains([]string{"Get", "At", "Text"}, f.Sel.Name) {
		return literals(args)
	}
	return 0
}

func literals(args []ast.Expr) int {
	n := 0
	for _, a := range args {
		if l, ok := a.(*ast.BasicLit); ok && l.Kind == token.STRING && !strings.Contains(l.Value, " ") {
			n++
		}
	}
	return n
}
