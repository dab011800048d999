package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// A script and its children don't outlive their delegate, whether it runs by
// itself or inside the server: what is tried again has nobody beside it.
func TestAKilledDelegatesScriptsEnd(t *testing.T) {
	t.Parallel()
	for _, inside := range []bool{false, true} {
		t.Run(fmt.Sprintf("inside the server %t", inside), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			embedded := ""
			if inside {
				embedded = "embedded"
			}
			server := spawn(t, serveEnv+"="+filepath.Join(dir, "data"), addrEnv+"=127.0.0.1:0", delegateEnv+"="+embedded)
			s, killed := client(server), server
			if !inside {
				killed = spawn(t, delegateEnv+"=outside", addrEnv+"="+s.URL, tokenEnv+"="+delegateToken(t, s))
			}
			file := filepath.Join(dir, "pids")
			s.Apply(t, one("p", shell("a", fmt.Sprintf("sleep 600 & echo $! $$ > %[1]s.new; mv %[1]s.new %[1]s; wait", file)), ""))
			id := s.Begin(t, "p", nil)
			ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
			defer cancel()
			begun := func(e2e.Execution) bool { _, err := os.Stat(file); return err == nil }
			if _, err := s.Until(ctx, id, begun); err != nil {
				t.Fatal(err)
			}
			killed.kill()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for pid := range strings.FieldsSeq(string(text)) {
				for lives(t, pid) {
					select {
					case <-ctx.Done():
						t.Fatalf("process %s lives on", pid)
					case <-time.After(20 * time.Millisecond):
					}
				}
			}
		})
	}
}

// lives says whether there is a process that isn't a zombie.
func lives(t *testing.T, pid string) bool {
	t.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}
