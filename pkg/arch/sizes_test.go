package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// How much a reader has to know of a package and of a type. What has more is
// listed with what it has.
const (
	maxNames   = 110 // that a package exports
	maxMethods = 60  // of a type
)

// slack is how much what is listed may be smaller than the list says.
const slack = 10

// manyMethods are the types that have more.
func manyMethods() map[string]int {
	return map[string]int{
		// Names lead to texts, and texts to names. What needs no text resolved is in
		// its record, documents, outputs and started.
		"pkg/resolve.Scope": 117,
	}
}

// TestPackagesHaveFewNames: a package that everybody edits and everybody imports
// is one that nobody knows.
func TestPackagesHaveFewNames(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{}
	for _, p := range packages(t) {
		for _, file := range filesOf(t, p) {
			for _, d := range file.Decls {
				sizes[p.path()] += exported(d)
			}
		}
	}
	fits(t, sizes, maxNames, nil, "exported names")
}

// TestTypesHaveFewMethods: a type whose methods share all of its fields is as
// hard to follow as a program of global variables. What it embeds of its own
// package counts: methods that are moved there are still its own.
func TestTypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{}
	for _, p := range packages(t) {
		own, embeds := map[string]int{}, map[string][]string{}
		for _, file := range filesOf(t, p) {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
					own[receiver(f.Recv.List[0].Type)]++
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSpec); ok {
					embeds[s.Name.Name] = embedded(s.Type)
				}
				return true
			})
		}
		var methods func(name string) int
		methods = func(name string) int {
			sum := own[name]
			for _, in := range embeds[name] {
				if manyMethods()[p.path()+"."+in] == 0 { // else its own row says that it has too many
					sum += methods(in)
				}
			}
			return sum
		}
		for name := range embeds {
			sizes[p.path()+"."+name] = methods(name)
		}
	}
	fits(t, sizes, maxMethods, manyMethods(), "methods")
}

// embedded are the types of its own package that a struct embeds.
func embedded(typ ast.Expr) []string {
	s, ok := typ.(*ast.StructType)
	if !ok {
		return nil
	}
	var names []string
	for _, f := range s.Fields.List {
		if len(f.Names) > 0 {
			continue
		}
		in := f.Type
		if pointer, ok := in.(*ast.StarExpr); ok {
			in = pointer.X
		}
		if name, ok := in.(*ast.Ident); ok {
			names = append(names, name.Name)
		}
	}
	return names
}

// fits compares sizes with a limit, and with what is listed of those beyond it.
func fits(t *testing.T, sizes map[string]int, limit int, listed map[string]int, what string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		got, bound := sizes[name], limit
		if known, ok := listed[name]; ok {
			bound = known
		}
		if got > bound {
			t.Errorf("%s has %d %s; want %d at most", name, got, what, bound)
		}
	}
	for name, bound := range listed {
		switch got := sizes[name]; {
		case got <= limit:
			t.Errorf("%s has %d %s; it needn't be listed any more", name, got, what)
		case got < bound-slack:
			t.Errorf("%s has %d %s; the list should say that, not %d", name, got, what, bound)
		}
	}
}

// exported counts the exported names of a declaration, methods aside.
func exported(d ast.Decl) int {
	n := 0
	count := func(name *ast.Ident) {
		if name.IsExported() {
			n++
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				count(s.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					count(name)
				}
			}
		}
	}
	return n
}

// filesOf are a package's files, without its tests.
func filesOf(t *testing.T, p goPackage) map[string]*ast.File {
	t.Helper()
	out := map[string]*ast.File{}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		out[name] = file
	}
	return out
}
