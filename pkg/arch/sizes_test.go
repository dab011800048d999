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

// How much a reader has to know of a package and of a type.
const (
	maxNames   = 110 // that a package exports
	maxMethods = 60  // of a type
)

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
	fits(t, sizes, maxNames, "exported names")
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
				sum += methods(in)
			}
			return sum
		}
		for name := range embeds {
			sizes[p.path()+"."+name] = methods(name)
		}
	}
	fits(t, sizes, maxMethods, "methods")
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

// fits compares sizes with a limit.
func fits(t *testing.T, sizes map[string]int, limit int, what string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if got := sizes[name]; got > limit {
			t.Errorf("%s has %d %s; want %d at most", name, got, what, limit)
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
