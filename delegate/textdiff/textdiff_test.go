package textdiff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnified(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, before, after, want string }{
		{"the same", "a\nb\n", "a\nb\n", ""},
		{"made", "", "a\nb\n", "@@ -1,0 +1,2 @@\n+a\n+b\n"},
		{"deleted", "a\n", "", "@@ -1,1 +1,0 @@\n-a\n"},
		{"one line in many", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{
			"two hunks", "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
			"@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n",
		},
		{"moved", "a\nb\nc\n", "b\nc\na\n", "@@ -1,3 +1,3 @@\n-a\n b\n c\n+a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Unified(tt.before, tt.after)); diff != "" {
				t.Errorf("hunks (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzUnified: what a comparison keeps and adds is the later text, what it
// keeps and drops the earlier one.
func FuzzUnified(f *testing.F) {
	f.Add("a\nb", "b\na")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, before, after string) {
		a, b := Lines(before), Lines(after)
		var was, is []string
		for _, e := range editsOf(a, b) {
			if e.sign != '+' {
				was = append(was, e.line)
			}
			if e.sign != '-' {
				is = append(is, e.line)
			}
		}
		if diff := cmp.Diff(strings.Join(a, "\n"), strings.Join(was, "\n")); diff != "" {
			t.Errorf("the earlier text (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(strings.Join(b, "\n"), strings.Join(is, "\n")); diff != "" {
			t.Errorf("the later text (-want +got):\n%s", diff)
		}
	})
}
