package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/shell"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// killEnv makes a run of this test binary a delegate that ends when it is told
// to: its value is a fatal as JSON.
const killEnv = "KUBERNETES_TEST_KILL"

// fatal is a task and the line of its log at which its delegate is killed.
type fatal struct {
	Task job
	Unit string
	Line int // 1 for the first of the unit
}

// TestDelegateThatIsKilled is the delegate, not a test: it does its task until
// it kills itself, by a signal that nothing can act on.
func TestDelegateThatIsKilled(t *testing.T) {
	t.Parallel()
	doc := os.Getenv(killEnv)
	if doc == "" {
		t.Skip("it is run by others")
	}
	var f fatal
	if err := json.Unmarshal([]byte(doc), &f); err != nil {
		t.Fatal(err)
	}
	env := executortest.New(t, nil)
	env.At(f.Unit, f.Line, func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})
	r, err := New(Config{Cache: t.TempDir(), Script: shell.New(os.Environ(), t.TempDir())})(t.Context(), f.Task.assignment(t), env.Env)
	t.Fatalf("the task ended %s: %s, %v before line %d of %q; there was\n%s", r.Status, r.Message, err, f.Line, f.Unit, strings.Join(env.Units(), ", "))
}

// killed has a delegate of its own die over a task.
func killed(t *testing.T, p job, unit string, line int) {
	t.Helper()
	doc, err := json.Marshal(fatal{p, unit, line})
	check(t, err)
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestDelegateThatIsKilled$", "-test.v")
	c.Env = append(os.Environ(), killEnv+"="+string(doc))
	said, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the delegate wasn't killed: %v\n%s", err, said)
	}
}

// sum is what a namespace has of the shop in short: the image that is wanted,
// the ConfigMaps and what became of the releases, the first one first.
func (s *site) sum(t *testing.T) string {
	t.Helper()
	now := s.standing(t)
	words := []string{now.Template.Spec.Containers[0].Image}
	for _, o := range now.Objects {
		if config, ok := strings.CutPrefix(o, "ConfigMap/"); ok {
			words = append(words, config)
		}
	}
	for n := range len(now.Statuses) {
		words = append(words, now.Statuses[strconv.Itoa(n+1)])
	}
	return strings.Join(words, " ")
}

// In whichever section a delegate is killed, what the good release needs is
// still there; and the task, delivered again to a delegate that knows nothing,
// comes to what it would have come to, and can be rolled back.
func TestScenariosOfAKilledDelegate(t *testing.T) {
	t.Parallel()
	const (
		before = "nginx:1 cfg-1 Succeeded"
		done   = "nginx:2 cfg-1 cfg-2 Succeeded Succeeded"
	)
	tests := []struct {
		unit string
		line int
		dead string // what is there right after the kill
		then string // and after the task was done again
	}{
		{unitFetch, 1, before, done},
		{unitInitialize, 1, before, done},
		{unitPrepare, 1, before, done},
		{unitApply, 1, "nginx:1 cfg-1 cfg-2 Succeeded InProgress", done},
		{unitApply, 2, "nginx:1 cfg-1 cfg-2 Succeeded InProgress", done},
		{unitSteady, 1, "nginx:2 cfg-1 cfg-2 Succeeded InProgress", done},
		{unitSteady, 2, "nginx:2 cfg-1 cfg-2 Succeeded InProgress", done},
		// All is done but the answer: the same is released again.
		{unitWrapUp, 1, done, "nginx:2 cfg-1 cfg-2 cfg-3 Succeeded Succeeded Succeeded"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %d", tt.unit, tt.line), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.succeed(t, s.step(lane.OpRolling, shop("nginx:1", "1", "", 2)))
			was := s.standing(t)
			p := from(s.step(lane.OpRolling, ""), repository(t, map[string]string{"deploy/shop.yaml": shop("nginx:2", "2", "", 2)}))
			killed(t, p, tt.unit, tt.line)
			if diff := cmp.Diff(tt.dead, s.sum(t)); diff != "" {
				t.Errorf("after the kill (-want +got):\n%s", diff)
			}

			s.run = New(Config{Cache: t.TempDir(), Script: shell.New(os.Environ(), t.TempDir())})
			s.succeed(t, p)
			if diff := cmp.Diff(tt.then, s.sum(t)); diff != "" {
				t.Errorf("after the task was done again (-want +got):\n%s", diff)
			}
			if now := s.standing(t); now.Serving != 2 || now.Configs["cfg-1"] != "1" || now.Configs["cfg-2"] != "2" {
				t.Errorf("%d pods serve, with %v", now.Serving, now.Configs)
			}
			s.succeed(t, in(p, lane.OpRollingRollback))
			if diff := cmp.Diff(was.Template, s.standing(t).Template); diff != "" {
				t.Errorf("the rollback comes to another pod template (-want +got):\n%s", diff)
			}
		})
	}
}
