package helm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
)

// besideStage is a stage that puts a release beside the one that serves.
type besideStage []nativehelm.Op

// begin deploys what serves and gives the stage that comes next. There are
// two colours already, so that the next one takes the place of an older one.
func (b besideStage) begin(t *testing.T, s *site) job {
	t.Helper()
	if b[0] == nativehelm.OpCanary {
		s.succeed(t, noHooks(s.step(nativehelm.OpDeploy, "")))
		return counted(s.step("", "image: nginx:2"), 1)
	}
	for _, image := range []string{"nginx:1", "nginx:2"} {
		p := s.step("", "image: "+image)
		s.succeed(t, in(p, nativehelm.OpBlueGreen))
		s.succeed(t, in(p, nativehelm.OpSwap))
	}
	return s.step("", "image: nginx:3")
}

// until does the steps of the stage before one, and gives that one.
func (b besideStage) until(t *testing.T, s *site, p job, op nativehelm.Op) job {
	t.Helper()
	for _, step := range b {
		if step == op {
			break
		}
		s.succeed(t, in(p, step))
	}
	return in(p, op)
}

// templates are those of all Deployments, word for word.
func (s *site) templates(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	list, err := s.AppsV1().Deployments(s.namespace).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	out := map[string]corev1.PodTemplateSpec{}
	for _, d := range list.Items {
		out[d.Name] = d.Spec.Template
	}
	return out
}

// dies has a delegate of its own die over a task at a line of its log.
func (s *site) dies(t *testing.T, p job, unit string, line int) {
	t.Helper()
	said, err := doomed(t, doom{p, unit, line}).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the delegate wasn't killed: %v\n%s", err, said)
	}
}

// recorded sees Helm write a record that isn't one of a release that is
// deployed well.
func (s *site) recorded(t *testing.T, name string) watch.Interface {
	t.Helper()
	return s.watched(t, func(ctx context.Context) (watch.Interface, error) {
		return s.CoreV1().Secrets(s.namespace).Watch(ctx, metav1.ListOptions{})
	}, "sh.helm.release.v1."+name)
}

// In whichever section of a canary or blue-green stage a delegate is killed,
// what serves goes on serving. The task, delivered again to a delegate that
// knows nothing, comes to what it would have come to, word for word. The
// stage's rollback, be the task tried again or not, leaves what was before.
func TestKilledInEachSection(t *testing.T) {
	t.Parallel()
	canary := besideStage{nativehelm.OpCanary, nativehelm.OpCanaryDelete}
	colors := besideStage{nativehelm.OpBlueGreen, nativehelm.OpSwap, nativehelm.OpRollback}
	var (
		beside  = sortedWorld(stable("nginx:1"), canaryOf("nginx:2", "1"))
		staged  = inColors(green, map[string]string{blue: "nginx:3", green: "nginx:2"})
		swapped = inColors(blue, map[string]string{blue: "nginx:3", green: "nginx:2"})
		four    = func(image string) string { return strings.TrimSpace(strings.Repeat(image+" ", 4)) }
		five    = four("nginx:1") + " nginx:2"
	)
	again, givenUp, both := []bool{true}, []bool{false}, []bool{true, false}
	tests := []struct {
		stage   besideStage
		op      nativehelm.Op
		unit    string // of the log; with no line, the record that Helm writes
		line    int
		then    []string // what is there after the task was done again
		serving string   // what the service reaches then
		tries   []bool   // whether it is done again, before the rollback
	}{
		{canary, nativehelm.OpCanary, unitFetch, 1, beside, five, again},
		{canary, nativehelm.OpCanary, unitInit, 1, beside, five, again},
		{canary, nativehelm.OpCanary, unitPrepare, 2, beside, five, again},
		{canary, nativehelm.OpCanary, "rel-canary.v1", 0, beside, five, both},
		{canary, nativehelm.OpCanary, unitSteady, 1, beside, five, both},
		{canary, nativehelm.OpCanary, unitWrapUp, 1, beside, five, again},
		{canary, nativehelm.OpCanaryDelete, "rel-canary.v1", 0, stable("nginx:1"), four("nginx:1"), again},
		{canary, nativehelm.OpCanaryDelete, unitDelete, 1, stable("nginx:1"), four("nginx:1"), again},

		{colors, nativehelm.OpBlueGreen, unitFetch, 1, staged, four("nginx:2"), again},
		{colors, nativehelm.OpBlueGreen, unitInit, 1, staged, four("nginx:2"), again},
		{colors, nativehelm.OpBlueGreen, unitPrepare, 2, staged, four("nginx:2"), again},
		{colors, nativehelm.OpBlueGreen, "rel-blue.v2", 0, staged, four("nginx:2"), both},
		{colors, nativehelm.OpBlueGreen, unitChange, 2, staged, four("nginx:2"), both},
		{colors, nativehelm.OpBlueGreen, unitChange, 4, staged, four("nginx:2"), again},
		{colors, nativehelm.OpBlueGreen, unitSteady, 1, staged, four("nginx:2"), both},
		{colors, nativehelm.OpBlueGreen, unitWrapUp, 1, staged, four("nginx:2"), again},
		{colors, nativehelm.OpSwap, unitSwap, 1, swapped, four("nginx:3"), both},
		{colors, nativehelm.OpSwap, unitSwap, 2, swapped, four("nginx:3"), again},
		{colors, nativehelm.OpRollback, unitRollback, 1, nil, "", givenUp},
		{colors, nativehelm.OpRollback, unitRollback, 5, nil, "", givenUp},
		{colors, nativehelm.OpRollback, "rel-blue.v3", 0, nil, "", givenUp},
		{colors, nativehelm.OpRollback, unitSteady, 1, nil, "", givenUp},
	}
	done := map[nativehelm.Op]map[string]corev1.PodTemplateSpec{} // after a step that nothing disturbs
	for _, stage := range []besideStage{canary, colors} {
		s := newWebSite(t)
		p := stage.begin(t, s)
		for _, op := range stage {
			s.succeed(t, in(p, op))
			done[op] = s.templates(t)
		}
	}
	for _, tt := range tests {
		for _, again := range tt.tries {
			t.Run(fmt.Sprintf("%s %s %d, again %t", tt.op, tt.unit, tt.line, again), func(t *testing.T) {
				t.Parallel()
				s := newWebSite(t)
				p := tt.stage.begin(t, s)
				was, templates := s.world(t), s.templates(t)
				p = tt.stage.until(t, s, p, tt.op)
				if tt.line > 0 {
					s.dies(t, p, tt.unit, tt.line)
				} else {
					s.killed(t, p, s.recorded(t, tt.unit))
				}
				s.run = New(kubernetes.Config{Cache: t.TempDir(), Script: shell.New(os.Environ(), t.TempDir())})
				if again {
					s.succeed(t, p)
					s.wantWorld(t, "after the second try", tt.then...)
					if diff := cmp.Diff(done[tt.op], s.templates(t)); diff != "" {
						t.Errorf("a task that nothing disturbs comes to the pod templates (-), this one to (+):\n%s", diff)
					}
					testcluster.WantServing(t, s, s.namespace, "rel-web", tt.serving)
				}
				s.succeed(t, in(p, nativehelm.OpRollback))
				s.wantWorld(t, "after the rollback", was...)
				if diff := cmp.Diff(templates, s.templates(t)); diff != "" {
					t.Errorf("the pod templates after the rollback (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A delegate that is killed while it mends what another one left, which was
// killed, too, leaves nothing that a third one couldn't mend.
func TestKilledTwice(t *testing.T) {
	t.Parallel()
	s := newWebSite(t)
	s.succeed(t, noHooks(s.step(nativehelm.OpDeploy, "")))
	p := noHooks(s.step(nativehelm.OpDeploy, "image: nginx:2"))
	s.killed(t, p, s.recorded(t, "rel.v2"))
	s.killed(t, p, s.recorded(t, "rel.v3"))
	s.succeed(t, p)
	s.wantWorld(t, "after the third try", stable("nginx:2")...)
	s.succeed(t, in(p, nativehelm.OpRollback))
	s.wantWorld(t, "after the rollback", stable("nginx:1")...)
}
