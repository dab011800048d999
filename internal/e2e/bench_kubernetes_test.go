package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
			text := strings.NewReplacer("{{ .Values.greeting | quote }}", "hello", deadline, "60", "{{ .Values.image }}", fmt.Sprintf("nginx:%d", n)).Replace(manifests)
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

// BenchmarkFiftyServices is a delegate in a process of its own that deploys 50
// releases at once, each with two pods, a Service and a ConfigMap: how long
// that takes, and the most memory that it has ever held.
func BenchmarkFiftyServices(b *testing.B) {
	_, namespace := testcluster.Namespace(b)
	s := e2e.Start(b, wire.ServeConfig{}) // whose heartbeats are as in life
	d := spawn(b, delegateEnv+"=embedded", capacityEnv+"=50", addrEnv+"="+s.URL, tokenEnv+"="+delegateToken(b, s))
	guestbook(b, s, namespace)
	s.Apply(b, fmt.Sprintf(`service:
  identifier: web
  name: web
  serviceDefinition:
    type: Kubernetes
    spec:
      manifests:
        - manifest: {identifier: app, type: K8sManifest, spec: {store: {type: Inline, spec: {content: %q}}}}
        - manifest: {identifier: values, type: Values, spec: {store: {type: Inline, spec: {content: %q}}}}
`, strings.NewReplacer("name: settings", "name: settings<+matrix.n>", "name: web", "name: web<+matrix.n>", "app: web", "app: web<+matrix.n>").Replace(manifests), values))
	s.Apply(b, fmt.Sprintf(`infrastructureDefinition: {identifier: local, name: local, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, allowSimultaneousDeployments: true,
  spec: {connectorRef: cluster, namespace: %s, releaseName: "release<+matrix.n>"}}`, namespace))
	numbers := make([]string, 50)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	s.Apply(b, strings.Replace(strings.Replace(deployment("fifty", kubeStep("roll", "K8sRollingDeploy", "{skipDryRun: false}"), kubeStep("back", "K8sRollingRollback", "{}")),
		"        type: Deployment\n", "        type: Deployment\n        strategy: {matrix: {n: ["+strings.Join(numbers, ", ")+"], maxConcurrency: 50}}\n", 1), "timeout: 1m", "timeout: 5m", 2))
	measure(b, func(n int) {
		if e := s.Run(b, "fifty", image(fmt.Sprint(n))); e.Status != "Success" {
			b.Fatalf("%s: %s", e.Status, e.Message)
		}
	})
	b.ReportMetric(resident(b, strconv.Itoa(d.cmd.Process.Pid), "VmHWM:"), "delegate-peak-MB")
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
