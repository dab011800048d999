package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// BenchmarkRollingDeploy is a new image of a Deployment with two replicas, a
// Service and a ConfigMap: from the request to start a pipeline to its
// Success, and beside it kubectl apply and kubectl rollout status.
func BenchmarkRollingDeploy(b *testing.B) {
	b.Run("slipway", func(b *testing.B) {
		_, namespace := testcluster.Namespace(b)
		s := e2e.Start(b, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
		guestbook(b, s, namespace)
		s.Apply(b, deployment("rolling", kubeStep("roll", "K8sRollingDeploy", "{}"), kubeStep("back", "K8sRollingRollback", "{}")))
		measure(b, func(n int) {
			if e := s.Run(b, "rolling", image(fmt.Sprint(n))); e.Status != "Success" {
				b.Fatalf("%s: %s", e.Status, e.Message)
			}
		})
	})
	b.Run("kubectl", func(b *testing.B) {
		kubeconfig, namespace := testcluster.Namespace(b)
		file := filepath.Join(b.TempDir(), "all.yaml")
		measure(b, func(n int) {
			text := strings.NewReplacer("{{ .Values.greeting | quote }}", "hello", "{{ .Values.image }}", fmt.Sprintf("nginx:%d", n)).Replace(manifests)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
			for _, args := range [][]string{{"apply", "-f", file}, {"rollout", "status", "deployment/web"}} {
				args = append([]string{"--kubeconfig", kubeconfig, "-n", namespace}, args...)
				if out, err := exec.CommandContext(b.Context(), "kubectl", args...).CombinedOutput(); err != nil {
					b.Fatalf("kubectl: %v\n%s", err, out)
				}
			}
		})
	})
}

// measure runs rounds after a first one that isn't counted, and reports the median.
func measure(b *testing.B, round func(n int)) {
	b.Helper()
	round(0)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		round(len(took) + 1)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}
