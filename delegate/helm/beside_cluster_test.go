package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
)

// webChart is a chart as most are: everything is named and labelled after the
// release, most by one name, but for a ConfigMap and an account that have fixed
// names.
func webChart() map[string]string {
	return map[string]string{
		"web/Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		"web/values.yaml": "image: nginx:1\nreplicas: 4\ntest: complete\nport: 80\n",
		"web/templates/all.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}-web, labels: {instance: {{ .Release.Name }}}}
spec:
  replicas: {{ .Values.replicas }}
  progressDeadlineSeconds: {{ if hasPrefix "broken:" .Values.image }}3{{ else }}300{{ end }}
  selector: {matchLabels: {instance: {{ .Release.Name }}{{ with .Values.tier }}, tier: {{ . }}{{ end }}}}
  template:
    metadata: {labels: {instance: {{ .Release.Name }}{{ with .Values.tier }}, tier: {{ . }}{{ end }}}}
    spec:
      serviceAccountName: {{ if .Values.account }}{{ .Release.Name }}-{{ end }}web
      containers:
        - name: main
          image: "{{ .Values.image }}"
          env: [{name: SELF, value: "http://{{ .Release.Name }}-web:80"}]
          envFrom: [{configMapRef: {name: fixed}}, {configMapRef: {name: {{ .Release.Name }}-web}}]
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}-web}
spec: {selector: {instance: {{ .Release.Name }}}, ports: [{port: {{ .Values.port }}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed}
data: {image: "{{ .Values.image }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-web}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ if .Values.account }}{{ .Release.Name }}-{{ end }}web}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: {{ .Release.Name }}-web}
spec: {minAvailable: 1, selector: {matchLabels: {instance: {{ .Release.Name }}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: {{ .Release.Name }}-web}
spec: {rules: [{host: "{{ .Release.Name }}.example.com", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: {{ .Release.Name }}-web, port: {number: 80}}}}]}}]}
`,
		"web/templates/hook.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: {{ .Release.Name }}-migrate, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}}
spec: {backoffLimit: 0, template: {metadata: {labels: {slipway.test/behaviour: crashloop}}, spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1"}]}}}
`,
		"web/templates/smoke.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: {{ .Release.Name }}-smoke, annotations: {helm.sh/hook: test}}
spec: {backoffLimit: 0, template: {metadata: {labels: {slipway.test/behaviour: {{ .Values.test }}}}, spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1", args: ["{{ .Release.Name }}-web:80"]}]}}}
`,
	}
}

func newWebSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	check(t, cleanRepo(s.repo))
	s.commit(t, webChart())
	return s
}

// world lists what is in the namespace, without what the cluster makes itself:
// Deployments with images and replicas, Services with selectors, and more.
func (s *site) world(t *testing.T) []string {
	t.Helper()
	var out []string
	add := func(kind, name string, more ...string) {
		out = append(out, strings.TrimSpace(kind+" "+name+" "+strings.Join(more, " ")))
	}
	ctx, all := t.Context(), metav1.ListOptions{}
	deployments, err := s.AppsV1().Deployments(s.namespace).List(ctx, all)
	check(t, err)
	for _, d := range deployments.Items {
		add("Deployment", d.Name, d.Spec.Template.Spec.Containers[0].Image, "x", string(rune('0'+*d.Spec.Replicas)), texts(d.Spec.Selector.MatchLabels))
	}
	services, err := s.CoreV1().Services(s.namespace).List(ctx, all)
	check(t, err)
	for _, o := range services.Items {
		add("Service", o.Name, texts(o.Spec.Selector))
	}
	maps, err := s.CoreV1().ConfigMaps(s.namespace).List(ctx, all)
	check(t, err)
	for _, o := range maps.Items {
		if o.Name != "kube-root-ca.crt" {
			add("ConfigMap", o.Name, texts(o.Data))
		}
	}
	accounts, err := s.CoreV1().ServiceAccounts(s.namespace).List(ctx, all)
	check(t, err)
	for _, o := range accounts.Items {
		if o.Name != "default" {
			add("ServiceAccount", o.Name)
		}
	}
	budgets, err := s.PolicyV1().PodDisruptionBudgets(s.namespace).List(ctx, all)
	check(t, err)
	for _, o := range budgets.Items {
		add("PodDisruptionBudget", o.Name, texts(o.Spec.Selector.MatchLabels))
	}
	ingresses, err := s.NetworkingV1().Ingresses(s.namespace).List(ctx, all)
	check(t, err)
	for _, o := range ingresses.Items {
		r := o.Spec.Rules[0]
		add("Ingress", o.Name, r.Host, r.HTTP.Paths[0].Backend.Service.Name)
	}
	slices.Sort(out)
	return out
}

// texts are a mapping of texts, ordered.
func texts(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, ",")
}

func (s *site) wantWorld(t *testing.T, when string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.world(t)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// stable is what HelmDeploy makes of webChart.
func stable(image string) []string {
	return []string{
		"ConfigMap fixed image=" + image, "ConfigMap rel-web",
		"Deployment rel-web " + image + " x 4 instance=rel",
		"Ingress rel-web rel.example.com rel-web",
		"PodDisruptionBudget rel-web instance=rel",
		"Service rel-web instance=rel",
		"ServiceAccount web",
	}
}

func canaryOf(image string, count string) []string {
	return []string{
		"ConfigMap fixed-canary image=" + image, "ConfigMap rel-canary-web",
		"Deployment rel-canary-web " + image + " x " + count + " harness.io/track=canary,instance=rel",
	}
}

func sortedWorld(parts ...[]string) []string {
	out := slices.Concat(parts...)
	slices.Sort(out)
	return out
}

func noHooks(p job) job {
	return flagged(flagged(p, "Install", "--no-hooks"), "Upgrade", "--no-hooks")
}

func counted(p job, count int) job {
	p.Instances = &lane.InstanceSelection{Count: &count}
	return p
}

// A canary stands beside what serves, with its own configuration and without
// what serves has for both; it goes whole. Twice is harmless.
func TestCanary(t *testing.T) {
	t.Parallel()
	s := newWebSite(t)
	s.succeed(t, noHooks(s.step(nativehelm.OpDeploy, "")))
	s.wantWorld(t, "after the first deployment", stable("nginx:1")...)
	percent := 30
	p := s.step(nativehelm.OpCanary, "image: nginx:2")
	p.Instances, p.RunTests = &lane.InstanceSelection{Percentage: &percent}, true
	for range 2 { // the task may be delivered twice
		e := s.succeed(t, p)
		if got := e.output(t, "canaryWorkload"); got != s.namespace+"/Deployment/rel-canary-web" || e.output(t, "canaryRelease") != "rel-canary" || e.output(t, "targetInstances") != 2.0 {
			t.Errorf("outputs %s", e.Outputs)
		}
		if e.Changes[0].Whole || len(e.Changes[0].Instances) != 2 || !e.Changes[0].Instances[0].Canary {
			t.Errorf("the ledger has %+v; want two pods of a canary", e.Changes)
		}
		s.wantWorld(t, "with a canary", sortedWorld(stable("nginx:1"), canaryOf("nginx:2", "2"))...)
	}
	test, err := s.BatchV1().Jobs(s.namespace).Get(t.Context(), "rel-canary-smoke", metav1.GetOptions{})
	check(t, err)
	if got := test.Spec.Template.Spec.Containers[0].Args; got[0] != "rel-web:80" {
		t.Errorf("the test asks %v; there is no such service", got)
	}
	canary, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), "rel-canary-web", metav1.GetOptions{})
	check(t, err)
	main := canary.Spec.Template.Spec.Containers[0]
	if main.Env[0].Value != "http://rel-web:80" || main.EnvFrom[0].ConfigMapRef.Name != "fixed-canary" || main.EnvFrom[1].ConfigMapRef.Name != "rel-canary-web" {
		t.Errorf("the canary's container has %+v, %+v", main.Env, main.EnvFrom)
	}
	for range 2 {
		s.succeed(t, in(p, nativehelm.OpCanaryDelete))
		s.wantWorld(t, "after the canary is deleted", stable("nginx:1")...)
	}
	s.wantRevisions(t, "1 deployed")
}

// The skeleton's first run: a canary before there is anything else.
func TestFirstCanary(t *testing.T) {
	t.Parallel()
	s := newWebSite(t)
	p := counted(s.step(nativehelm.OpCanary, "image: nginx:2"), 1)
	s.succeed(t, p)
	s.wantWorld(t, "with a canary alone", append(canaryOf("nginx:2", "1"), "ServiceAccount web")...)
	s.succeed(t, p) // what is its own stays its own
	s.wantWorld(t, "with a canary alone, again", append(canaryOf("nginx:2", "1"), "ServiceAccount web")...)
	s.succeed(t, in(p, nativehelm.OpCanaryDelete))
	s.succeed(t, noHooks(in(p, nativehelm.OpDeploy)))
	s.wantWorld(t, "after all", stable("nginx:2")...)
}

// A rollback of a stage with a canary that failed leaves what was before.
func TestCanaryRollback(t *testing.T) {
	t.Parallel()
	s := newWebSite(t)
	s.succeed(t, noHooks(s.step(nativehelm.OpDeploy, "")))
	bad := counted(s.step(nativehelm.OpCanary, "image: nginx:broken"), 1)
	given := make(chan error, 1)
	go func() { given <- s.giveUp(t.Context(), "rel-canary-web") }()
	e := s.fail(t, bad, "rel-canary-web", "progress deadline")
	check(t, <-given)
	if !strings.HasPrefix(e.Message, "1 pod of Deployment/rel-canary-web") {
		t.Errorf("failed with %q; want the pod's trouble first", e.Message)
	}
	for range 2 {
		s.succeed(t, in(bad, nativehelm.OpRollback))
		s.wantWorld(t, "after the rollback", stable("nginx:1")...)
	}
	s.wantRevisions(t, "1 deployed")
}

// giveUp has the controller give a Deployment up, that has time enough for its pods
// to come, once one of them can't start.
func (s *site) giveUp(ctx context.Context, deployment string) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		pods, err := s.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		if err == nil && slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool {
			return strings.HasPrefix(p.Name, deployment) && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Waiting != nil &&
				p.Status.ContainerStatuses[0].State.Waiting.Reason == "ImagePullBackOff"
		}) {
			_, err = s.AppsV1().Deployments(s.namespace).Patch(ctx, deployment, types.MergePatchType, []byte(`{"spec":{"progressDeadlineSeconds":1}}`), metav1.PatchOptions{})
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no pod of %s has failed to start: %w", deployment, errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}

// cleanRepo removes the chart of a repository.
func cleanRepo(dir string) error { return os.RemoveAll(filepath.Join(dir, "web")) }
