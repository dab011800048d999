package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// architecture is the page that has every package.
const architecture = "docs/architecture.md"

// sourcePages tell of the source by the names of files, functions and tests.
func sourcePages() []string { return []string{architecture, "CONTRIBUTING.md"} }

var (
	pathNamed    = regexp.MustCompile(`\b(?:pkg|delegate|cmd|functions|internal|infra|docs|events|examples|statemachines|tools)/[\w./*<>-]+`)
	placeholder  = regexp.MustCompile(`<\w+>`)
	namesOfFile  = regexp.MustCompile("`([\\w./-]+\\.go)`: ((?:`[\\w.]+`(?:, )?)+)")
	nameInCode   = regexp.MustCompile("`([a-z]+)\\.([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)?)(?:\\([^`]*)?`")
	testNamed    = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	testDeclared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	makeTarget   = regexp.MustCompile("`(?:[A-Z]+=\\S+ )*make ([a-z-]+)")
	targetOfMake = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// TestWhatSourcePagesNameExists: a page that tells of the source by names is
// read by who doesn't know it yet, and can't tell that one has gone.
func TestWhatSourcePagesNameExists(t *testing.T) {
	t.Parallel()
	byName, known := map[string][]goPackage{}, declarations{}
	for _, p := range packages(t) {
		byName[p.Name] = append(byName[p.Name], p)
	}
	tests, targets := namesOfTests(t), targetOfMake.FindAllStringSubmatch(page(t, "Makefile"), -1)
	for _, path := range sourcePages() {
		text := page(t, path)
		for _, name := range pathNamed.FindAllString(text, -1) {
			name = strings.TrimRight(strings.TrimSuffix(name, "/..."), "./")
			found, err := filepath.Glob(filepath.Join(root(), filepath.FromSlash(placeholder.ReplaceAllString(name, "*"))))
			if err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which isn't there (%v)", path, name, err)
			}
		}
		for _, m := range namesOfFile.FindAllStringSubmatch(text, -1) {
			names := known.of(t, filepath.Join(root(), filepath.FromSlash(m[1])))
			for name := range strings.SplitSeq(strings.ReplaceAll(m[2], "`", ""), ", ") {
				if name != "" && !names[name] {
					t.Errorf("%s names %s of %s, which hasn't it", path, name, m[1])
				}
			}
		}
		for _, m := range nameInCode.FindAllStringSubmatch(text, -1) {
			if all := byName[m[1]]; len(all) > 0 && !slices.Contains([]string{"go", "md", "json", "yaml", "sh"}, m[2]) && !known.any(t, all, m[2]) {
				t.Errorf("%s names %s.%s, and no package %s has it", path, m[1], m[2], m[1])
			}
		}
		for _, name := range testNamed.FindAllString(text, -1) {
			if !tests[name] {
				t.Errorf("%s names the test %s, which isn't there", path, name)
			}
		}
		for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(targets, func(target []string) bool { return target[1] == m[1] }) {
				t.Errorf("%s names make %s, which the Makefile hasn't", path, m[1])
			}
		}
	}
}

// declarations are the names that files declare, by their paths.
type declarations map[string]map[string]bool

// any says whether one of the packages declares a name.
func (d declarations) any(t *testing.T, all []goPackage, name string) bool {
	t.Helper()
	return slices.ContainsFunc(all, func(p goPackage) bool {
		return slices.ContainsFunc(p.GoFiles, func(file string) bool { return d.of(t, filepath.Join(p.Dir, file))[name] })
	})
}

// of are a file's.
func (d declarations) of(t *testing.T, path string) map[string]bool {
	t.Helper()
	if d[path] == nil {
		d[path] = declared(t, path)
	}
	return d[path]
}

// declared are the names that a file declares at its top level: methods,
// fields and methods of interfaces with their type before them.
func declared(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	names := map[string]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names[d.Name.Name] = true
			} else {
				names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				declare(names, s)
			}
		}
	}
	return names
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func declare(names map[string]bool, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names[n.Name] = true
		}
	case *ast.TypeSpec:
		names[s.Name.Name] = true
		var members *ast.FieldList
		switch t := s.Type.(type) {
		case *ast.StructType:
			members = t.Fields
		case *ast.InterfaceType:
			members = t.Methods
		default:
			return
		}
		for _, m := range members.List {
			for _, n := range m.Names {
				names[s.Name.Name+"."+n.Name] = true
			}
		}
	}
}

// namesOfTests are those of all tests, of other modules too.
func namesOfTests(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, path := range sources(t) {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testDeclared.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
	}
	return names
}

var (
	rowOfPackage = regexp.MustCompile("(?m)^\\| `([\\w./-]+)` \\| (.*) \\|$")
	citedThere   = regexp.MustCompile(` \(semantics/[^)]*\)`)
)

// TestPackagesAreListed: the table of packages has each of them, in the words
// of its own comment. Step types are many and alike: the folder stands for them.
func TestPackagesAreListed(t *testing.T) {
	t.Parallel()
	_, tables, found := strings.Cut(page(t, architecture), "\n## Packages\n")
	if !found {
		t.Fatalf("%s has no heading Packages", architecture)
	}
	rows := map[string]string{}
	for _, m := range rowOfPackage.FindAllStringSubmatch(tables, -1) {
		if _, twice := rows[m[1]]; twice {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = m[2]
	}
	for _, p := range packages(t) {
		if _, err := os.Stat(filepath.Join(p.Dir, "example.yaml")); err == nil || len(p.GoFiles) == 0 {
			continue // a step type; only tests
		}
		got, listed := rows[p.path()]
		if want := purpose(t, p); !listed || got != want {
			t.Errorf("%s should have this row:\n| `%s` | %s |", architecture, p.path(), want)
		}
		delete(rows, p.path())
	}
	for path := range rows {
		t.Errorf("%s has a row for %s, which is no package", architecture, path)
	}
}

// purpose is the first sentence of a package's comment, without the package's
// name and the sections that it cites.
func purpose(t *testing.T, p goPackage) string {
	t.Helper()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Error(err)
			continue
		}
		if file.Doc == nil {
			continue
		}
		words := strings.Fields(file.Doc.Text())[2:] // "Package x"
		for i, w := range words {
			if strings.HasSuffix(w, ".") && w != "e.g." {
				words = words[:i+1]
				break
			}
		}
		return strings.TrimSuffix(citedThere.ReplaceAllString(strings.Join(words, " "), ""), ".")
	}
	return ""
}
