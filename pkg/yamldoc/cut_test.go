package yamldoc_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestAFileIsCutWhereTheParserCuts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		want       []yamldoc.Part
	}{
		{"one document", "a: 1\n", []yamldoc.Part{part(0, "a: 1\n")}},
		{"marks", "a: 1\n---\nb: 2\n--- \t\nc: 3", []yamldoc.Part{part(0, "a: 1\n"), part(2, "b: 2\n"), part(4, "c: 3")}},
		{"a mark with a comment", "a: 1\n--- # two\nb: 2\n", []yamldoc.Part{part(0, "a: 1\n"), part(1, "--- # two\nb: 2\n")}},
		{"a mark with a mapping", "a: 1\n--- {b: 2}\n", []yamldoc.Part{part(0, "a: 1\n"), part(1, "--- {b: 2}\n")}},
		{"a mark with a text", "a: 1\n--- |\n  b\n--- 'c'\n", []yamldoc.Part{part(0, "a: 1\n"), part(1, "--- |\n  b\n"), part(3, "--- 'c'\n")}},
		{"an end", "a: 1\n...\n---\nb: 2\n... # end\nc: 3\n", []yamldoc.Part{part(0, "a: 1\n"), part(2, ""), part(3, "b: 2\n"), part(5, "c: 3\n")}},
		{"directives", "%YAML 1.1\n# of\n---\na: 1\n...\n%TAG ! x:\n--- # b\nb: 2\n", []yamldoc.Part{
			part(0, "%YAML 1.1\n# of\n---\na: 1\n"), part(5, "%TAG ! x:\n--- # b\nb: 2\n"),
		}},
		{"Windows", "a: 1\r\n---\r\nb: 2\r\n--- # c\r\nc: 3\r\n", []yamldoc.Part{part(0, "a: 1\r\n"), part(2, "b: 2\r\n"), part(3, "--- # c\r\nc: 3\r\n")}},
		{"an old Mac", "a: 1\r---\rb: 2\r", []yamldoc.Part{part(0, "a: 1\r"), part(2, "b: 2\r")}},
		{"byte order marks", "\ufeff---\na: 1\n\ufeff---\nb: 2\n", []yamldoc.Part{part(0, ""), part(1, "a: 1\n"), part(3, "b: 2\n")}},
		{"no marks", "a: ---\n ---\n---b: 1\n----\n....\n", []yamldoc.Part{part(0, "a: ---\n ---\n---b: 1\n----\n....\n")}},
		{"within a text", "a: |\n  x\n---\nb: 2\n", []yamldoc.Part{part(0, "a: |\n  x\n"), part(3, "b: 2\n")}},
		{"UTF-16", "\xff\xfea\x00", []yamldoc.Part{part(0, "\xff\xfea\x00")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := yamldoc.Cut([]byte(c.file))
			if len(got) > 0 && len(got[0].Text) == 0 && c.want[0].Text != nil {
				got = got[1:] // above the first mark
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.file, diff)
			}
		})
	}
}

func part(before int, text string) yamldoc.Part {
	if text == "" {
		return yamldoc.Part{Before: before}
	}
	return yamldoc.Part{Before: before, Text: []byte(text)}
}

// FuzzCut looks for a file of which the parts hold other documents than it.
func FuzzCut(f *testing.F) {
	for _, seed := range []string{
		"a: 1\n---\nb: 2\n", "--- # c\na: 1\n--- {b: 2}\n...\n--- |\n x\n", "%YAML 1.1\n---\na\n...\n%TAG ! x:\n---\nb\n",
		"a\r---\rb\r\n--- \r\nc", "\ufeffa: 1\n---\nb: 2\n", "a\u0085---\u2028b", "--- >\nx\n---\n--- \"y\n  z\"", "---\n---\n---", "- a\n--- - b",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, report := yamldoc.Parse("", data)
		if report.Failed() || bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) ||
			bytes.Contains(data[min(1, len(data)):], []byte("\ufeff")) { // which the parser takes for a part of a key
			return
		}
		var cut []*yamldoc.Node
		for _, p := range yamldoc.Cut(data) {
			docs, report := yamldoc.Parse("", p.Text)
			if report.Failed() || len(docs) > 1 {
				t.Fatalf("of %q the part %q has %d documents: %v", data, p.Text, len(docs), report.Err())
			}
			for _, d := range docs {
				cut = append(cut, moved(d, p.Before))
			}
		}
		if diff := cmp.Diff(told(whole), told(cut)); diff != "" {
			t.Errorf("%q (-whole +cut):\n%s", data, diff)
		}
	})
}

// moved is a document with the lines that it has in its file.
func moved(n *yamldoc.Node, by int) *yamldoc.Node {
	c := *n
	c.Line += by
	c.Entries, c.Items = nil, nil
	for _, e := range n.Entries {
		e.Line, e.Value = e.Line+by, moved(e.Value, by)
		c.Entries = append(c.Entries, e)
	}
	for _, i := range n.Items {
		c.Items = append(c.Items, moved(i, by))
	}
	return &c
}

// told leaves out the documents that say nothing.
func told(docs []*yamldoc.Node) []*yamldoc.Node {
	out := []*yamldoc.Node{}
	for _, d := range docs {
		if d.Kind != yamldoc.Null {
			out = append(out, moved(d, 0))
		}
	}
	return out
}
