package helm

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
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/task"
)

// benchChart is a chart of as many web applications as its values say, each a
// Deployment of two instances with a Service and a ConfigMap.
func benchChart() map[string]string {
	return map[string]string{
		"web/Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		"web/values.yaml": "image: nginx:1\napps: 1\n",
		"web/templates/all.yaml": `{{- range until (int .Values.apps) }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ $.Release.Name }}-{{ . }}}
data: {image: "{{ $.Values.image }}"}
---
apiVersion: v1
kind: Service
metadata: {name: {{ $.Release.Name }}-{{ . }}}
spec: {selector: {app: {{ $.Release.Name }}-{{ . }}}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ $.Release.Name }}-{{ . }}}
spec:
  replicas: 2
  selector: {matchLabels: {app: {{ $.Release.Name }}-{{ . }}}}
  template:
    metadata: {labels: {app: {{ $.Release.Name }}-{{ . }}}}
    spec: {containers: [{name: main, image: "{{ $.Values.image }}"}]}
{{- end }}
`,
	}
}

// BenchmarkDeploy is a new image for the Deployments of a chart: as HelmDeploy,
// and as "helm upgrade --install --wait" of the same chart.
func BenchmarkDeploy(b *testing.B) {
	testcluster.Namespace(b) // without a cluster nothing is built
	command := helmCommand(b)
	for _, apps := range []int{1, 20} {
		values := func(n int) string { return fmt.Sprintf("image: nginx:%d\napps: %d\n", n+1, apps) }
		b.Run(fmt.Sprintf("HelmDeploy of %d", apps), func(b *testing.B) {
			s := newSite(b)
			if err := cleanRepo(s.repo); err != nil {
				b.Fatal(err)
			}
			s.commit(b, benchChart())
			rounds(b, func(n int) {
				r, err := s.run(b.Context(), executortest.Assignment(b, nativehelm.Kind, s.step(nativehelm.OpDeploy, values(n))), executortest.New(b, nil).Env)
				if err != nil || r.Status != task.Succeeded {
					b.Fatalf("%s: %s, %v", r.Status, r.Message, err)
				}
			})
		})
		b.Run(fmt.Sprintf("helm upgrade of %d", apps), func(b *testing.B) {
			kubeconfig, namespace := testcluster.Namespace(b)
			dir := b.TempDir()
			for name, text := range benchChart() {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			file := filepath.Join(dir, "values.yaml")
			rounds(b, func(n int) {
				if err := os.WriteFile(file, []byte(values(n)), 0o600); err != nil {
					b.Fatal(err)
				}
				cmd := exec.CommandContext(b.Context(), command, "upgrade", "--install", "--wait", "--kubeconfig", kubeconfig, "-n", namespace, "-f", file, "rel", filepath.Join(dir, "web"))
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("helm: %v\n%s", err, out)
				}
			})
		})
	}
}

// helmCommand builds the helm command that tools/helm pins.
func helmCommand(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "helm")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-o", path, "helm.sh/helm/v4/cmd/helm")
	cmd.Dir = filepath.Join("..", "..", "tools", "helm")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build helm: %v\n%s", err, strings.TrimSpace(string(out)))
	}
	return path
}

// rounds runs rounds after a first one, which installs and isn't counted, and
// reports the median.
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
