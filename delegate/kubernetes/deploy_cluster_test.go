package kubernetes

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authv1 "k8s.io/api/authentication/v1"
	authzv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestFirstDeploymentIntoAnEmptyNamespace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 2)+serviceYAML("web", "web")+configYAML("cfg", "1")))
	if diff := cmp.Diff([]string{"ConfigMap/cfg-1", "Deployment/web", "Service/web"}, s.names(t)); diff != "" {
		t.Errorf("what is there (-want +got):\n%s", diff)
	}
	if want, available := s.replicas(t, "web"); want != 2 || available != 2 {
		t.Errorf("the step ended with %d of %d pods", available, want)
	}
	if diff := cmp.Diff([]string{"harness.release.rel.1"}, s.records(t)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	pods, err := s.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: labelRelease + "=rel"})
	check(t, err)
	var there []string
	for _, p := range pods.Items {
		there = append(there, p.Name)
	}
	var told []string
	for _, i := range e.Changes[0].Instances {
		told = append(told, i.Name)
	}
	if diff := cmp.Diff(there, told); diff != "" || len(there) != 2 {
		t.Errorf("instances (-in the cluster +told):\n%s", diff)
	}
}

// semantics/kubernetes §8.3: the pods of a changed ConfigMap are new ones.
func TestAChangedConfigMapRollsTheWorkload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	manifests := func(value string) string {
		return configYAML("cfg", value) + `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:1", envFrom: [{configMapRef: {name: cfg}}]}]}
`
	}
	refers := func() (string, int64) {
		d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		check(t, err)
		return d.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name, d.Generation
	}
	s.succeed(t, s.step(lane.OpRolling, manifests("1")))
	_, before := refers()
	s.succeed(t, s.step(lane.OpRolling, manifests("2")))
	name, after := refers()
	if name != "cfg-2" || after == before {
		t.Errorf("the pods refer to %s in generation %d", name, after)
	}
	c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || c.Data["x"] != "2" {
		t.Errorf("%s says %v, %v", name, c.Data, err)
	}
}

// semantics/kubernetes §17, §23.14 and §23.15.
func TestPruning(t *testing.T) {
	t.Parallel()
	kept := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {harness.io/skip-versioning: true, harness.io/skipPruning: \"true\"}}\n"
	full := deploymentYAML("web", "nginx:1", 1) + serviceYAML("web", "web") + fixedYAML("extra", "1") + kept + configYAML("cfg", "1")
	bare := deploymentYAML("web", "nginx:1", 1)
	tests := []struct {
		name   string
		before bool // the first release has pruning on
		now    bool
		want   []string
	}{
		{"kubernetes §23.14 both with pruning", true, true, []string{"ConfigMap/cfg-1", "ConfigMap/kept", "Deployment/web"}},
		{"kubernetes §23.14 the first with pruning prunes nothing", false, true, []string{"ConfigMap/cfg-1", "ConfigMap/extra", "ConfigMap/kept", "Deployment/web", "Service/web"}},
		{"pruning is off", true, false, []string{"ConfigMap/cfg-1", "ConfigMap/extra", "ConfigMap/kept", "Deployment/web", "Service/web"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			first, second := s.step(lane.OpRolling, full), s.step(lane.OpRolling, bare)
			first.Pruning, second.Pruning = tt.before, tt.now
			s.succeed(t, first)
			s.succeed(t, second)
			if diff := cmp.Diff(tt.want, s.names(t)); diff != "" {
				t.Errorf("what is there (-want +got):\n%s", diff)
			}
		})
	}
}

// semantics/kubernetes §23.13: a rollback undoes pruning and takes back what
// was added, but only where both releases were made with pruning.
func TestRollbackOfPruning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ first, second bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		t.Run(fmt.Sprint(tt.first, tt.second), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			room := fmt.Sprintf("---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s-room}\n", s.namespace)
			t.Cleanup(func() {
				_ = s.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), s.namespace+"-room", metav1.DeleteOptions{})
			})
			first := s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)+fixedYAML("old", "1"))
			second := s.step(lane.OpRolling, deploymentYAML("web", "broken:2", 1)+fixedYAML("new", "1")+room)
			first.Pruning, second.Pruning = tt.first, tt.second
			s.succeed(t, first)
			s.fail(t, second, "Deployment/web exceeded its progress deadline")
			s.succeed(t, in(second, lane.OpRollingRollback))
			want := []string{"ConfigMap/old", "Deployment/web"}
			if !tt.first || !tt.second {
				want = []string{"ConfigMap/new", "ConfigMap/old", "Deployment/web"}
			}
			if diff := cmp.Diff(want, s.names(t)); diff != "" {
				t.Errorf("what is there (-want +got):\n%s", diff)
			}
			if n, err := s.CoreV1().Namespaces().Get(t.Context(), s.namespace+"-room", metav1.GetOptions{}); err != nil || n.DeletionTimestamp != nil {
				t.Errorf("the namespace is gone, with all that is in it: %v", err)
			}
			if got := s.image(t, "web"); got != "nginx:1" {
				t.Errorf("after the rollback it runs %s", got)
			}
		})
	}
}

// What a stage after the deployment fails is rolled back, pruned objects included.
func TestRollbackBringsBackWhatWasPruned(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)+fixedYAML("old", "1")+serviceYAML("old", "web"))
	second := s.step(lane.OpRolling, deploymentYAML("web", "nginx:2", 1))
	first.Pruning, second.Pruning = true, true
	s.succeed(t, first)
	s.succeed(t, second)
	if diff := cmp.Diff([]string{"Deployment/web"}, s.names(t)); diff != "" {
		t.Errorf("after pruning (-want +got):\n%s", diff)
	}
	s.succeed(t, in(second, lane.OpRollingRollback))
	if diff := cmp.Diff([]string{"ConfigMap/old", "Deployment/web", "Service/old"}, s.names(t)); diff != "" {
		t.Errorf("after the rollback (-want +got):\n%s", diff)
	}
	if got := s.image(t, "web"); got != "nginx:1" {
		t.Errorf("after the rollback it runs %s", got)
	}
}

// restricted is the site as a service account with some rights sees it.
func (s *site) restricted(t *testing.T, rules ...rbacv1.PolicyRule) task.Cluster {
	t.Helper()
	name := metav1.ObjectMeta{Name: "restricted", Namespace: s.namespace}
	_, err := s.CoreV1().ServiceAccounts(s.namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: name}, metav1.CreateOptions{})
	check(t, err)
	_, err = s.RbacV1().Roles(s.namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: name, Rules: rules}, metav1.CreateOptions{})
	check(t, err)
	_, err = s.RbacV1().RoleBindings(s.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: name.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name.Name}},
	}, metav1.CreateOptions{})
	check(t, err)
	made, err := s.CoreV1().ServiceAccounts(s.namespace).CreateToken(t.Context(), name.Name, &authv1.TokenRequest{}, metav1.CreateOptions{})
	check(t, err)
	c := s.cluster
	c.Token = made.Status.Token
	s.allowed(t, name.Name, rules)
	return c
}

// allowed waits until the server goes by all of an account's rules: it takes them in one
// by one, a while after they are made.
func (s *site) allowed(t *testing.T, account string, rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, rule := range rules {
		asked := authzv1.ResourceAttributes{Namespace: s.namespace, Group: rule.APIGroups[0], Resource: rule.Resources[0], Verb: rule.Verbs[len(rule.Verbs)-1]}
		review := &authzv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace},
			Spec:       authzv1.SubjectAccessReviewSpec{ResourceAttributes: &asked, User: "system:serviceaccount:" + s.namespace + ":" + account},
		}
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			got, err := s.AuthorizationV1().LocalSubjectAccessReviews(s.namespace).Create(ctx, review, metav1.CreateOptions{})
			return err == nil && got.Status.Allowed, err
		})
		check(t, err)
	}
}

// What the account may not do is named with the object and the verb.
func TestForbiddenNamesTheObjectAndTheVerb(t *testing.T) {
	t.Parallel()
	all := []string{"*"}
	history := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: all}
	tests := []struct {
		name  string
		rules []rbacv1.PolicyRule
		want  []string
	}{
		{"no rights at all", nil, []string{"secrets is forbidden", "cannot list resource \"secrets\""}},
		{"the history alone", []rbacv1.PolicyRule{history}, []string{"Deployment/web", "cannot get resource \"deployments\""}},
		{"get, but not patch", []rbacv1.PolicyRule{history, {APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}}}, []string{"Deployment/web", "cannot patch resource \"deployments\""}},
		{"patch, but not create", []rbacv1.PolicyRule{history, {APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}}}, []string{"Deployment/web", "cannot create resource \"deployments\""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1))
			p.Target.Cluster = s.restricted(t, tt.rules...)
			e := s.fail(t, p, tt.want...)
			if diff := cmp.Diff(fault.Failures(fault.New(fault.Forbidden, "x")), e.FailureTypes); diff != "" {
				t.Errorf("failure types (-want +got):\n%s", diff)
			}
			if got := s.names(t); len(got) != 0 {
				t.Errorf("the namespace has %v", got)
			}
		})
	}
}

// The credentials themselves may be wrong.
func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1))
	p.Target.Cluster.Token = "nobody"
	e := s.fail(t, p, "refused the credentials")
	if diff := cmp.Diff(fault.Failures(fault.New(fault.Unauthenticated, "x")), e.FailureTypes); diff != "" {
		t.Errorf("failure types (-want +got):\n%s", diff)
	}
	if contains(e.Message, "nobody") {
		t.Error("the message has the token")
	}
}

// semantics/kubernetes §2: the infrastructure's namespace isn't made by itself.
func TestMissingNamespace(t *testing.T) {
	t.Parallel()
	for _, op := range []lane.Op{lane.OpRolling, lane.OpCanary, lane.OpBlueGreen, lane.OpApply} {
		for _, skip := range []bool{false, true} {
			s := newSite(t)
			p := s.step(op, deploymentYAML("web", "nginx:1", 1)+serviceYAML("web", "web"))
			p.Target.Namespace, p.SkipDryRun, p.FilePaths = s.namespace+"-none", skip, []string{"app.yaml"}
			s.fail(t, p, s.namespace+"-none")
		}
	}
}

// semantics/kubernetes §23.23.
func TestBlueGreenSkipsWhatIsDeployed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := deploymentYAML("web", "nginx:1", 1) + serviceYAML("web", "web")
	deploy := func(manifest string) ended {
		p := s.step(lane.OpBlueGreen, manifest)
		p.SkipSameManifest = true
		e := s.succeed(t, p)
		s.succeed(t, in(p, lane.OpSwap))
		return e
	}
	deploy(all)
	colors := s.colors(t)
	if e := deploy(all); e.output(t, "skipped") != true {
		t.Error("the same manifests were deployed again")
	}
	if diff := cmp.Diff([]string{"Deployment/web-blue", "Service/web", "Service/web-stage"}, s.names(t)); diff != "" {
		t.Errorf("after the skipped deployment (-want +got):\n%s", diff)
	}
	if got := s.colors(t); got != colors {
		t.Errorf("a skipped deployment was swapped: %s became %s", colors, got)
	}
	if e := deploy(deploymentYAML("web", "nginx:2", 1) + serviceYAML("web", "web")); e.output(t, "skipped") != false {
		t.Error("other manifests were skipped")
	}
	if got := s.image(t, "web-green"); got != "nginx:2" {
		t.Errorf("the other manifests' colour runs %s", got)
	}
}

// colors are those that the primary and the stage service point to.
func (s *site) colors(t *testing.T) string {
	t.Helper()
	out := ""
	for _, name := range []string{"web", "web-stage"} {
		o, err := s.CoreV1().Services(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
		check(t, err)
		out += "/" + o.Spec.Selector[labelColor]
	}
	return out[1:]
}

// What others own is taken over; what they own and the manifests don't name stays.
func TestFieldsOfOtherOwners(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)))
	patch := `{"metadata":{"labels":{"team":"a"}},"spec":{"replicas":4,"template":{"spec":{"containers":[{"name":"main","image":"other:1"}]}}}}`
	_, err := s.AppsV1().Deployments(s.namespace).Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	check(t, err)
	s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:2", 2)))
	d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	check(t, err)
	if *d.Spec.Replicas != 2 || d.Spec.Template.Spec.Containers[0].Image != "nginx:2" || d.Labels["team"] != "a" {
		t.Errorf("replicas %d, image %s, labels %v", *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image, d.Labels)
	}
}

// What kubectl applied before Slipway came is Slipway's: fields that the
// manifests don't have any more go.
func TestTakesOverFromKubectlApply(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	was := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"fixed","namespace":"` + s.namespace + `"},"data":{"old":"1","x":"1"}}`
	_, err := s.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fixed", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: was}},
		Data:       map[string]string{"old": "1", "x": "1"},
	}, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
	check(t, err)
	s.succeed(t, s.step(lane.OpRolling, fixedYAML("fixed", "2")))
	c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "fixed", metav1.GetOptions{})
	check(t, err)
	if diff := cmp.Diff(map[string]string{"x": "2"}, c.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

// Of many broken objects the first is named, before anything is changed.
func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	broken := "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bad}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: other}}, spec: {containers: [{name: x, image: \"y:1\"}]}}}\n"
	p := s.step(lane.OpRolling, configYAML("cfg", "1")+deploymentYAML("web", "nginx:1", 1)+broken)
	s.fail(t, p, "Deployment/bad", "selector")
	if got := append(s.names(t), s.records(t)...); len(got) != 0 {
		t.Errorf("the dry run left %v", got)
	}
	// semantics/kubernetes §23.12.
	if log := s.succeed(t, in(p, lane.OpRollingRollback)).log(unitRollback); !contains(log, "nothing to roll back") {
		t.Errorf("the rollback says %q", log)
	}
	// semantics/kubernetes §23.2.
	s.fail(t, s.step(lane.OpRolling, deploymentYAML("web<+artifact.tag>", "nginx:1", 1)), "web<+artifact.tag>")
}

// What another line of releases still needs isn't cleaned up.
func TestCleanUpLeavesOtherLines(t *testing.T) {
	t.Parallel()
	t.Run("kubernetes §9 a rolling deployment serves until the first colour does", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		for i := range 4 {
			s.succeed(t, s.step(lane.OpRolling, versioned("nginx:1", fmt.Sprint(i), 1)))
		}
		_, err := s.CoreV1().Services(s.namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"selector":{"harness.io/color":"blue"}}}`), metav1.PatchOptions{})
		check(t, err)
		for range 4 {
			s.succeed(t, s.step(lane.OpBlueGreen, versioned("nginx:2", "5", 1)))
		}
		if names := s.names(t); !contains(names, "ConfigMap/cfg-4") || !contains(names, "ConfigMap/cfg-3") || contains(names, "ConfigMap/cfg-2") {
			t.Errorf("there are %v", names)
		}
		want := []string{"harness.release.rel.3", "harness.release.rel.4", "harness.release.rel.6", "harness.release.rel.7", "harness.release.rel.8"}
		if diff := cmp.Diff(want, s.records(t)); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §13.2 a canary is its own execution's to delete", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.succeed(t, s.step(lane.OpRolling, versioned("nginx:1", "1", 1)))
		good, bad := s.step(lane.OpCanary, versioned("nginx:2", "2", 1)), s.step(lane.OpCanary, versioned("broken:3", "3", 1))
		s.succeed(t, good)
		s.succeed(t, s.step(lane.OpRolling, versioned("nginx:4", "4", 1)))
		if names := s.names(t); !contains(names, "ConfigMap/cfg-canary") {
			t.Errorf("there are %v", names)
		}
		s.succeed(t, in(good, lane.OpCanaryDelete))
		s.fail(t, bad, "progress")
		s.succeed(t, s.step(lane.OpRolling, versioned("nginx:5", "5", 1)))
		s.succeed(t, in(bad, lane.OpCanaryDelete))
		if names := s.names(t); contains(names, "ConfigMap/cfg-canary") || contains(names, "Deployment/web-canary") {
			t.Errorf("there are %v", names)
		}
		s.succeed(t, s.step(lane.OpRolling, versioned("nginx:6", "6", 1)))
		if diff := cmp.Diff([]string{"harness.release.rel.3", "harness.release.rel.5", "harness.release.rel.6"}, s.records(t)); diff != "" {
			t.Errorf("records of canaries that are gone (-want +got):\n%s", diff)
		}
	})
}
