package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// webTemplate is a chart's template of a Deployment behind a Service.
const webTemplate = `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}, annotations: {chart: {{ .Values.chart | quote }}}}
spec:
  replicas: 2
  progressDeadlineSeconds: ` + deadline + `
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: web, image: {{ .Values.image }}}]}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: {{ .Release.Name }}}, ports: [{port: 80}]}
`

// chartServer is an HTTP repository of one chart.
func chartServer(t *testing.T) string {
	t.Helper()
	return chartServerOf(t, webTemplate)
}

// chartServerOf is one whose chart has the given template.
func chartServerOf(t *testing.T, template string) string {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for name, text := range map[string]string{
		"web/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"web/templates/web.yaml": template,
	} {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = archive.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "index.yaml") {
			fmt.Fprint(w, "apiVersion: v1\nentries: {web: [{apiVersion: v2, name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}]}\n")
			return
		}
		_, _ = w.Write(packed.Bytes())
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// chartStage saves what a stage with a chart needs, and a pipeline of it.
func chartStage(t *testing.T, s *e2e.Server, url, namespace, typ, id, steps, rollback string) {
	t.Helper()
	s.Apply(t, fmt.Sprintf(`connector:
  identifier: cluster
  name: cluster
  type: K8sCluster
  spec: {credential: {type: InheritFromDelegate}, delegateSelectors: [embedded]}
---
connector:
  identifier: charts
  name: charts
  type: HttpHelmRepo
  spec: {helmRepoUrl: %[1]q, auth: {type: Anonymous}}
---
service:
  identifier: web
  name: web
  serviceDefinition:
    type: %[3]s
    spec:
      manifests:
        - manifest: {identifier: app, type: HelmChart, spec: {store: {type: Http, spec: {connectorRef: charts}}, chartName: web, helmVersion: V3, fetchHelmChartMetadata: true}}
        - manifest: {identifier: values, type: Values, spec: {store: {type: Inline, spec: {content: "{image: <+pipeline.variables.image>, chart: <+manifests.app.helm.name>-<+manifests.app.helm.version>}"}}}}
---
environment: {identifier: dev, name: dev, type: PreProduction}
---
infrastructureDefinition:
  identifier: local
  name: local
  environmentRef: dev
  deploymentType: %[3]s
  type: KubernetesDirect
  spec: {connectorRef: cluster, namespace: %[2]s, releaseName: web}
`, url, namespace, typ))
	s.Apply(t, strings.Replace(deployment(id, steps, rollback), "deploymentType: Kubernetes", "deploymentType: "+typ, 1))
}

// A chart from a repository through whole pipelines: as a Helm release that is
// upgraded, goes back and is deleted, and rendered into a Kubernetes deployment.
func TestChartsAreDeployed(t *testing.T) {
	t.Parallel()
	kubeconfig, namespace := testcluster.Namespace(t)
	url := chartServer(t)
	runs := func() string {
		return kubectl(t, kubeconfig, namespace, "get", "deployment", "-o", "jsonpath={.items[*].spec.template.spec.containers[0].image} {.items[*].status.availableReplicas} {.items[*].metadata.annotations.chart}")
	}
	revisions := func() string {
		return kubectl(t, kubeconfig, namespace, "get", "secret", "-l", "owner=helm", "-o", "jsonpath={.items[*].metadata.labels.status}")
	}
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	chartStage(t, s, url, namespace, "NativeHelm", "native", kubeStep("helm", "HelmDeploy", "{}"), kubeStep("back", "HelmRollback", "{}"))
	run(t, s, "native", "Success", image("1"))
	run(t, s, "native", "Failed", image("broken"))
	if diff := cmp.Diff("nginx:1 2 web-1.0.0; superseded superseded deployed", runs()+"; "+revisions()); diff != "" {
		t.Errorf("after the rollback (-want +got):\n%s", diff)
	}
	run(t, s, "native", "Success", image("2"))
	if diff := cmp.Diff("nginx:2 2 web-1.0.0", runs()); diff != "" {
		t.Errorf("after the next deployment (-want +got):\n%s", diff)
	}
	chartStage(t, s, url, namespace, "NativeHelm", "gone", kubeStep("delete", "HelmDelete", "{}"), kubeStep("back", "HelmRollback", "{}"))
	run(t, s, "gone", "Success", image("2"))
	if got := kubectl(t, kubeconfig, namespace, "get", "deployment,secret", "-o", "name"); got != "" {
		t.Errorf("still there after HelmDelete:\n%s", got)
	}

	other := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	chartStage(t, other, url, namespace, "Kubernetes", "rendered", kubeStep("roll", "K8sRollingDeploy", "{}"), kubeStep("back", "K8sRollingRollback", "{}"))
	run(t, other, "rendered", "Success", image("3"))
	if diff := cmp.Diff("nginx:3 2 web-1.0.0; ", runs()+"; "+revisions()); diff != "" {
		t.Errorf("a chart in a Kubernetes deployment (-want +got):\n%s", diff)
	}
}

// A chart that somebody wrote to take all memory fails its step, by its name. The
// control plane, whose own process has the delegate, goes on, and so does the
// delegate: the next chart is deployed.
func TestABombInAChartFailsItsStepAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, step, back string }{
		{"NativeHelm", "HelmDeploy", "HelmRollback"},
		{"Kubernetes", "K8sRollingDeploy", "K8sRollingRollback"},
	} {
		t.Run(c.typ, func(t *testing.T) {
			t.Parallel()
			_, namespace := testcluster.Namespace(t)
			s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}, Capacity: 1, Kinds: e2e.Kinds(256 << 20)})
			stage := func(url string) {
				chartStage(t, s, url, namespace, c.typ, "chart", kubeStep("bomb", c.step, "{}"), kubeStep("back", c.back, "{}"))
			}
			for _, bomb := range []string{"{{ range until 1000000000 }}x{{ end }}", `{{ $a := "x" }}{{ range until 40 }}{{ $a = print $a $a }}{{ end }}`} {
				stage(chartServerOf(t, bomb))
				e := s.Run(t, "chart", image("1"))
				if step := e.Root.Find("bomb"); e.Status != "Failed" || step == nil || !strings.Contains(step.Message, "took more than 256 MiB of memory") {
					t.Errorf("%s ended %s: %+v; want that the step fails for its memory", bomb, e.Status, step)
				}
			}
			stage(chartServer(t))
			run(t, s, "chart", "Success", image("1"))
		})
	}
}

// Helm's canaries and colours come and go through whole pipelines, and what
// served is there again after one that failed.
func TestHelmStandsBeside(t *testing.T) {
	t.Parallel()
	onEveryHost(t, helmStandsBeside)
}

func helmStandsBeside(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s, url := start(t), chartServer(t)
	kubeconfig, namespace := testcluster.Namespace(t)
	wantHelm := func(when, want string) {
		t.Helper()
		got := kubectl(t, kubeconfig, namespace, "get", "deployment,service", "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.template.spec.containers[0].image} {.status.availableReplicas}{.spec.selector.harness\.io/color};{end}`)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	native := kubeStep("helm", "HelmDeploy", "{}")
	back := kubeStep("gone", "HelmCanaryDelete", "{}") + kubeStep("back", "HelmRollback", "{}")
	chartStage(t, s, url, namespace, "NativeHelm", "native", native, back)
	chartStage(t, s, url, namespace, "NativeHelm", "canary",
		kubeStep("canary", "HelmCanaryDeploy", "{instanceSelection: {type: Count, spec: {count: 1}}}")+holdStep+kubeStep("delete", "HelmCanaryDelete", "{}")+native, back)
	run(t, s, "native", "Success", image("1"))
	id, e := held(t, s, "canary", image("2"))
	wantHelm("with a canary", "web nginx:1 2;web-canary nginx:2 1;web  ;")
	approve(t, s, id, e.Root.Find("hold").ID)
	if e, err := s.Until(t.Context(), id, e2e.Ended); err != nil || e.Status != "Success" {
		t.Fatalf("%v %s %s", err, e.Status, e.Message)
	}
	wantHelm("after the canary", "web nginx:2 2;web  ;")
	run(t, s, "canary", "Failed", image("broken"))
	wantHelm("after a broken canary", "web nginx:2 2;web  ;")

	_, namespace = testcluster.Namespace(t)
	back = kubeStep("back", "HelmRollback", "{}")
	colors := kubeStep("stage", "HelmBGDeploy", "{}") + kubeStep("swap", "HelmBlueGreenSwapStep", "{}")
	chartStage(t, s, url, namespace, "NativeHelm", "colors", colors, back)
	chartStage(t, s, url, namespace, "NativeHelm", "regret", colors+failStep, back)
	run(t, s, "colors", "Success", image("1"))
	wantHelm("after the first colour", "web-blue nginx:1 2;web  blue;web-stage  green;")
	run(t, s, "colors", "Success", image("2"))
	both := "web-blue nginx:1 2;web-green nginx:2 2;web  green;web-stage  blue;"
	wantHelm("after the second colour", both)
	run(t, s, "regret", "Failed", image("3"))
	wantHelm("after a colour that was swapped and regretted", both)
}
