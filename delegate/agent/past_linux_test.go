package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// A process names the one before it that was killed, with what that had begun,
// from its first claim on and for two minutes; then it says goodbye for it.
func TestAKilledProcessIsReplaced(t *testing.T) {
	t.Parallel()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p, folder := newPlane(t), t.TempDir()
		var url string
		s := p.start(succeed, func(c *agent.Config) {
			c.Journal, url = folder, c.URL
			text := fmt.Sprintf("{\"id\":\"before\",\"boot\":%q,\"server\":%q}\n{\"begun\":{\"id\":\"t1\",\"fence\":4,\"mark\":\"NOBODYS\"}}\n", strings.TrimSpace(string(boot)), url)
			if err := os.WriteFile(filepath.Join(folder, "before"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		})
		elapse(time.Minute)
		_, claims := p.said()
		want := []protocol.Replaced{{ID: "before", Begun: []protocol.Held{{ID: "t1", Fence: 4}}}}
		for i, c := range claims {
			if diff := cmp.Diff(want, c.Replaces); diff != "" {
				t.Errorf("claim %d replaces (-want +got):\n%s", i, diff)
			}
		}
		if len(claims) < 3 || p.count("goodbye") > 0 {
			t.Errorf("within a minute there were %d claims and %d goodbyes", len(claims), p.count("goodbye"))
		}
		elapse(3 * time.Minute)
		_, claims = p.said()
		if last := claims[len(claims)-1]; len(last.Replaces) > 0 || p.count("goodbye") != 1 {
			t.Errorf("after four minutes a claim replaces %v, and there were %d goodbyes", last.Replaces, p.count("goodbye"))
		}
		s.finish()
		left, err := os.ReadDir(folder)
		if err != nil || len(left) > 0 {
			t.Errorf("after the goodbye there is %v, %v", left, err)
		}
	})
}

// What a process has begun is in its journal, until its end is known.
func TestATaskIsNotedAsItBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, folder := newPlane(t), t.TempDir()
		p.offer(assignment("t1"))
		s := p.start(untilStopped, func(c *agent.Config) { c.Journal, c.Drain = folder, time.Minute })
		elapse(10 * time.Second)
		list, err := os.ReadDir(folder)
		if err != nil || len(list) != 1 {
			t.Fatalf("there are %v, %v; want one journal", list, err)
		}
		text, err := os.ReadFile(filepath.Join(folder, list[0].Name()))
		if err != nil || strings.Count(string(text), `"begun":{"id":"t1","fence":1,`) != 1 || strings.Contains(string(text), "ended") {
			t.Errorf("the journal is %s, %v", text, err)
		}
		s.finish()
	})
}
