package e2e_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
)

// manifests are a Deployment, a Service and a ConfigMap with Go templating.
const manifests = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  greeting: {{ .Values.greeting | quote }}
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  progressDeadlineSeconds: ` + deadline + `
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: {{ .Values.image }}
          envFrom:
            - configMapRef: {name: settings}
`

// deadline gives pods that can come up time for it on a busy machine.
const deadline = `{{ if contains "broken" .Values.image }}5{{ else }}60{{ end }}`

// values take the image and the greeting from the pipeline.
const values = `
image: <+pipeline.variables.image>
greeting: <+pipeline.variables.greeting>
`

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}

// guestbook saves what a Deployment stage into a namespace needs.
func guestbook(tb testing.TB, s *e2e.Server, namespace string) {
	tb.Helper()
	s.Apply(tb, fmt.Sprintf(`connector:
  identifier: cluster
  name: cluster
  type: K8sCluster
  spec: {credential: {type: InheritFromDelegate}, delegateSelectors: [embedded]}
---
service:
  identifier: web
  name: web
  serviceDefinition:
    type: Kubernetes
    spec:
      manifests:
        - manifest:
            identifier: app
            type: K8sManifest
            spec:
              store:
                type: Inline
                spec:
                  content: |
%s
        - manifest:
            identifier: values
            type: Values
            spec:
              store:
                type: Inline
                spec:
                  content: |
%s
---
environment:
  identifier: dev
  name: dev
  type: PreProduction
---
infrastructureDefinition:
  identifier: local
  name: local
  environmentRef: dev
  deploymentType: Kubernetes
  type: KubernetesDirect
  spec:
    connectorRef: cluster
    namespace: %s
    releaseName: release-<+INFRA_KEY_SHORT_ID>
`, indent(manifests, "                    "), indent(values, "                    "), namespace))
}

// deployment is a pipeline with one Deployment stage.
func deployment(id, steps, rollback string) string {
	return fmt.Sprintf(`pipeline:
  identifier: %[1]s
  name: %[1]s
  variables:
    - {name: image, type: String, value: <+input>}
    - {name: greeting, type: String, value: <+input>.default(hello)}
  stages:
    - stage:
        identifier: deploy
        name: deploy
        type: Deployment
        spec:
          deploymentType: Kubernetes
          service: {serviceRef: web}
          environment:
            environmentRef: dev
            infrastructureDefinitions: [{identifier: local}]
          execution:
            steps:
%[2]s
            rollbackSteps:
%[3]s
        failureStrategies:
          - onFailure: {errors: [AllErrors], action: {type: StageRollback}}
`, id, indent(steps, "              "), indent(rollback, "              "))
}

func kubeStep(id, typ, spec string) string {
	return fmt.Sprintf("- step: {identifier: %s, name: %s, type: %s, timeout: 1m, spec: %s}\n", id, id, typ, spec)
}

// kubectl reads the cluster as its users do.
func kubectl(t *testing.T, kubeconfig, namespace string, args ...string) string {
	t.Helper()
	args = append([]string{"--kubeconfig", kubeconfig, "-n", namespace}, args...)
	cmd := exec.CommandContext(t.Context(), "kubectl", args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return string(out)
}

// serving says what a workload runs: its image, its ConfigMap and how many
// pods are available.
func serving(t *testing.T, kubeconfig, namespace, name string) string {
	t.Helper()
	return kubectl(t, kubeconfig, namespace, "get", "deployment", name, "-o",
		"jsonpath={.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].envFrom[0].configMapRef.name} {.status.availableReplicas}")
}

func run(t *testing.T, s *e2e.Server, pipeline, want string, inputs map[string]string) e2e.Execution {
	t.Helper()
	e := s.Run(t, pipeline, inputs)
	if e.Status != want {
		doc, _ := json.MarshalIndent(e, "", " ") //nolint:errchkjson // for the message only
		t.Fatalf("%s ended %s, want %s\n%s", pipeline, e.Status, want, doc)
	}
	return e
}

func image(tag string) map[string]string { return map[string]string{"variables.image": "nginx:" + tag} }

func TestRollingDeploysUpdatesAndRollsBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, rollingDeploysUpdatesAndRollsBack)
}

func rollingDeploysUpdatesAndRollsBack(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := start(t)
	guestbook(t, s, namespace)
	look := "- " + shell("look", "kubectl --kubeconfig ${HARNESS_KUBE_CONFIG_PATH} -n <+infra.namespace> get deployment web") + "\n"
	s.Apply(t, deployment("rolling", kubeStep("roll", "K8sRollingDeploy", "{skipDryRun: false}")+look, kubeStep("back", "K8sRollingRollback", "{}")))

	run(t, s, "rolling", "Success", image("1"))
	if diff := cmp.Diff("nginx:1 settings-1 2", serving(t, kubeconfig, namespace, "web")); diff != "" {
		t.Errorf("after the first deployment (-want +got):\n%s", diff)
	}
	run(t, s, "rolling", "Success", image("2"))
	if diff := cmp.Diff("nginx:2 settings-2 2", serving(t, kubeconfig, namespace, "web")); diff != "" {
		t.Errorf("after the second deployment (-want +got):\n%s", diff)
	}

	e := run(t, s, "rolling", "Failed", image("broken"))
	if roll, back := e.Root.Find("roll"), e.Root.Find("back"); roll.Status != "Failed" || back.Status != "Success" {
		t.Errorf("roll %s, back %s", roll.Status, back.Status)
	}
	if diff := cmp.Diff("nginx:2 settings-2 2", serving(t, kubeconfig, namespace, "web")); diff != "" {
		t.Errorf("after a broken image (-want +got):\n%s", diff)
	}

	inputs := image("2")
	inputs["variables.greeting"] = "changed"
	run(t, s, "rolling", "Success", inputs)
	if got := kubectl(t, kubeconfig, namespace, "get", "configmap", "settings-4", "-o", "jsonpath={.data.greeting}"); got != "changed" {
		t.Errorf("the new ConfigMap says %q", got)
	}
	if diff := cmp.Diff("nginx:2 settings-4 2", serving(t, kubeconfig, namespace, "web")); diff != "" {
		t.Errorf("after a changed ConfigMap (-want +got):\n%s", diff)
	}
}

// A broken first deployment has nothing to go back to: the rollback says so
// and leaves the objects (semantics/kubernetes §23.11).
func TestFirstDeploymentThatFailsIsKept(t *testing.T) {
	t.Parallel()
	onEveryHost(t, firstDeploymentThatFailsIsKept)
}

func firstDeploymentThatFailsIsKept(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := start(t)
	guestbook(t, s, namespace)
	s.Apply(t, deployment("rolling", kubeStep("roll", "K8sRollingDeploy", "{}"), kubeStep("back", "K8sRollingRollback", "{}")))
	e := run(t, s, "rolling", "Failed", image("broken"))
	if back := e.Root.Find("back"); back.Status != "Success" {
		t.Errorf("back %s: %s", back.Status, back.Message)
	}
	if got := serving(t, kubeconfig, namespace, "web"); got != "nginx:broken settings-1 " {
		t.Errorf("the cluster has %q", got)
	}
}

func TestCanaryStandsBesideAndGoes(t *testing.T) {
	t.Parallel()
	onEveryHost(t, canaryStandsBesideAndGoes)
}

func canaryStandsBesideAndGoes(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := start(t)
	guestbook(t, s, namespace)
	s.Apply(t, deployment("rolling", kubeStep("roll", "K8sRollingDeploy", "{}"), kubeStep("back", "K8sRollingRollback", "{}")))
	back := kubeStep("rollbackCanaryDelete", "K8sCanaryDelete", "{}") + kubeStep("rollingRollback", "K8sRollingRollback", "{}")
	canary := kubeStep("canary", "K8sCanaryDeploy", "{instanceSelection: {type: Percentage, spec: {percentage: 50}}}")
	s.Apply(t, deployment("canary", canary+holdStep+kubeStep("canaryDelete", "K8sCanaryDelete", "{}")+kubeStep("primary", "K8sRollingDeploy", "{}"), back))

	run(t, s, "rolling", "Success", image("1"))
	id, e := held(t, s, "canary", image("2"))
	if diff := cmp.Diff("nginx:2 settings-canary 1", serving(t, kubeconfig, namespace, "web-canary")); diff != "" {
		t.Errorf("the canary (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("nginx:1 settings-1 2", serving(t, kubeconfig, namespace, "web")); diff != "" {
		t.Errorf("what serves while the canary runs (-want +got):\n%s", diff)
	}
	approve(t, s, id, e.Root.Find("hold").ID)
	if e, err := s.Until(t.Context(), id, e2e.Ended); err != nil || e.Status != "Success" {
		t.Fatalf("%v %s %s", err, e.Status, e.Message)
	}
	if diff := cmp.Diff("nginx:2", strings.Fields(serving(t, kubeconfig, namespace, "web"))[0]); diff != "" {
		t.Errorf("what serves afterwards (-want +got):\n%s", diff)
	}
	if got := kubectl(t, kubeconfig, namespace, "get", "deployment,configmap", "-o", "name"); strings.Contains(got, "canary") {
		t.Errorf("the canary is still there:\n%s", got)
	}
}

// holdStep waits for somebody; failStep fails.
const (
	holdStep = "- step: {identifier: hold, name: hold, type: HarnessApproval, timeout: 1m, spec: {approvalMessage: go on, includePipelineExecutionHistory: true, approvers: {userGroups: [_project_all_users], minimumCount: 1, disallowPipelineExecutor: false}}}\n"
	failStep = "- step: {identifier: fail, name: fail, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: exit 1}}}}\n"
)

// held starts a pipeline and waits until its holdStep does.
func held(t *testing.T, s *e2e.Server, pipeline string, inputs map[string]string) (id string, e e2e.Execution) {
	t.Helper()
	waiting := func(e e2e.Execution) bool { return e.Root.Find("hold").Status == "ApprovalWaiting" }
	id = s.Begin(t, pipeline, inputs)
	e, err := s.Until(t.Context(), id, func(e e2e.Execution) bool { return waiting(e) || e2e.Ended(e) })
	if err != nil || !waiting(e) {
		doc, _ := json.MarshalIndent(e, "", " ") //nolint:errchkjson // for the message only
		t.Fatalf("%s doesn't hold: %v\n%s", pipeline, err, doc)
	}
	return id, e
}

func approve(t *testing.T, s *e2e.Server, execution, node string) {
	t.Helper()
	err := s.Call(t.Context(), "POST", "/v1/executions/"+execution+"/nodes/"+node+"/approval", map[string]any{"action": "APPROVE"}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func TestBlueGreenSwapsAndSwapsBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, blueGreenSwapsAndSwapsBack)
}

func blueGreenSwapsAndSwapsBack(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := start(t)
	guestbook(t, s, namespace)
	stage, swap := kubeStep("stage", "K8sBlueGreenDeploy", "{}"), kubeStep("swap", "K8sBGSwapServices", "{}")
	back := kubeStep("back", "K8sBGSwapServices", "{}")
	s.Apply(t, deployment("bluegreen", stage+swap, back))
	s.Apply(t, deployment("regret", stage+swap+failStep, back))

	colors := func() string {
		return kubectl(t, kubeconfig, namespace, "get", "service", "web", "-o", `jsonpath={.spec.selector.harness\.io/color}`) + "/" +
			kubectl(t, kubeconfig, namespace, "get", "service", "web-stage", "-o", `jsonpath={.spec.selector.harness\.io/color}`)
	}
	run(t, s, "bluegreen", "Success", image("1"))
	if got := colors() + " " + serving(t, kubeconfig, namespace, "web-blue"); got != "blue/green nginx:1 settings 2" {
		t.Errorf("after the first deployment: %s", got)
	}
	run(t, s, "bluegreen", "Success", image("2"))
	if got := colors() + " " + serving(t, kubeconfig, namespace, "web-green"); got != "green/blue nginx:2 settings 2" {
		t.Errorf("after the second deployment: %s", got)
	}
	run(t, s, "regret", "Failed", image("3"))
	if got := colors() + " " + serving(t, kubeconfig, namespace, "web-blue"); got != "green/blue nginx:3 settings 2" {
		t.Errorf("after a rollback: %s", got)
	}
	if got := serving(t, kubeconfig, namespace, "web-green"); got != "nginx:2 settings 2" {
		t.Errorf("what serves after a rollback: %s", got)
	}
}
