package session

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// What npm has installed isn't started to know its version; what comes from
// elsewhere is, and what can't say its version isn't there.
func TestTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return file
	}
	bin := filepath.Dir(put("bin/node", "#!/bin/sh\necho v20.1.0\n"))
	put("bin/sam", "#!/bin/sh\necho SAM CLI, version 1.2.3\n")
	put("bin/docker", "#!/bin/sh\nexit 1\n")
	put("lib/npm/package.json", `{"name": "npm", "version": "11.0.2", "bin": {"npm": "bin/npm-cli.js"}}`)
	put("lib/other/package.json", `{"name": "other", "version": "9.9.9"}`)
	for link, script := range map[string]string{
		"npm": put("lib/npm/bin/npm-cli.js", "#!/bin/sh\necho started > "+filepath.Join(dir, "started")+"\n"),
		"cdk": put("lib/other/bin/cdk", "#!/bin/sh\necho '2.5.0 (build 1)'\n"),
	} {
		if err := os.Symlink(script, filepath.Join(bin, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := &Sessions{Config: Config{Environ: []string{"PATH=" + bin}}}
	if got, want := s.Tools(t.Context()), []string{"arch=" + runtime.GOARCH, "cdk=2.5.0", "node=20.1.0", "npm=11.0.2", "os=" + runtime.GOOS, "sam=1.2.3"}; !slices.Equal(got, want) {
		t.Errorf("the machine has %s; want %s", strings.Join(got, " "), strings.Join(want, " "))
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("npm was started")
	}
}
