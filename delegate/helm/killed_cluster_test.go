package helm

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
)

// doomVariable has the task of a delegate that is killed, see TestKilled.
const doomVariable = "SLIPWAY_TEST_HELM_TASK"

// doom is a task and the line of its log at which its delegate kills itself;
// none: it is killed from without.
type doom struct {
	Task job
	Unit string
	Line int // 1 for the first of the unit
}

// TestDoomed is the delegate that is killed: it runs a task in a process of
// its own.
func TestDoomed(t *testing.T) { //nolint:paralleltest // it is alone in its process
	doc := os.Getenv(doomVariable)
	if doc == "" {
		t.Skip("it is run by others")
	}
	var d doom
	check(t, json.Unmarshal([]byte(doc), &d))
	env := executortest.New(t, nil)
	env.At(d.Unit, d.Line, func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})
	r, err := New(kubernetes.Config{Cache: t.TempDir(), Script: shell.New(os.Environ(), t.TempDir())})(t.Context(), d.Task.assignment(t), env.Env)
	t.Logf("the task ended %s: %s, %v; there was %q", r.Status, r.Message, err, env.Units())
}

// A delegate that is killed in the middle leaves a state from which another
// one, that is given the same task, goes on to the same end; and a rollback
// leaves what was before.
func TestKilled(t *testing.T) {
	t.Parallel()
	secret := func(prefix string) func(*testing.T, *site) watch.Interface {
		return func(t *testing.T, s *site) watch.Interface {
			t.Helper()
			return s.watched(t, func(ctx context.Context) (watch.Interface, error) {
				return s.CoreV1().Secrets(s.namespace).Watch(ctx, metav1.ListOptions{})
			}, prefix)
		}
	}
	deployment := func(prefix string) func(*testing.T, *site) watch.Interface {
		return func(t *testing.T, s *site) watch.Interface {
			t.Helper()
			return s.watched(t, func(ctx context.Context) (watch.Interface, error) {
				return s.AppsV1().Deployments(s.namespace).Watch(ctx, metav1.ListOptions{})
			}, prefix)
		}
	}
	service := func(prefix string) func(*testing.T, *site) watch.Interface {
		return func(t *testing.T, s *site) watch.Interface {
			t.Helper()
			return s.watched(t, func(ctx context.Context) (watch.Interface, error) {
				return s.CoreV1().Services(s.namespace).Watch(ctx, metav1.ListOptions{})
			}, prefix)
		}
	}
	tests := []struct {
		name  string
		op    nativehelm.Op
		when  func(*testing.T, *site) watch.Interface
		after []string
	}{
		{"canary, as Helm began", nativehelm.OpCanary, secret("sh.helm.release.v1.rel-canary"), sortedWorld(stable("nginx:1"), canaryOf("nginx:2", "1"))},
		{"canary, as it rolls out", nativehelm.OpCanary, deployment("rel-canary"), sortedWorld(stable("nginx:1"), canaryOf("nginx:2", "1"))},
		{"colour, as it is recorded", nativehelm.OpBlueGreen, secret("harness.release.rel"), inColors(green, map[string]string{blue: "nginx:2"})},
		{"colour, as Helm began", nativehelm.OpBlueGreen, secret("sh.helm.release.v1.rel-blue"), inColors(green, map[string]string{blue: "nginx:2"})},
		{"colour, as services are made", nativehelm.OpBlueGreen, service("rel-web"), inColors(green, map[string]string{blue: "nginx:2"})},
		{"release, as Helm began", nativehelm.OpDeploy, secret("sh.helm.release.v1.rel.v"), stable("nginx:2")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newWebSite(t)
			var before []string
			if tt.op == nativehelm.OpCanary {
				s.succeed(t, noHooks(s.step(nativehelm.OpDeploy, "")))
				before = stable("nginx:1")
			}
			p := noHooks(counted(s.step(tt.op, "image: nginx:2"), 1))
			s.killed(t, p, tt.when(t, s))
			s.succeed(t, p)
			s.wantWorld(t, "after the second try", tt.after...)
			if tt.op == nativehelm.OpDeploy {
				return
			}
			s.succeed(t, in(p, nativehelm.OpRollback))
			s.wantWorld(t, "after the rollback", before...)
		})
	}
}

// watched waits for objects whose names begin with a prefix.
func (s *site) watched(t *testing.T, begin func(context.Context) (watch.Interface, error), prefix string) watch.Interface {
	t.Helper()
	w, err := begin(t.Context())
	check(t, err)
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		o, ok := e.Object.(metav1.Object)
		return e, ok && strings.HasPrefix(o.GetName(), prefix) && !isOld(e.Object)
	})
}

// isOld says whether an object was there before, such as the record of a
// release that has ended.
func isOld(o any) bool {
	s, ok := o.(*corev1.Secret)
	return ok && s.Labels["status"] == "deployed"
}

// doomed is the command of a delegate that is killed.
func doomed(t *testing.T, d doom) *exec.Cmd {
	t.Helper()
	doc, err := json.Marshal(d)
	check(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDoomed$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), doomVariable+"="+string(doc))
	return cmd
}

// killed runs a task in a process that is killed once something is seen.
func (s *site) killed(t *testing.T, p job, seen watch.Interface) {
	t.Helper()
	defer seen.Stop()
	var out strings.Builder
	cmd := doomed(t, doom{Task: p})
	cmd.Stdout, cmd.Stderr = &out, &out
	check(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-seen.ResultChan():
		check(t, cmd.Process.Kill())
		t.Logf("the delegate ended: %v", <-ended)
	case err := <-ended:
		t.Fatalf("the delegate ended before anything was seen: %v\n%s", err, out.String())
	case <-t.Context().Done():
		t.Fatal("nothing was seen in time")
	}
}
