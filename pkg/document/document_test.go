package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// place is what the documents of these tests hold.
type place struct {
	Kind, Region, Condition, Fixed yamldoc.Field[string]
	Count                          yamldoc.Field[int]
	Public                         yamldoc.Field[bool]
	Names                          []string
	Spec                           *yamldoc.Node
}

func decode(d *document.Decoder, v yamldoc.Value) place {
	var p place
	d.Fields(v, document.Merge(document.Keys{
		"type":   d.Supported(&p.Kind, "place type", []string{"Here", "There"}, "Elsewhere"),
		"region": d.Text(&p.Region),
		"when":   d.Condition(&p.Condition),
		"count":  d.Count(&p.Count),
		"public": d.Decided(&p.Public),
		"spec":   d.Node(&p.Spec),
		"note":   document.Nothing,
	}, document.Keys{
		"names": func(v yamldoc.Value) {
			seen := document.Seen{}
			for item := range d.Items(v) {
				name := d.String(item).Value
				d.Unique(seen, item, name)
				p.Names = append(p.Names, name)
			}
		},
		"selectors": d.Words(nil),
		"regions":   d.Refuse("several regions aren't supported"),
		"zone":      d.Never("zones are the region's"),
		"owner":     d.Idle("nobody owns a place", d.Text(nil)),
		"fixed":     d.PlainText(&p.Fixed, "a name"),
		"settled":   func(v yamldoc.Value) { d.Settled(v, d.String(v).Expr, "a name") },
		"size": func(v yamldoc.Value) {
			d.Without(v, "huge", d.Enum(v, "small", "huge").Value == "huge", "nobody has so much room")
		},
		"depth":   d.Forbid(document.Ambiguous, "There alone has depth"),
		"country": d.Elsewhere("MISPLACED", "it is the region's"),
		"filled":  func(v yamldoc.Value) { d.Filled(v, "EMPTY", "found no %s", "doors") },
		"blank": func(v yamldoc.Value) {
			if !d.Blank(v) {
				d.Words(nil)(v)
			}
		},
		"sides": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"left": d.Text(nil), "right": d.Text(nil)})
			d.NeedUnlessEmpty(v, "left", "right")
		},
	}))
	d.Need(v, "type")
	return p
}

func TestFindings(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, doc, want string }{
		{"all is well", "{type: Here, region: eu, count: 3, public: true, names: [a, b], selectors: [x], spec: {any: thing}, note: [1]}", ""},
		{"a key is missing", "{region: eu}", `1:1 key "type" is missing [MISSING_KEY]`},
		{"nothing but a text", "no", `1:1 found "no"; want a mapping [WRONG_TYPE]`},
		{"unknown, near", "{type: Here, regoin: eu}", `1:14 regoin: warning: unknown key "regoin"; did you mean "region"? [UNKNOWN_KEY]`},
		{"what would be refused is no proposal",
			"{type: Here, zones: [a]}", `1:14 zones: warning: unknown key "zones" [UNKNOWN_KEY]`},
		{"a word that is refused, with why", "{type: Elsewhere}", `1:2 type: place type Elsewhere isn't supported yet: it is far; want one of Here, There [UNSUPPORTED]`},
		{"a refused word in other letters", "{type: elsewhere}", `1:8 type: found "elsewhere"; want one of Here, There; Elsewhere isn't supported [WRONG_VALUE]`},
		{"a word that decides is no expression", "{type: <+stage.name>}", `1:8 type: found an expression; want one of Here, There [WRONG_VALUE]`},
		{"a refused key", "{type: Here, regions: [a]}", `1:14 regions: several regions aren't supported yet [UNSUPPORTED]`},
		{"a refused key that says nothing", "{type: Here, regions: [], zone: ''}", ""},
		{"a key without effect", "{type: Here, owner: me}", `1:14 owner: warning: owner has no effect here: nobody owns a place [NO_EFFECT]`},
		{"a negative count", "{type: Here, count: -1}", `1:21 count: found -1; want a number from 0 on [WRONG_VALUE]`},
		{"known before anything runs", "{type: Here, public: <+stage.name>}",
			`1:14 public: found an expression; here only a fixed value or <+input> is supported yet [UNSUPPORTED]`},
		{"a value that only is checked", "{type: Here, selectors: x}", `1:25 selectors: found "x"; want a list [WRONG_TYPE]`},
		{"twice, and empty", "{type: Here, names: [a, null, a]}",
			`1:25 names[1]: found an item that is empty [WRONG_TYPE]; 1:31 names[2]: "a" stands twice; the first is in line 1 [DUPLICATE_IDENTIFIER]`},
		{"an expression for a whole list", "{type: Here, names: <+stage.names>}",
			`1:14 names: an expression for the whole of "names" isn't supported yet; write out its keys or items [UNSUPPORTED]`},
		{"an expression where none may stand", "{type: Here, fixed: <+stage.name>}", `1:21 fixed: found an expression; want a name [WRONG_VALUE]`},
		{"an expression where an input may stand", "{type: Here, settled: <+stage.name>}", `1:23 settled: found an expression; want a name [WRONG_VALUE]`},
		{"an input where one may stand", "{type: Here, settled: <+input>}", ""},
		{"a word of several that is refused", "{type: Here, size: huge}", `1:14 size: nobody has so much room [UNSUPPORTED]`},
		{"a key that goes with another word", "{type: Here, depth: 1}", `1:21 depth: There alone has depth [AMBIGUOUS]`},
		{"a key that belongs elsewhere", "{type: Here, country: x}", `1:23 country: it is the region's [MISPLACED]`},
		{"a list without items", "{type: Here, filled: []}", `1:22 filled: found no doors [EMPTY]`},
		{"what is blank is as good as none", "{type: Here, blank: {}}", ""},
		{"what may be empty lacks nothing", "{type: Here, sides: {}}", ""},
		{"but what is begun does", "{type: Here, sides: {left: a}}", `1:21 sides: key "right" is missing [MISSING_KEY]`},
		{"an input for a whole list", "{type: Here, names: <+input>}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			docs, r := yamldoc.Parse("", []byte(tt.doc))
			d := document.New(r)
			d.Why = func(what, word string) string {
				if what == "place type" && word == "Elsewhere" {
					return "it is far"
				}
				return ""
			}
			decode(d, yamldoc.Sub(docs[0], ""))
			var got []string
			for _, f := range r.Findings() {
				got = append(got, fmt.Sprint(f))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFieldsAreFilled(t *testing.T) {
	t.Parallel()
	docs, r := yamldoc.Parse("", []byte("{type: There, region: <+env.name>, when: a == b, count: 2, public: true, names: [a], spec: {k: v}}"))
	p := decode(document.New(r), yamldoc.Sub(docs[0], ""))
	if r.Failed() {
		t.Fatal(r.Err())
	}
	got := fmt.Sprint(p.Kind.Value, p.Region.Expr, p.Condition.Expr, p.Count.Value, p.Public.Value, p.Names, p.Spec.Get("k").Value)
	if want := "There<+env.name>a == b2 true [a] v"; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got %s; want %s", got, want)
	}
}

func TestNeutral(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]bool{
		"null": true, "''": true, "false": true, "False": true, "[]": true, "{}": true, "{a: {b: ''}}": true,
		"0": false, "no": false, "[null]": false, "{a: x}": false,
	} {
		docs, _ := yamldoc.Parse("", []byte("k: "+doc))
		if got := document.Neutral(docs[0].Get("k")); got != want {
			t.Errorf("%s: got %v; want %v", doc, got, want)
		}
	}
}
