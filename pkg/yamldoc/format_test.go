package yamldoc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestFormatReadsAsTheSame(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a: 1\n", "a: \"1\"\n", "a: \"true\"\n", "a: 1.10\n", "a: null\n", "a: \"\"\n", "a: {}\n", "a: []\n",
		"script: |\n  echo a\n  echo b\n", "a: \" leading\"\n", "a: 0x10\n", "- a\n- - b\n", "\"yes\": no\n", "a: '<+input>.default(a: b #c)'\n",
		"a: \"tab\\tend\\n \"\n", "2: x\n",
	} {
		docs, report := yamldoc.Parse("", []byte(text))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		out := yamldoc.Format(docs[0], nil)
		again, report := yamldoc.Parse("", out)
		if err := report.Err(); err != nil {
			t.Fatalf("%s\n%s", err, out)
		}
		if diff := cmp.Diff(placeless(docs[0]), placeless(again[0])); diff != "" {
			t.Errorf("%q became %q (-want +got):\n%s", text, out, diff)
		}
	}
}

func placeless(n *yamldoc.Node) *yamldoc.Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Line, c.Column, c.Entries, c.Items = 0, 0, nil, nil
	for _, e := range n.Entries {
		c.Entries = append(c.Entries, yamldoc.Entry{Key: e.Key, Value: placeless(e.Value)})
	}
	for _, item := range n.Items {
		c.Items = append(c.Items, placeless(item))
	}
	return &c
}

func TestFormatComments(t *testing.T) {
	t.Parallel()
	docs, _ := yamldoc.Parse("", []byte("a:\n- b: x\n"))
	got := string(yamldoc.Format(docs[0], func(n *yamldoc.Node) string {
		if n.Value == "x" {
			return "what\nit is"
		}
		return ""
	}))
	if diff := cmp.Diff("a:\n  - b: x # what it is\n", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
