package action_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/ref"
)

//go:generate go test -run "Numbers|Page" -update .

var update = flag.Bool("update", false, "write the table of numbers and docs/permissions.md anew")

// TestNumbers: a permission keeps its number for good, because sets that are
// stored have numbers. The file may only grow.
func TestNumbers(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	numbers, names := map[uint8]bool{0: true}, map[string]bool{}
	for _, p := range action.Permissions() {
		fmt.Fprintf(&b, "%d %s\n", p.Number, p.Name)
		if numbers[p.Number] || names[p.Name] {
			t.Errorf("%d %s is there twice", p.Number, p.Name)
		}
		numbers[p.Number], names[p.Name] = true, true
	}
	const file = "testdata/numbers.txt"
	kept, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), string(kept)) {
		t.Fatalf("a number has changed (-kept +now):\n%s", cmp.Diff(string(kept), b.String()))
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if b.String() != string(kept) {
		t.Error("there are new permissions: run go generate ./pkg/access/action")
	}
}

// TestPage: docs/permissions.md has the tables of the catalogue below what
// people wrote.
func TestPage(t *testing.T) {
	t.Parallel()
	const file, mark = "../../../docs/permissions.md", "<!-- From here on it is generated: go generate ./pkg/access/action -->\n\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	above, below, found := strings.Cut(string(page), mark)
	if !found {
		t.Fatalf("%s has no line %q", file, mark)
	}
	if *update {
		below = action.Page()
		if err := os.WriteFile(file, []byte(above+mark+below), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(action.Page(), below); diff != "" {
		t.Errorf("run go generate ./pkg/access/action (-catalogue +page):\n%s", diff)
	}
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	seen := map[action.Action]bool{}
	for _, e := range action.Catalogue() {
		if seen[e.Action] || e.Doc == "" {
			t.Errorf("%s is there twice, or says nothing", e.Action)
		}
		seen[e.Action] = true
		if got := action.Find(action.Catalogue(), e.Action); got.Doc != e.Doc {
			t.Errorf("found %+v for %s", got, e.Action)
		}
	}
	for _, kind := range ref.Kinds() {
		for _, do := range []action.Action{action.EntityView, action.EntitySave, action.EntityDelete} {
			if len(action.Find(action.Catalogue(), do).Takes(action.TypeOf(kind))) == 0 {
				t.Errorf("%s of a %s takes no permission", do, kind)
			}
		}
	}
	if e := action.Find(action.Catalogue(), "robot.dance"); len(e.Any) != 1 || action.Every().Has(e.Any[0]) {
		t.Errorf("an unknown action takes %+v, which everybody has", e.Any)
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	all := action.Permissions()
	var s action.Set
	s.Add(all[0], all[70], all[len(all)-1], all[0])
	for i, p := range all {
		if want := i == 0 || i == 70 || i == len(all)-1; s.Has(p) != want {
			t.Errorf("the set has %s: %v", p.Name, !want)
		}
		if !action.Every().Has(p) {
			t.Errorf("not every permission is %s", p.Name)
		}
	}
	if s.Len() != 3 {
		t.Errorf("the set has %d", s.Len())
	}
}
