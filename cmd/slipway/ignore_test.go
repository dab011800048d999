package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// ignoreCases are patterns with paths that they leave out, and paths that
// they don't. A slash at a path's end makes it a folder.
func ignoreCases() []struct {
	rules     string
	out, kept []string
} {
	return []struct {
		rules     string
		out, kept []string
	}{
		{"charts/", []string{"charts/", "a/charts/"}, []string{"charts", "charts2/"}},
		{"/charts", []string{"charts/", "charts"}, []string{"a/charts"}},
		{"values.yaml", []string{"values.yaml", "a/b/values.yaml"}, []string{"values.yml", "xvalues.yaml"}},
		{"*.tpl.yaml", []string{"a.tpl.yaml", "x/b.tpl.yaml"}, []string{"a.yaml"}},
		{"a/*.yaml", []string{"a/x.yaml"}, []string{"a/b/x.yaml", "b/a/x.yaml"}},
		{"**/deep/x.yaml", []string{"deep/x.yaml", "a/b/deep/x.yaml"}, []string{"deep/y.yaml"}},
		{"a/**/x.yaml", []string{"a/x.yaml", "a/b/c/x.yaml"}, []string{"b/x.yaml"}},
		{"a/**", []string{"a/x", "a/b/c"}, []string{"b/a/x"}},
		{"?.yaml", []string{"a.yaml"}, []string{"ab.yaml"}},
		{"[ab].yaml", []string{"a.yaml"}, []string{"c.yaml"}},
		{"[!ab].yaml", []string{"c.yaml"}, []string{"a.yaml"}},
		{"[a-c].yaml", []string{"b.yaml"}, []string{"d.yaml"}},
		{`\!x`, []string{"!x"}, []string{"x"}},
		{`\#x`, []string{"#x"}, []string{"x"}},
		{"# a comment\n\n", nil, []string{"# a comment", "a"}},
		{"*.yaml\n!keep.yaml", []string{"a.yaml"}, []string{"keep.yaml"}},
		{"x \r\n", []string{"x"}, []string{"x "}},
		{"a.b", []string{"a.b"}, []string{"aXb"}},
	}
}

func TestAPatternLeavesOutWhatItNames(t *testing.T) {
	t.Parallel()
	for _, c := range ignoreCases() {
		var i ignores
		if err := i.add("root", []byte(c.rules)); err != nil {
			t.Fatal(err)
		}
		for path, want := range wanted(c.out, c.kept) {
			clean := filepath.Join("root", path)
			if got := i.match(clean, path[len(path)-1] == '/'); got != want {
				t.Errorf("%q leaves out %q: %t; want %t", c.rules, path, got, want)
			}
		}
	}
}

func wanted(out, kept []string) map[string]bool {
	all := map[string]bool{}
	for _, p := range out {
		all[p] = true
	}
	for _, p := range kept {
		all[p] = false
	}
	return all
}

// Git itself says the same.
func TestAPatternMeansWhatItMeansToGit(t *testing.T) {
	t.Parallel()
	for _, c := range ignoreCases() {
		dir := t.TempDir()
		git := func(args ...string) error {
			cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "core.excludesFile=/dev/null"}, args...)...)
			return cmd.Run()
		}
		if err := git("init", "-q"); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, ".gitignore"), c.rules)
		for path, want := range wanted(c.out, c.kept) {
			if err := git("check-ignore", "-q", "--no-index", path); (err == nil) != want {
				t.Errorf("to Git %q leaves out %q: %t; the table says %t", c.rules, path, err == nil, want)
			}
		}
	}
}

// write writes a file, with the folders around it.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
