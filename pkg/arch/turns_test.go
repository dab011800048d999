package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// light are the calls of the API's handlers that take no turn, with the reason.
// All others of the services that read documents, make plans or look at whole
// executions do.
func light() map[string]string {
	const own = "a delegate asks for its own tasks"
	return map[string]string{
		"Catalog.StableTemplates":      "a page of a list",
		"Executions.Abort":             "it makes less work, and comes when there is too much",
		"Executions.ForgetProvisioner": "a few dozen records",
		"Executions.Pause":             "one record",
		"Executions.Probe":             "four records",
		"Executions.Provisioner":       "a dozen records",
		"Executions.ReadLink":          "two records",
		"Executions.Versions":          "two records",
		"Files.Delete":                 "it reads no file",
		"Tasks.Work":                   own,
		"Triggers.Account":             "a name",
		"Triggers.News":                "few executions begin, as with a delivery",
		"Triggers.PollToken":           "three records",

		"Tasks.AppendLog":      own,
		"Tasks.Checkpoints":    own,
		"Tasks.ClaimTasks":     own,
		"Tasks.CompleteTask":   own,
		"Tasks.FreshToken":     own,
		"Tasks.Goodbye":        own,
		"Tasks.Heartbeat":      own,
		"Executions.Watch":     "reads nothing yet; each look takes a turn",
		"Tasks.KeepCheckpoint": own,
		"Tasks.KeepProvision":  own,
		"Tasks.Provisions":     own,
		"Tasks.ReadFiles":      own,
		"Tasks.ReleaseTask":    own,
		"Tasks.ResolveTexts":   own,
		"Triggers.Polls":       own,
	}
}

// TestHeavyRequestsTakeTurns: an endpoint of pkg/api that has a service do
// something takes its project's turn for it, by inTurn or by itself, and takes
// it once: one that took it twice would wait for itself.
func TestHeavyRequestsTakeTurns(t *testing.T) {
	t.Parallel()
	h := handlers{light: light(), used: map[string]bool{}, funcs: map[string]*ast.FuncDecl{}}
	var endpoints []*ast.CallExpr
	paths, err := filepath.Glob(filepath.Join(root(), "pkg", "api", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				h.funcs[nameOf(n)] = n
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "handle" || f.Name == "exempt") {
					endpoints = append(endpoints, n)
				}
			}
			return true
		})
	}
	turns := 0
	for _, e := range endpoints {
		handler, inTurn := e.Args[3], false
		if wrapped, ok := handler.(*ast.CallExpr); ok {
			handler, inTurn = wrapped.Args[1], true
			turns++
		}
		h.heavy, h.enters, h.seen = nil, false, map[string]bool{}
		h.follow(handler)
		switch at := files.Position(e.Pos()); {
		case inTurn && h.enters:
			t.Errorf("%s: the endpoint takes its turn twice", at)
		case inTurn && len(h.heavy) == 0:
			t.Errorf("%s: the endpoint takes a turn and calls nothing that needs one", at)
		case !inTurn && len(h.heavy) > 0:
			t.Errorf("%s: the endpoint calls %s; register it with inTurn, or tell in light() why that takes little", at, strings.Join(h.heavy, " and "))
		}
	}
	if len(endpoints) < 50 || turns < 20 {
		t.Errorf("%d endpoints were looked at, %d of them in turn", len(endpoints), turns)
	}
	for call := range h.light {
		if !h.used[call] {
			t.Errorf("no endpoint calls %s", call)
		}
	}
}

// handlers follows what a handler calls.
type handlers struct {
	light map[string]string
	used  map[string]bool // of light
	funcs map[string]*ast.FuncDecl

	heavy  []string        // what the handler calls outside of a turn that it takes itself
	enters bool            // it takes one itself
	seen   map[string]bool // of funcs
}

// nameOf is a function's name as handlers call it, e.g. s.tree for a method of
// the server or of a part of it; empty for the methods of other types.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	if of, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
		if name, ok := of.X.(*ast.Ident); ok && slices.Contains([]string{"Server", "station", "documents", "steering", "directories"}, name.Name) {
			return "s." + f.Name.Name
		}
	}
	return ""
}

// follow looks at an expression or a body, and at the functions and the
// server's methods that it names. What is called where a turn is taken, and
// further in, is in it.
func (h *handlers) follow(n ast.Node) {
	if takesTurn(n) {
		h.enters = true
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if call := ofService(n); call != "" {
				h.used[call] = true
				if h.light[call] == "" {
					h.heavy = append(h.heavy, call)
				}
			}
			if of, ok := n.X.(*ast.SelectorExpr); ok && slices.Contains([]string{"station", "saved", "steering"}, of.Sel.Name) {
				h.into("s." + n.Sel.Name)
			}
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "s" {
				h.into("s." + n.Sel.Name)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok {
				h.into(f.Name)
			}
		}
		return true
	})
}

func (h *handlers) into(name string) {
	f := h.funcs[name]
	if f == nil || f.Body == nil || h.seen[name] {
		return
	}
	h.seen[name] = true
	h.follow(f.Body)
}

// takesTurn says whether a body itself enters a server's Work.
func takesTurn(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "enter" {
			of, ok := s.X.(*ast.SelectorExpr)
			found = found || ok && of.Sel.Name == "Work"
		}
		return !found
	})
	return found
}

// ofService is what of a service is called, e.g. Catalog.Save; empty for all else.
func ofService(s *ast.SelectorExpr) string {
	of, ok := s.X.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch of.Sel.Name {
	case "Catalog", "Executions", "Files", "Launch", "People", "Tasks", "Triggers":
		return of.Sel.Name + "." + s.Sel.Name
	}
	return ""
}
