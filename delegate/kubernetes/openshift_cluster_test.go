package kubernetes

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/internal/testcluster"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

func configs() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps.openshift.io", Version: "v1", Resource: "deploymentconfigs"}
}

// openshift defines OpenShift's kinds and stands for the controller of
// DeploymentConfigs until the test ends: an image with "broken" in it fails.
func (s *site) openshift(t *testing.T) {
	t.Helper()
	for _, k := range []schema.GroupVersionKind{
		{Group: "apps.openshift.io", Version: "v1", Kind: "DeploymentConfig"},
		{Group: "route.openshift.io", Version: "v1", Kind: "Route"},
		{Group: "image.openshift.io", Version: "v1", Kind: "ImageStream"},
	} {
		testcluster.Define(t, s.config, k)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	res := s.dyn.Resource(configs()).Namespace(s.namespace)
	w, err := res.Watch(ctx, metav1.ListOptions{})
	check(t, err)
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok || seen(o) || o.GetDeletionTimestamp() != nil {
				continue
			}
			n, condition := replicas(o), `"status":"True","reason":"NewReplicationControllerAvailable"`
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			if contains(fmt.Sprint(containers), "broken") {
				n, condition = 0, `"status":"False","reason":"ProgressDeadlineExceeded","message":"the roll-out failed"`
			}
			patch := fmt.Sprintf(`{"status":{"observedGeneration":%d,"updatedReplicas":%d,"availableReplicas":%d,"conditions":[{"type":"Progressing",%s}]}}`, o.GetGeneration(), n, n, condition)
			_, err := res.Patch(ctx, o.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
			if err != nil && ctx.Err() == nil && e.Type != "DELETED" {
				t.Log(err)
			}
		}
	}()
}

func configOfYAML(image string) string {
	return fmt.Sprintf(`---
apiVersion: apps.openshift.io/v1
kind: DeploymentConfig
metadata: {name: web}
spec:
  replicas: 4
  selector: {app: web}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "%s", envFrom: [{configMapRef: {name: cfg}}]}]
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: web}
spec: {to: {kind: Service, name: web}}
---
apiVersion: image.openshift.io/v1
kind: ImageStream
metadata: {name: web}
spec: {lookupPolicy: {local: true}}
`, image) + configYAML("cfg", "1") + serviceYAML("web", "web")
}

// deployed is what a DeploymentConfig runs, selects and asks for.
func (s *site) deployed(t *testing.T, name string) string {
	t.Helper()
	o, err := s.dyn.Resource(configs()).Namespace(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	check(t, err)
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	main := &unstructured.Unstructured{Object: containers[0].(map[string]any)}
	from, _, _ := unstructured.NestedSlice(main.Object, "envFrom")
	cfg := &unstructured.Unstructured{Object: from[0].(map[string]any)}
	selector, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector")
	return fmt.Sprintf("%s %s %v %d", text(main, "image"), text(cfg, "configMapRef", "name"), selector, replicas(o))
}

// semantics/kubernetes §6: a DeploymentConfig is a workload like a Deployment:
// it rolls out, is waited for, versioned, rolled back, scaled, and can be a
// canary or a colour.
func TestDeploymentConfig(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.openshift(t)
	wants := func(name, want string) {
		t.Helper()
		if diff := cmp.Diff(want, s.deployed(t, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s.succeed(t, s.step(lane.OpRolling, configOfYAML("nginx:1")))
	wants("web", "nginx:1 cfg-1 map[app:web] 4")

	broken := s.step(lane.OpRolling, configOfYAML("broken:2"))
	s.fail(t, broken, "DeploymentConfig/web failed: ProgressDeadlineExceeded")
	s.succeed(t, in(broken, lane.OpRollingRollback))
	wants("web", "nginx:1 cfg-1 map[app:web] 4")

	canary := s.step(lane.OpCanary, configOfYAML("nginx:3"))
	canary.Instances = percent(50)
	s.succeed(t, canary)
	wants("web-canary", "nginx:3 cfg-canary map[app:web harness.io/track:canary] 2")
	s.succeed(t, in(canary, lane.OpCanaryDelete))
	wants("web", "nginx:1 cfg-1 map[app:web] 4")
}

func TestDeploymentConfigOfAColor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.openshift(t)
	p := s.step(lane.OpBlueGreen, configOfYAML("nginx:1"))
	s.succeed(t, p)
	s.succeed(t, in(p, lane.OpSwap))
	if diff := cmp.Diff("nginx:1 cfg map[app:web harness.io/color:blue] 4", s.deployed(t, "web-blue")); diff != "" {
		t.Errorf("the colour (-want +got):\n%s", diff)
	}
	s.fail(t, s.step(lane.OpRolling, "apiVersion: v1\nkind: DeploymentConfig\nmetadata: {name: web}\n"), "no kind DeploymentConfig in v1")
}

// semantics/kubernetes §4.6: items of a list of one kind needn't say their
// kind.
func TestListsOfOneKind(t *testing.T) {
	t.Parallel()
	objects, err := parse("all.yaml", `
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ServiceList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
`)
	check(t, err)
	var got []string
	for _, o := range objects {
		got = append(got, o.GetAPIVersion()+" "+display(o))
	}
	if diff := cmp.Diff([]string{"v1 Service/a", "v1 Service/b", "v1 ConfigMap/c"}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, text := range []string{"{apiVersion: v1, kind: List, items: [{metadata: {name: a}}]}", "{apiVersion: v1, kind: List, items: [a]}", "{apiVersion: v1, kind: ServiceList, items: [{}]}"} {
		if _, err := parse("all.yaml", text); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

const templateYAML = `
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: web}
labels: {made-by: template}
parameters:
- {name: IMAGE, required: true}
- {name: REPLICAS, value: "1"}
- {name: PASSWORD, generate: expression, from: "[a-zA-Z0-9]{16}"}
- {name: CERTIFICATE}
objects:
- {apiVersion: v1, kind: Secret, metadata: {name: login, namespace: elsewhere}, stringData: {password: "${PASSWORD}"}}
- apiVersion: apps.openshift.io/v1
  kind: DeploymentConfig
  metadata: {name: web}
  spec:
    replicas: ${{REPLICAS}}
    selector: {app: web}
    template:
      metadata: {labels: {app: web}}
      spec: {containers: [{name: main, image: "${IMAGE}", envFrom: [{configMapRef: {name: cfg}}], env: [{name: P, valueFrom: {secretKeyRef: {name: login, key: password}}}]}]}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: cfg}, data: {home: "${HOME}"}}
- apiVersion: route.openshift.io/v1
  kind: Route
  metadata: {name: web}
  spec: {to: {kind: Service, name: web}, tls: {termination: edge, certificate: "${CERTIFICATE}"}}
- {apiVersion: image.openshift.io/v1, kind: ImageStream, metadata: {name: web}}
`

// semantics/kubernetes §4.5: what a template makes is deployed like plain
// manifests: its parameters come from files of the repository, then from
// layers whose expressions are resolved; what is generated stays the same in a
// stage.
func TestOpenshiftTemplate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.openshift(t)
	g := repository(t, map[string]string{"app/web.yaml": templateYAML, "app/web.env": "IMAGE=nginx:1\nREPLICAS=2\n", "app/prod.env": "REPLICAS=3\nCERTIFICATE=\"one\ntwo\"\n"})
	g.Paths = []string{"app/web.yaml"}
	p := s.step(lane.OpCanary, "")
	p.Instances = percent(50)
	p.Target.Manifest = &origin.Manifest{ID: "app", Type: "OpenshiftTemplate", Store: task.Store{Git: g}, ParamsPaths: []string{"app/web.env", "/app/prod.env"}}
	p.Target.Params = []origin.ValuesFile{{ID: "over", Store: task.Store{Inline: "REPLICAS=4\nIMAGE=nginx:1<+kubernetes.release.revision>"}}}
	s.succeed(t, p)
	wants := func(name, want string) {
		t.Helper()
		if diff := cmp.Diff(want, s.deployed(t, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	wants("web-canary", "nginx:11 cfg-canary map[app:web harness.io/track:canary] 2")
	password := func(secret string) string {
		t.Helper()
		o, err := s.CoreV1().Secrets(s.namespace).Get(t.Context(), secret, metav1.GetOptions{})
		check(t, err)
		return string(o.Data["password"])
	}
	generated := password("login-canary")
	s.succeed(t, in(p, lane.OpCanaryDelete))
	rolling := in(p, lane.OpRolling)
	rolling.Instances = nil
	s.succeed(t, rolling)
	wants("web", "nginx:12 cfg-2 map[app:web] 4")
	if got := password("login-2"); got != generated || len(got) != 16 {
		t.Errorf("the primary got the generated password %q, the canary %q; want the same 16 characters", got, generated)
	}
	route, err := s.dyn.Resource(schema.GroupVersionResource{Group: "route.openshift.io", Version: "v1", Resource: "routes"}).Namespace(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	check(t, err)
	if got := text(route, "spec", "tls", "certificate") + route.GetLabels()["made-by"]; got != "one\ntwotemplate" {
		t.Errorf("the route has the certificate and label %q", got)
	}

	apply := in(p, lane.OpApply)
	apply.FilePaths = []string{"app/web.yaml"}
	apply.ApplyParams = []origin.ValuesFile{{ID: "step", Store: task.Store{Inline: "REPLICAS=5"}}}
	s.succeed(t, apply)
	if got := s.deployed(t, "web"); !contains(got, "] 5") {
		t.Errorf("with a step's parameters it is %s", got)
	}
	apply.ApplyValues = apply.ApplyParams
	s.fail(t, apply, "override step is of the type Values, but manifest app is a OpenshiftTemplate")
	other := s.step(lane.OpRolling, "")
	other.Target.Manifest = p.Target.Manifest
	other.Target.Params = []origin.ValuesFile{{ID: "over", Store: task.Store{Inline: "REPLICA=4"}}}
	s.fail(t, other, `no parameter "REPLICA"`)
}
