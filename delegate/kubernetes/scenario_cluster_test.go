package kubernetes

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// shop is what the scenarios deploy: pods that read a versioned ConfigMap.
func shop(image, config, behaviour string, replicas int) string {
	d := deploymentYAML("web", image, replicas)
	d = strings.Replace(d, "metadata: {labels: {app: web}}", `metadata: {labels: {app: web, slipway.test/behaviour: "`+behaviour+`"}}`, 1)
	d = strings.Replace(d, `image: "`, `envFrom: [{configMapRef: {name: cfg}}], image: "`, 1)
	return configYAML("cfg", config) + d + serviceYAML("web", "web")
}

// standing is what a namespace has of the shop: pod template and ConfigMaps
// word for word.
type standing struct {
	Objects  []string
	Template corev1.PodTemplateSpec
	Configs  map[string]string
	Statuses map[string]string // of the releases
	Serving  int32
}

func (s *site) standing(t *testing.T) standing {
	t.Helper()
	out := standing{Objects: s.names(t), Configs: map[string]string{}, Statuses: map[string]string{}}
	for _, o := range out.Objects {
		if name, ok := strings.CutPrefix(o, "ConfigMap/"); ok {
			c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
			check(t, err)
			out.Configs[name] = c.Data["x"]
		}
	}
	if contains(out.Objects, "Deployment/web") {
		d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		check(t, err)
		out.Template, out.Serving = d.Spec.Template, d.Status.AvailableReplicas
	}
	for _, o := range s.secrets(t) {
		if o.Type == "harness.io/release" {
			out.Statuses[o.Labels[labelNumber]] = o.Labels[labelStatus]
		}
	}
	return out
}

// TestScenarios deploys on top of a good release, says what must be in the
// cluster then, and goes back: to that release exactly, or, where nothing was
// applied, by changing nothing.
func TestScenarios(t *testing.T) {
	t.Parallel()
	good := shop("nginx:1", "1", "", 2)
	both := []string{"ConfigMap/cfg-1", "ConfigMap/cfg-2", "Deployment/web", "Service/web"}
	before := []string{"ConfigMap/cfg-1", "Deployment/web", "Service/web"}
	tests := []struct {
		name    string
		prepare func(t *testing.T, s *site, p *job)
		next    string   // manifests
		shown   sign     // when the Deployment is given up; nil: it isn't
		fails   []string // parts of the message; none: it succeeds
		failure fault.FailureType
		objects []string
		image   string
		release string // the status of release 2; none: there is no such release
		serving int32
	}{
		{"update", nil, shop("nginx:2", "2", "", 2), nil, nil, "", both, "nginx:2", "Succeeded", 2},
		{"no change", nil, good, nil, nil, "", both, "nginx:1", "Succeeded", 2},
		{
			"broken image", nil, withDeadline(600, shop("broken:2", "2", "", 2)), says("ImagePullBackOff"),
			[]string{"of Deployment/web: container main can't get its image broken:2: ImagePullBackOff", "Deployment/web exceeded its progress deadline"}, fault.Unknown, both, "broken:2", "Failed", 2,
		},
		{
			"crash loop", nil, withDeadline(600, shop("nginx:2", "2", "crashloop", 2)), says("CrashLoopBackOff"),
			[]string{"container main ended with exit code 1 (Error) and was restarted 3 times: CrashLoopBackOff"}, fault.Unknown, both, "nginx:2", "Failed", 2,
		},
		{"never ready", nil, withDeadline(600, shop("nginx:2", "2", "never-ready", 2)), regexp.MustCompile(`"never-ready".*"ready":false`).MatchString, []string{"of Deployment/web: isn't ready"}, fault.Unknown, both, "nginx:2", "Failed", 2},
		{
			"quota for pods", limit("pods", "2"), withDeadline(600, shop("nginx:2", "2", "", 4)), says("exceeded quota"),
			[]string{"Deployment/web can't make its pods", "exceeded quota: small"}, fault.Unknown, both, "nginx:2", "Failed", 2,
		},
		{
			"quota for objects", limit("count/configmaps", "2"), shop("nginx:2", "2", "", 2), nil,
			[]string{"ConfigMap/cfg-2: the namespace's quota doesn't allow it"}, fault.Unknown, before, "nginx:1", "", 2,
		},
		{"forbidden", readOnly, shop("nginx:2", "2", "", 2), nil, []string{"the cluster's access may not do this"}, fault.Authorization, before, "nginx:1", "", 2},
		{
			"another owner", stolen, shop("nginx:2", "2", "", 2), nil,
			[]string{"Deployment/web: 1 fields belong to another owner: .spec.replicas", `"somebody"`, "--force-conflicts"}, fault.Unknown, before, "nginx:1", "", 2,
		},
		{"no such namespace", elsewhere, shop("nginx:2", "2", "", 2), nil, []string{"the namespace nowhere doesn't exist"}, fault.ConfigurationFailure, before, "nginx:1", "", 2},
		{"wrong manifests", nil, shop("nginx:2", "2", "", 2) + "---\napiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 0}]}\n", nil, []string{"Service/bad"}, fault.ConfigurationFailure, before, "nginx:1", "", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.succeed(t, s.step(lane.OpRolling, good))
			was := s.standing(t)
			p := s.step(lane.OpRolling, tt.next)
			if tt.prepare != nil {
				tt.prepare(t, s, &p)
			}
			if len(tt.fails) == 0 {
				s.succeed(t, p)
			} else {
				run := s.do
				if tt.shown != nil {
					run = func(t *testing.T, p job) ended { t.Helper(); return s.doGivenUp(t, tt.shown, p) }
				}
				if e := run(t, p).failed(t, p, tt.fails...); e.FailureTypes[0] != tt.failure {
					t.Errorf("the failure types are %v; want %s first", e.FailureTypes, tt.failure)
				}
			}
			is := s.standing(t)
			if diff := cmp.Diff(tt.objects, is.Objects); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if is.Template.Spec.Containers[0].Image != tt.image || is.Statuses["2"] != tt.release || is.Serving < tt.serving {
				t.Errorf("it runs %s with %d pods after release 2 %q; want %s, %d, %q", is.Template.Spec.Containers[0].Image, is.Serving, is.Statuses["2"], tt.image, tt.serving, tt.release)
			}

			p.Target.Cluster = s.cluster
			s.succeed(t, in(p, lane.OpRollingRollback))
			back := s.standing(t)
			if diff := cmp.Diff(was.Template, back.Template); diff != "" {
				t.Errorf("the pod template isn't the earlier one (-want +got):\n%s", diff)
			}
			if back.Configs["cfg-1"] != "1" || back.Serving < 2 || back.Statuses["1"] != "Succeeded" || back.Statuses["2"] == "Succeeded" {
				t.Errorf("after the rollback there is %+v", back)
			}
		})
	}
}

// The first deployment has nothing to go back to, and keeps what it made.
func TestScenarioOfTheFirstDeployment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpRolling, shop("broken:1", "1", "", 1))
	s.fail(t, p, "can't get its image broken:1")
	was := s.standing(t)
	s.succeed(t, in(p, lane.OpRollingRollback))
	if diff := cmp.Diff(was, s.standing(t)); diff != "" {
		t.Errorf("the rollback changed something (-want +got):\n%s", diff)
	}
}

// A workload that something else had deployed goes back to what it was if the
// first release fails, and if the second one does, too.
func TestScenarioOfAWorkloadOfOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	replicas := int32(2)
	labels := map[string]string{"app": "web"}
	_, err := s.AppsV1().Deployments(s.namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "theirs:1", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}}},
		}},
	}, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
	check(t, err)
	s.waitSteady(t, "web")
	was := s.standing(t)
	for range 2 {
		p := s.step(lane.OpRolling, shop("broken:1", "1", "", 2))
		s.fail(t, p, "can't get its image broken:1")
		s.succeed(t, in(p, lane.OpRollingRollback))
		back := s.standing(t)
		if diff := cmp.Diff(was.Template, back.Template); diff != "" || back.Serving != 2 {
			t.Errorf("%d pods of another template serve (-want +got):\n%s", back.Serving, diff)
		}
	}
	good := s.step(lane.OpRolling, shop("nginx:1", "1", "", 2))
	s.succeed(t, good)
	if got := s.image(t, "web"); got != "nginx:1" {
		t.Errorf("it runs %s", got)
	}
}

// waitSteady waits until all pods of a Deployment are available.
func (s *site) waitSteady(t *testing.T, name string) {
	t.Helper()
	p := s.rolls("status")
	p.Rollout.Resources.Names = []string{"Deployment/" + name}
	s.succeed(t, p)
}

// semantics/kubernetes §10: what happens to the workload and its pods is told
// while it is waited for.
func TestEventsAreTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(lane.OpRolling, deploymentYAML("other", "nginx:1", 1)))
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	env := executortest.New(t, nil)
	env.When(unitSteady, "Failed to pull image", func() { end(executor.ErrTimeout) })
	e := s.doIn(ctx, t, s.step(lane.OpRolling, withDeadline(600, deploymentYAML("web", "broken:1", 1))), env)
	log := env.Text(unitSteady, executor.Info)
	if !errors.Is(e.err, executor.ErrTimeout) || !contains(log, "event on Pod/web-") || !contains(log, "Failed to pull image") {
		t.Errorf("ended %s, %v; the log doesn't tell of the pod's events:\n%s", e.Status, e.err, log)
	}
	if contains(log, "/other") {
		t.Errorf("the log tells of other workloads:\n%s", log)
	}
}

// limit gives the namespace a quota.
func limit(what, most string) func(*testing.T, *site, *job) {
	return func(t *testing.T, s *site, _ *job) {
		t.Helper()
		quotas := s.CoreV1().ResourceQuotas(s.namespace)
		hard := corev1.ResourceList{corev1.ResourceName(what): resource.MustParse(most)}
		made, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}, metav1.CreateOptions{})
		check(t, err)
		w, err := quotas.Watch(t.Context(), metav1.ListOptions{ResourceVersion: made.ResourceVersion})
		check(t, err)
		defer w.Stop()
		for e := range w.ResultChan() { // until the controller has counted what there is
			if q, ok := e.Object.(*corev1.ResourceQuota); ok && len(q.Status.Used) > 0 {
				return
			}
		}
	}
}

// readOnly gives the step the access of an account that can look at
// everything in the namespace and change nothing.
func readOnly(t *testing.T, s *site, p *job) {
	t.Helper()
	ctx, opts := t.Context(), metav1.CreateOptions{}
	_, err := s.CoreV1().ServiceAccounts(s.namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}, opts)
	check(t, err)
	_, err = s.RbacV1().Roles(s.namespace).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
	}, opts)
	check(t, err)
	_, err = s.RbacV1().RoleBindings(s.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "reader", Namespace: s.namespace}},
	}, opts)
	check(t, err)
	token, err := s.CoreV1().ServiceAccounts(s.namespace).CreateToken(ctx, "reader", &authv1.TokenRequest{}, opts)
	check(t, err)
	p.Target.Cluster.Token = token.Status.Token
}

// stolen gives the replicas to another owner, and asks for conflicts.
func stolen(t *testing.T, s *site, p *job) {
	t.Helper()
	force := true
	_, err := s.AppsV1().Deployments(s.namespace).Patch(t.Context(), "web", types.ApplyPatchType,
		[]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3}}`), metav1.PatchOptions{FieldManager: "somebody", Force: &force})
	check(t, err)
	p.CommandFlags = []origin.CommandFlag{{Command: lane.CommandApply, Flag: "--server-side"}}
}

// elsewhere deploys to a namespace that isn't there.
func elsewhere(_ *testing.T, _ *site, p *job) { p.Target.Namespace = "nowhere" }
