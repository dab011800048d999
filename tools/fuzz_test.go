package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file.
func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// fuzzed runs the script over a module of one fuzz target.
func fuzzed(t *testing.T, target string, env ...string) (string, error) {
	t.Helper()
	script, err := filepath.Abs("fuzz.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module fuzzed\n\ngo 1.26\n", 0o600)
	put(t, filepath.Join(dir, "fuzzed_test.go"), "package fuzzed\n\nimport \"testing\"\n\n"+target, 0o600)
	cmd := exec.CommandContext(t.Context(), script, "50x", ".")
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS="), env...)
	out, err := cmd.Output()
	return string(out), err
}

// What a target finds, or fails for from the start, fails the run and is
// shown, whatever its message says.
func TestFuzzingFailsForWhatItFinds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ seed, shown string }{
		"an input that is found": {"", "Failing input written to testdata/fuzz/FuzzOne/"},
		"an input of its own":    {`f.Add([]byte("seed"))`, "--- FAIL: FuzzOne"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := fuzzed(t, `func FuzzOne(f *testing.F) {
	`+tt.seed+`
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 0 {
			t.Fatal("context deadline exceeded")
		}
	})
}
`)
			if err == nil || !strings.Contains(out, tt.shown) || strings.Contains(out, "nothing found") {
				t.Errorf("%v; want a failure with %q\n%s", err, tt.shown, out)
			}
		})
	}
}

func TestFuzzingThatFindsNothingPasses(t *testing.T) {
	t.Parallel()
	out, err := fuzzed(t, "func FuzzOne(f *testing.F) { f.Fuzz(func(*testing.T, []byte) {}) }\n")
	if err != nil || !strings.HasSuffix(out, "fuzz: 1 targets, nothing found\n") || strings.Contains(out, "FAIL") {
		t.Errorf("%v\n%s", err, out)
	}
}

// outOfTime is what the go command says, now and then, if the time ends while
// a target tries an input.
const outOfTime = `fuzz: elapsed: 0s, gathering baseline coverage: 0/80 completed
fuzz: elapsed: 15s, execs: 93621 (0/sec), new interesting: 2 (total: 82)
--- FAIL: FuzzOne (15.07s)
    context deadline exceeded
FAIL
exit status 1
FAIL	fuzzed	15.082s
`

// Nothing that looks like a failure is printed when none was found.
func TestFuzzingThatRunsOutOfTimePasses(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	put(t, filepath.Join(bin, "said"), outOfTime, 0o600)
	put(t, filepath.Join(bin, "go"), `#!/bin/sh
case "$*" in
*-list*) printf 'FuzzOne\nok  \tfuzzed\t0.01s\n' ;;
*) cat "$(dirname "$0")/said"; exit 1 ;;
esac
`, 0o700)
	out, err := fuzzed(t, "", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err != nil || strings.Contains(out, "FAIL") || !strings.Contains(out, "fuzz: elapsed: 15s") || !strings.HasSuffix(out, "fuzz: 1 targets, nothing found\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
