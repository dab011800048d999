package schema_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// refusals are what the decoders refuse by their source: texts, in which …
// stands for what the document says, and words by what they are words of.
type refusals struct {
	texts []string
	words map[string][]string
	lists map[string][]string // the words that a function without arguments gives
}

// refusedByCode reads the decoders' source.
func refusedByCode() (refusals, error) {
	r := refusals{words: map[string][]string{}, lists: map[string][]string{}}
	var files []*ast.File
	for _, pattern := range []string{"../entity/*.go", "../artifact/*.go", "../connector/*.go", "../connector/*/*.go", "../template/*.go", "../provisioner/*/*.go", "../step/*/*.go", "../swimlane/*/*.go"} {
		names, _ := filepath.Glob(filepath.FromSlash(pattern)) // the pattern is well-formed
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return r, err
			}
			files = append(files, file)
		}
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				r.lists[f.Name.Name] = literals(f.Body)
			}
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				r.call(call)
			}
			return true
		})
	}
	slices.Sort(r.texts)
	r.texts = slices.Compact(r.texts)
	return r, nil
}

// call notes what a call refuses.
func (r *refusals) call(call *ast.CallExpr) {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	switch name := fun.Sel.Name; {
	case name == "Refuse" && len(call.Args) == 1:
		r.text(text(call.Args[0]) + " yet")
	case name == "Never" && len(call.Args) == 1:
		r.text(text(call.Args[0]))
	case name == "Without" && len(call.Args) == 4:
		r.text(text(call.Args[3]))
	case name == "Unsupported" && len(call.Args) > 1:
		r.text(text(call.Args[1]))
	case name == "Supported" && len(call.Args) > 3:
		what := text(call.Args[1])
		for _, arg := range call.Args[3:] {
			r.words[what] = append(r.words[what], literals(arg)...)
			if list, ok := arg.(*ast.CallExpr); ok {
				if f, ok := list.Fun.(*ast.Ident); ok {
					r.words[what] = append(r.words[what], r.lists[f.Name]...)
				}
			}
		}
	}
}

func (r *refusals) text(text string) {
	if strings.Trim(text, "… :;") != "" && text != "… yet" {
		r.texts = append(r.texts, text)
	}
}

var verb = regexp.MustCompile(`%(\[\d\])?[a-z]`)

// text is an expression's text; … stands for what isn't a literal.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return verb.ReplaceAllString(s, "…")
		}
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	}
	return "…"
}

// literals are the words that stand in a part of the source.
func literals(n ast.Node) []string {
	var out []string
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			out = append(out, text(lit))
		}
		return true
	})
	return out
}

// told says whether a page has a text.
func told(page, text string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(text), "…", ".*")
	return regexp.MustCompile(pattern).MatchString(page)
}

// lacks gives the texts and the words that a page hasn't, as lines of it.
func (r *refusals) lacks(page string) []string {
	var out []string
	for _, text := range r.texts {
		if !told(page, text) {
			out = append(out, text)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(r.words)) {
		var words []string
		for _, word := range sorted(r.words[what]) {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(page) {
				words = append(words, word)
			}
		}
		if len(words) > 0 {
			out = append(out, fmt.Sprintf("%s %s isn't supported yet", what, strings.Join(words, ", ")))
		}
	}
	return out
}

// TestEveryRefusalIsOnThePage: what the source of the decoders refuses stands
// in docs/compatibility.md.
func TestEveryRefusalIsOnThePage(t *testing.T) {
	t.Parallel()
	r, err := refusedByCode()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.texts) < 50 || len(r.words) < 10 { // or the source is written in another way
		t.Errorf("found %d texts and %d sorts of words; want more", len(r.texts), len(r.words))
	}
	for _, line := range r.lacks(page(t)) {
		t.Errorf("docs/compatibility.md hasn't %q; go generate ./pkg/schema writes it anew", line)
	}
	for _, known := range []string{"pollInterval", "KeyPath", "MultiRegionArtifact", "templateVariables", "GithubApp"} {
		if !strings.Contains(page(t), known) {
			t.Errorf("docs/compatibility.md hasn't %s", known)
		}
	}
}
