package release

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/gitops/errand"
)

// What is set changes, and nothing else.
func TestEdited(t *testing.T) {
	t.Parallel()
	set := func(path, value string) []errand.Value { return []errand.Value{{Path: path, Value: value}} }
	number := func(path, value string) []errand.Value {
		return []errand.Value{{Path: path, Value: value, Number: true}}
	}
	tests := []struct {
		name, file, text string
		values           []errand.Value
		skip             bool
		want             string
	}{
		{"a plain value keeps its comment", "a.yaml", "a: 1 # one\nb: 2\n", set("a", "x"), false, "a: x # one\nb: 2\n"},
		{"a text that reads as a number is quoted", "a.yaml", "a: x\n", set("a", "1.0"), false, "a: \"1.0\"\n"},
		{"a text that reads as a truth is quoted", "a.yaml", "a: x\n", set("a", "yes"), false, "a: \"yes\"\n"},
		{"a number stays one", "a.yaml", "a: 1\n", number("a", "2"), false, "a: 2\n"},
		{"quotes stay", "a.yaml", "a: 'x' # y\nb: \"z\"\n", append(set("a", "it's"), set("b", "say \"w\"")...), false, "a: 'it''s' # y\nb: \"say \\\"w\\\"\"\n"},
		{"nested in a list", "a.yaml", "a:\n- b: x\n- b: y\nc: z\n", set("a[1].b", "w"), false, "a:\n- b: x\n- b: w\nc: z\n"},
		{"a new key at the end of its mapping", "a.yaml", "a:\n  b: x # c\n\nd: y\n", set("a.e", "z"), false, "a:\n  b: x # c\n  e: z\n\nd: y\n"},
		{"new keys in each other", "a.yaml", "a:\n  - b\n", set("c.d.e", "z"), false, "a:\n  - b\nc:\n  d:\n    e: z\n"},
		{"a new key after a list at its own depth", "a.yaml", "x:\n  a:\n  - b\ny: 1\n", set("x.c", "z"), false, "x:\n  a:\n  - b\n  c: z\ny: 1\n"},
		{"a new key after a text of several lines", "a.yaml", "a: |\n  one\n\n  two\n", set("b", "z"), false, "a: |\n  one\n\n  two\nb: z\n"},
		{"a dot in a key", "a.yaml", "a.b: x\n", set(`a\.b`, "y"), false, "a.b: \"y\"\n"},
		{"the first document that has it", "a.yaml", "a: 1\n---\nb: x\n", set("b", "y"), false, "a: 1\n---\nb: \"y\"\n"},
		{"else the first", "a.yaml", "a: 1\n---\nb: x\n", set("c", "y"), false, "a: 1\nc: \"y\"\n---\nb: x\n"},
		{"in braces", "a.yaml", "a: {b: x, c: y}\n", set("a.b", "z"), false, "a: {b: z, c: y}\n"},
		{"a text that would end braces", "a.yaml", "a: {b: x}\n", set("a.b", "y, c: z"), false, "a: {b: \"y, c: z\"}\n"},
		{"a new file", "a.yaml", "", append(set("a.b", "x"), number("a.c", "1")...), false, "a:\n  b: x\n  c: 1\n"},
		{"JSON keeps its form", "a.json", "{\n    \"a\": {\"b\": \"x\"},\n    \"c\": 1\n}\n", append(set("a.b", "y"), number("c", "2")...), false, "{\n    \"a\": {\"b\": \"y\"},\n    \"c\": 2\n}\n"},
		{"a new key in JSON", "a.json", "{\n    \"a\": 1\n}\n", set("b", "y"), false, "{\n    \"a\": 1,\n    \"b\": \"y\"\n}\n"},
		{"a new file of JSON", "a.json", "", set("a.b", "y"), false, "{\n  \"a\": {\n    \"b\": \"y\"\n  }\n}\n"},
		{"a text in place of a text of several lines", "a.yaml", "a: |\n  one\n  two\nb: x\n", set("a", "z"), false, "a: z\nb: x\n"},
		{"an item that isn't there", "a.yaml", "a: [x, y]\n", set("a[5]", "z"), false, "! a.yaml: a[5]: item 5: the list has no such item"},
		{"it is passed by", "a.yaml", "a: [x, y]\nb: w\n", append(set("a[5]", "z"), set("b", "v")...), true, "a: [x, y]\nb: v\n"},
		{"a mapping in its place", "a.yaml", "a: {b: x}\n", set("a", "z"), false, "! a.yaml: a: found a mapping there; want a single value"},
		{"a value where a key would be", "a.yaml", "a: x\n", set("a.b", "z"), false, "! a.yaml: a.b: found a single value where \"b\" would be a key"},
		{"an alias", "a.yaml", "a: &x {c: d}\nb: *x\n", set("b.c", "z"), false, "! a.yaml: b.c: it leads through the alias *x, whose anchor others have, too"},
		{"no YAML", "a.yaml", "a: [\n", set("b", "z"), false, "! a.yaml: b: it can't be read: yaml: line 1: did not find expected node content"},
		{"another kind of file", "a.toml", "", set("b", "z"), false, "! a.toml is neither YAML nor JSON by its name; want .yaml, .yml or .json"},
		{"no place", "a.yaml", "a: 1\n", set("a..b", "z"), false, `! "a..b" is no place in a file; want one such as image.tag or containers[0].image`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := edited(tt.file, []byte(tt.text), tt.values, tt.skip)
			text := string(got)
			if err != nil {
				text = "! " + err.Error()
			}
			if diff := cmp.Diff(tt.want, text); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
