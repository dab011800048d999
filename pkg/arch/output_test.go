package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWhatAProgramPrintsIsOneStream: the output of CombinedOutput is shown to
// people and compared with nothing. Beside what a program prints it has what
// the program, and the go command that may have to download it, only say: a
// machine that has never built this says more.
func TestWhatAProgramPrintsIsOneStream(t *testing.T) {
	t.Parallel()
	found := 0
	for _, path := range sources(t) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, body := range bodies(file) {
			for _, o := range combined(body) {
				found++
				if used := o.used(); used.IsValid() {
					t.Errorf("%s: what CombinedOutput gives at line %d is used; take Output, and give cmd.Stderr a place of its own", files.Position(used), files.Position(o.at).Line)
				}
			}
		}
	}
	if found == 0 {
		t.Error("nothing was looked at")
	}
}

// sources are the repository's Go files, tests and other modules too.
func sources(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains([]string{"node_modules", ".git", "bin", "cdk.out"}, d.Name()) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bodies are those of all functions, with or without a name.
func bodies(file *ast.File) []*ast.BlockStmt {
	var out []*ast.BlockStmt
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			out = append(out, n.Body)
		case *ast.FuncLit:
			out = append(out, n.Body)
		}
		return true
	})
	return slices.DeleteFunc(out, func(b *ast.BlockStmt) bool { return b == nil })
}

// output is a variable that has what CombinedOutput gives.
type output struct {
	name  string
	at    token.Pos
	scope ast.Node // where it may be used
}

// combined finds the outputs of a body, without those of functions in it.
func combined(body *ast.BlockStmt) []output {
	var out []output
	seen := map[token.Pos]bool{}
	add := func(s ast.Stmt, scope ast.Node) {
		a, ok := s.(*ast.AssignStmt)
		if !ok || len(a.Rhs) != 1 || !calls(a.Rhs[0], "CombinedOutput") || seen[a.Pos()] {
			return
		}
		seen[a.Pos()] = true
		if id, ok := a.Lhs[0].(*ast.Ident); ok {
			out = append(out, output{id.Name, id.Pos(), scope})
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			add(n.Init, n)
		case *ast.AssignStmt:
			add(n, body)
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return out
}

// used is where an output is used for anything but a message.
func (o output) used() token.Pos {
	var found token.Pos
	ast.Inspect(o.scope, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !calls(n, "Fatal", "Fatalf", "Error", "Errorf", "Skip", "Log", "Logf", "New")
		case *ast.AssignStmt:
			if len(n.Rhs) == 1 && calls(n.Rhs[0], "CombinedOutput") {
				return false
			}
		case *ast.Ident:
			if n.Name == o.name {
				found = n.Pos()
			}
		}
		return true
	})
	return found
}

// calls says whether an expression is the call of a method or function of
// another package with one of these names.
func calls(e ast.Expr, names ...string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains(names, f.Sel.Name)
}
