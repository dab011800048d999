package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testcluster"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// many are 500 objects of three kinds; each round changes every one of them.
func many(round int) string {
	var b strings.Builder
	for i := range 250 {
		b.WriteString(fixedYAML(fmt.Sprintf("c%d", i), fmt.Sprint(round)))
	}
	for i := range 200 {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d, annotations: {round: \"%d\"}}\nspec: {clusterIP: None, selector: {app: s%d}, ports: [{port: 80}]}\n", i, round, i)
	}
	for i := range 50 {
		b.WriteString(deploymentYAML(fmt.Sprintf("d%d", i), fmt.Sprintf("nginx:%d", round), 0))
	}
	return b.String()
}

// BenchmarkApply is 500 changed objects: as a K8sRollingDeploy, with its record
// and its diff, and as a K8sApply, beside what kubectl takes for the same.
func BenchmarkApply(b *testing.B) {
	rolling := func(s *site, round int) job { return s.step(lane.OpRolling, many(round)) }
	apply := func(s *site, round int) job {
		p := s.step(lane.OpApply, many(round))
		p.FilePaths, p.SkipDryRun = []string{"app.yaml"}, true
		return p
	}
	for name, step := range map[string]func(*site, int) job{"K8sRollingDeploy": rolling, "K8sApply without a dry run": apply} {
		b.Run(name, func(b *testing.B) {
			s := newSite(b)
			rounds(b, func(n int) {
				r, err := s.run(b.Context(), step(s, n).assignment(b), executortest.New(b, nil).Env)
				if err != nil || r.Status != task.Succeeded {
					b.Fatalf("%s: %s, %v", r.Status, r.Message, err)
				}
			})
		})
	}
	for name, args := range map[string][]string{
		"kubectl apply": {"apply"}, "kubectl diff and apply server-side": {"apply", "--server-side", "--force-conflicts"},
	} {
		b.Run(name, func(b *testing.B) {
			kubeconfig, namespace := testcluster.Namespace(b)
			file := filepath.Join(b.TempDir(), "all.yaml")
			rounds(b, func(n int) {
				if err := os.WriteFile(file, []byte(many(n)), 0o600); err != nil {
					b.Fatal(err)
				}
				where := []string{"--kubeconfig", kubeconfig, "-n", namespace, "-f", file}
				if len(args) > 1 {
					diff := exec.CommandContext(b.Context(), "kubectl", append([]string{"diff", "--server-side", "--force-conflicts"}, where...)...)
					if out, err := diff.CombinedOutput(); diff.ProcessState.ExitCode() > 1 { // 1 is a difference
						b.Fatalf("kubectl diff: %v\n%s", err, out)
					}
				}
				if out, err := exec.CommandContext(b.Context(), "kubectl", append(slices.Clone(args), where...)...).CombinedOutput(); err != nil {
					b.Fatalf("kubectl: %v\n%s", err, out)
				}
			})
		})
	}
}

// BenchmarkStep is a new image of one Deployment with two pods, by a
// K8sRollingDeploy step and by kubectl apply and kubectl rollout status, in
// turns, so that both have the same machine.
func BenchmarkStep(b *testing.B) {
	s := newSite(b)
	kubeconfig, namespace := testcluster.Namespace(b)
	file := filepath.Join(b.TempDir(), "all.yaml")
	var ours, theirs []time.Duration
	timed := func(f func()) time.Duration {
		begin := time.Now()
		f()
		return time.Since(begin)
	}
	manifest := func(n int) string {
		return shop(fmt.Sprintf("nginx:%d", n), "1", "", 2)
	}
	round := func(n int) (time.Duration, time.Duration) {
		step := timed(func() {
			r, err := s.run(b.Context(), s.step(lane.OpRolling, manifest(n)).assignment(b), executortest.New(b, nil).Env)
			if err != nil || r.Status != task.Succeeded {
				b.Fatalf("%s: %s, %v", r.Status, r.Message, err)
			}
		})
		if err := os.WriteFile(file, []byte(manifest(n)), 0o600); err != nil {
			b.Fatal(err)
		}
		return step, timed(func() {
			for _, args := range [][]string{{"apply", "-f", file}, {"rollout", "status", "deployment/web"}} {
				args = append([]string{"--kubeconfig", kubeconfig, "-n", namespace}, args...)
				if out, err := exec.CommandContext(b.Context(), "kubectl", args...).CombinedOutput(); err != nil {
					b.Fatalf("kubectl: %v\n%s", err, out)
				}
			}
		})
	}
	round(0)
	for b.Loop() {
		step, kubectl := round(len(ours) + 1)
		ours, theirs = append(ours, step), append(theirs, kubectl)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	mine, other := ours[len(ours)/2], theirs[len(theirs)/2]
	b.ReportMetric(float64(mine.Milliseconds()), "step-p50-ms")
	b.ReportMetric(float64(other.Milliseconds()), "kubectl-p50-ms")
	b.ReportMetric(mine.Seconds()/other.Seconds(), "x-kubectl")
}

// rounds runs rounds after a first one, which makes the objects and isn't
// counted, and reports the median.
func rounds(b *testing.B, round func(n int)) {
	b.Helper()
	round(0)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		round(len(took) + 1)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
}
