package kubernetes

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testcluster"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// An API server that is restarted in the middle of any section delays a step
// and changes nothing of what it comes to: neither of one that succeeds nor of
// one that fails.
func TestScenariosOfARestartedAPIServer(t *testing.T) {
	t.Parallel()
	testcluster.Namespace(t) // skips where there are no clusters
	cluster := ownCluster(t)
	tests := []struct {
		op      lane.Op
		unit    string
		line    int
		image   string
		want    string // there afterwards
		serving int32
	}{
		{lane.OpRolling, unitFetch, 1, "nginx:2", "nginx:2 cfg-1 cfg-2 Succeeded Succeeded", 2},
		{lane.OpRolling, unitPrepare, 1, "nginx:2", "nginx:2 cfg-1 cfg-2 Succeeded Succeeded", 2},
		{lane.OpRolling, unitApply, 1, "nginx:2", "nginx:2 cfg-1 cfg-2 Succeeded Succeeded", 2},
		{lane.OpRolling, unitSteady, 1, "nginx:2", "nginx:2 cfg-1 cfg-2 Succeeded Succeeded", 2},
		{lane.OpRolling, unitSteady, 2, "broken:2", "broken:2 cfg-1 cfg-2 Succeeded Failed", 2},
		{lane.OpRollingRollback, unitRollback, 1, "broken:2", "nginx:1 cfg-1 cfg-2 Succeeded Failed", 2},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %s %d %s", tt.op, tt.unit, tt.line, tt.image), func(t *testing.T) {
			s := siteOf(t, cluster.Kubeconfig, ownNamespace(t, cluster))
			s.succeed(t, s.step(lane.OpRolling, patiently("nginx:1", "1")))
			p := from(s.step(lane.OpRolling, ""), repository(t, map[string]string{"deploy/shop.yaml": patiently(tt.image, "2")}))
			if tt.op == lane.OpRollingRollback {
				s.fail(t, p, "can't get its image")
				p = in(p, tt.op)
			}
			r, err := s.restarting(t, cluster, p, tt.unit, tt.line)
			wanted := task.Succeeded
			if tt.op == lane.OpRolling && strings.HasPrefix(tt.image, "broken") {
				wanted = task.Failed
			}
			if err != nil || r.Status != wanted || wanted == task.Failed && !strings.Contains(r.Message, "can't get its image broken:2") {
				t.Errorf("%s ended %s: %s, %v", p.Op, r.Status, r.Message, err)
			}
			if diff := cmp.Diff(tt.want, s.sum(t)); diff != "" {
				t.Errorf("afterwards (-want +got):\n%s", diff)
			}
			if got := s.standing(t).Serving; got < tt.serving {
				t.Errorf("%d pods serve; want %d", got, tt.serving)
			}
		})
	}
	for _, tt := range []struct { //nolint:paralleltest // they share the server
		stage   besideStage
		op      lane.Op
		unit    string
		want    string
		serving string
	}{
		{canaryStage(), lane.OpCanary, unitSteady, "cfg-1=1 cfg-canary=2 web:nginx:1 web-canary:nginx:2 Succeeded Succeeded", "nginx:1 nginx:1 nginx:2"},
		{canaryStage(), lane.OpCanaryDelete, unitDelete, "cfg-1=1 web:nginx:1 Succeeded Succeeded", "nginx:1 nginx:1"},
		{colorStage(), lane.OpBlueGreen, unitApply, "cfg=1 cfg-green=2 web-blue:nginx:1 web-green:nginx:2 web>blue web-stage>green Succeeded Succeeded", "nginx:1 nginx:1"},
		{colorStage(), lane.OpSwap, unitSwap, "cfg=1 cfg-green=2 web-blue:nginx:1 web-green:nginx:2 web>green web-stage>blue Succeeded Succeeded", "nginx:2 nginx:2"},
	} {
		t.Run(string(tt.op), func(t *testing.T) {
			s := siteOf(t, cluster.Kubeconfig, ownNamespace(t, cluster))
			p := tt.stage.begin(t, s, patiently)
			was := s.sight(t)
			p = tt.stage.until(t, s, p, tt.op)
			if r, err := s.restarting(t, cluster, p, tt.unit, 1); err != nil || r.Status != task.Succeeded {
				t.Errorf("it ended %s: %s, %v", r.Status, r.Message, err)
			}
			if diff := cmp.Diff(tt.want, s.sight(t).sum()); diff != "" {
				t.Errorf("afterwards (-want +got):\n%s", diff)
			}
			s.wantServing(t, "web", tt.serving)
			for _, op := range tt.stage.rollback {
				s.succeed(t, undo(p, op))
			}
			if diff := cmp.Diff(was.before(), s.sight(t).before()); diff != "" {
				t.Errorf("after the rollback (-want +got):\n%s", diff)
			}
			s.wantServing(t, "web", "nginx:1 nginx:1")
		})
	}
}

// patiently is the shop with time for the controllers to come back to a server.
func patiently(image, config string) string {
	deadline := 300
	if strings.HasPrefix(image, "broken") {
		deadline = 30 // all of it passes, and the server and who makes pods fail must be back before
	}
	return withDeadline(deadline, shop(image, config, "", 2))
}

// restarting runs a step with the API server restarted at a line of its log.
func (s *site) restarting(t *testing.T, c *testcluster.Cluster, p job, unit string, line int) (task.Result, error) {
	t.Helper()
	env := executortest.New(t, nil)
	back := make(chan error, 1)
	env.At(unit, line, func() {
		gone := make(chan struct{})
		go func() { back <- c.RestartAPIServer(t.Context(), func() { close(gone) }) }()
		<-gone
	})
	r, err := s.run(t.Context(), p.assignment(t), env.Env)
	check(t, <-back)
	return r, err
}

// ownCluster is one that a test may break.
func ownCluster(t *testing.T) *testcluster.Cluster {
	t.Helper()
	root, err := testcluster.Root(".")
	check(t, err)
	cache, err := testcluster.CacheDir()
	check(t, err)
	tools, err := testcluster.Build(t.Context(), root, cache, t.Output())
	check(t, err)
	c, err := testcluster.Start(t.Context(), testcluster.Config{Dir: t.TempDir(), Tools: tools, Log: slog.New(slog.DiscardHandler)})
	check(t, err)
	t.Cleanup(c.Stop)
	return c
}

// ownNamespace makes a namespace that goes with its cluster.
func ownNamespace(t *testing.T, c *testcluster.Cluster) string {
	t.Helper()
	s := siteOf(t, c.Kubeconfig, "")
	made, err := s.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	check(t, err)
	for { // until pods can be made there
		if _, err := s.CoreV1().ServiceAccounts(made.Name).Get(t.Context(), "default", metav1.GetOptions{}); err == nil {
			return made.Name
		}
		check(t, t.Context().Err())
	}
}
