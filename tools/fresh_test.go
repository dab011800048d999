package tools_test

import (
	"os/exec"
	"strings"
	"testing"
)

// What runs in a fresh clone finds nothing of this machine's user, and gets
// modules from where this machine gets them.
func TestAFreshMachineIsEmpty(t *testing.T) {
	t.Parallel()
	look := func(command ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	got := look("./fresh.sh", "sh", "-c", `ls -A "$HOME" "$GOMODCACHE" "$GOCACHE" "$npm_config_cache" 2>/dev/null | grep . | grep -v :; go env GOPROXY GOFLAGS; git status --porcelain; ls Makefile`)
	if want := look("go", "env", "GOPROXY", "GOFLAGS") + "Makefile\n"; strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("in a fresh clone:\n%s\nwant:\n%s", got, want)
	}
}
