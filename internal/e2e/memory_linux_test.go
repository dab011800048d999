package e2e_test

import (
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The worst requests at once, each over and over, leave nothing behind: soon
// after them the server is as large as it was, but for what it remembers.
func TestMemoryComesBackAfterTheWorstRequests(t *testing.T) {
	t.Parallel()
	const least = "256MiB" // below which the collector has no reason to hurry
	p := spawn(t, serveEnv+"="+filepath.Join(t.TempDir(), "data"), addrEnv+"=127.0.0.1:0", "GOMEMLIMIT="+least)
	s, pid := client(p), strconv.Itoa(p.cmd.Process.Pid)
	s.Project = "greedy"
	doc := vast("vast", "greedy")
	s.Apply(t, doc)
	id := s.Begin(t, "vast", nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 3 {
				for _, r := range [][2]string{{http.MethodPost, "/v1/pipelines/vast/plan"}, {http.MethodGet, "/v1/executions/" + id}, {http.MethodPost, "/v1/entities:validate"}} {
					var in any
					if in = map[string]any{}; r[0] == http.MethodGet {
						in = nil
					} else if r[1] == "/v1/entities:validate" {
						in = doc
					}
					if err := s.Call(t.Context(), r[0], r[1], in, nil); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	t.Logf("at most %.0f MB", resident(t, pid, "VmHWM:"))
	if most := resident(t, pid, "VmHWM:"); most > 800 {
		t.Errorf("the server took %.0f MB; want it to stay near its soft limit of %s", most, least)
	}
	const back = 400
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); memory(t, pid) > back; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("minutes after the last request the server has %.0f MB; want at most %d", memory(t, pid), back)
		}
	}
	t.Logf("then %.0f MB", memory(t, pid))
}
