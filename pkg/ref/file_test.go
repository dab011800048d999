package ref

import (
	"strings"
	"testing"
)

// semantics/entities §1 and §10.1: paths of the file store.
func TestParseFile(t *testing.T) {
	t.Parallel()
	project := Scope{Account: "acme", Org: "default", Project: "web"}
	for _, c := range []struct{ text, want, wrong string }{
		{text: "/a.yaml", want: "acme/default/web:/a.yaml"},
		{text: "/dir/sub/", want: "acme/default/web:/dir/sub"},
		{text: "/", want: "acme/default/web:/"},
		{text: "org:/dir/a b.tpl", want: "acme/default:/dir/a b.tpl"},
		{text: "account:/ä", want: "acme:/ä"},
		{text: "a.yaml", wrong: "doesn't begin with /"},
		{text: "account.a", wrong: "doesn't begin with /"},
		{text: "team:/a", wrong: `the scope "team"`},
		{text: "/a//b", wrong: "side by side"},
		{text: "/a/../b", wrong: `".." is no name`},
		{text: `/a\b`, wrong: "a character"},
		{text: "/a\nb", wrong: "a character"},
		{text: "/a /b", wrong: "ends with a space"},
		{text: "/" + strings.Repeat("x", 129), wrong: "129 bytes; the limit is 128"},
		{text: strings.Repeat("/xxxxxxx", 65), wrong: "520 bytes; the limit is 512"},
		{text: "", wrong: "doesn't begin with /"},
	} {
		got, err := ParseFile(c.text, project)
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.wrong)
		case c.wrong == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.wrong == "" && got.String() != c.want:
			t.Errorf("%q is %s, want %s", c.text, got, c.want)
		}
	}
	if _, err := ParseFile("org:/a", Scope{Account: "acme"}); err == nil {
		t.Error("an account has no organization's files")
	}
}

func TestFileWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ folder, path, want string }{
		{"/a", "/a/b/c.yaml", "b/c.yaml"}, {"/", "/a/b.yaml", "a/b.yaml"}, {"/a/b.yaml", "/a/b.yaml", "b.yaml"},
	} {
		if got := (File{Path: c.folder}).Of(c.path); got != c.want {
			t.Errorf("%s within %s is %q, want %q", c.path, c.folder, got, c.want)
		}
	}
}

func TestFileText(t *testing.T) {
	t.Parallel()
	project := Scope{Account: "acme", Org: "default", Project: "web"}
	for _, text := range []string{"/a", "org:/a", "account:/a"} {
		f, err := ParseFile(text, project)
		if err != nil || f.Text(project) != text {
			t.Errorf("%q reads as %q: %v", text, f.Text(project), err)
		}
	}
	if err := CheckFile("/a/"); err == nil {
		t.Error("a folder's path passes for a file's")
	}
	if err := CheckFile("/"); err == nil {
		t.Error("the root passes for a file")
	}
}

func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{"/a", "org:/a/b/", "account:/", "/..", "x:/y"} {
		f.Add(seed)
	}
	scope := Scope{Account: "acme", Org: "o", Project: "p"}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseFile(text, scope)
		if err != nil {
			return
		}
		again, err := ParseFile(got.Text(scope), scope)
		if err != nil || again != got {
			t.Errorf("%q reads as %s, and that as %s: %v", text, got, again, err)
		}
		if strings.Contains(got.Path+"/", "/../") {
			t.Errorf("%q leads out of the store", text)
		}
	})
}
