package kubernetes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/delegate/applying"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// rolls is a K8sRollout of the Deployment web.
func (s *site) rolls(command string, flags ...string) job {
	p := s.step(lane.OpRollout, "")
	p.Rollout = &lane.Rollout{Command: command, Resources: lane.ResourceSelection{Type: "ResourceName", Names: []string{"Deployment/web"}}}
	for _, f := range flags {
		p.CommandFlags = append(p.CommandFlags, origin.CommandFlag{Command: lane.CommandRollout, Flag: f})
	}
	return p
}

func (s *site) revision(t *testing.T) string {
	t.Helper()
	d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	check(t, err)
	return d.Annotations[applying.AnnotationRevision]
}

// semantics/kubernetes §15: each command does what kubectl's does, and is
// waited for where pods change.
func TestRolloutStep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		step     func(s *site) job
		image    string // afterwards
		revision string
		paused   bool
		logged   string
		err      string
	}{
		{"restart", func(s *site) job { return s.rolls("restart") }, "nginx:3", "4", false, "Deployment/web restarted", ""},
		{"undo", func(s *site) job { return s.rolls("undo") }, "nginx:2", "4", false, "goes back to revision 2", ""},
		{"undo to a revision", func(s *site) job { return s.rolls("undo", "--to-revision=1") }, "nginx:1", "4", false, "goes back to revision 1", ""},
		{"undo to none", func(s *site) job { return s.rolls("undo", "--to-revision=9") }, "nginx:3", "3", false, "", "Deployment/web has no revision 9"},
		{"undo, only to see", func(s *site) job { return s.rolls("undo", "--dry-run") }, "nginx:3", "3", false, "Dry run", ""},
		{"pause", func(s *site) job { return s.rolls("pause") }, "nginx:3", "3", true, "Deployment/web paused", ""},
		{"resume what isn't paused", func(s *site) job { return s.rolls("resume") }, "nginx:3", "3", false, "has that state already", ""},
		{"status", func(s *site) job { return s.rolls("status") }, "nginx:3", "3", false, "1 of 1 updated", ""},
		{"history", func(s *site) job { return s.rolls("history") }, "nginx:3", "3", false, "Deployment/web: revision 2: no cause recorded", ""},
		{"history of one", func(s *site) job { return s.rolls("history", "--revision=1") }, "nginx:3", "3", false, "image: nginx:1", ""},
		{"another's flag", func(s *site) job { return s.rolls("pause", "--to-revision=1") }, "nginx:3", "3", false, "", "pause has no flag for a revision"},
		{"no command", func(s *site) job { return s.rolls("back") }, "nginx:3", "3", false, "", `the command is "back"`},
		{"all of the release", func(s *site) job {
			p := s.rolls("restart")
			p.Rollout.Resources = lane.ResourceSelection{Type: "ReleaseName"}
			return p
		}, "nginx:3", "4", false, "Deployment/web restarted", ""},
		{"those of the manifests", func(s *site) job {
			p := s.rolls("restart")
			p.Target.Manifest.Store.Inline = serviceYAML("web", "web") + deploymentYAML("web", "nginx:9", 1)
			p.Rollout.Resources = lane.ResourceSelection{Type: "ManifestPath", AllManifests: true}
			return p
		}, "nginx:3", "4", false, "Deployment/web restarted", ""},
		{"what isn't there", func(s *site) job {
			p := s.rolls("restart")
			p.Rollout.Resources.Names = []string{"Deployment/none"}
			return p
		}, "nginx:3", "3", false, "", "no Deployment/none"},
		{"what doesn't roll out", func(s *site) job {
			p := s.rolls("restart")
			p.Rollout.Resources.Names = []string{"ConfigMap/kube-root-ca.crt"}
			return p
		}, "nginx:3", "3", false, "", "ConfigMap/kube-root-ca.crt doesn't roll out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			for _, image := range []string{"nginx:1", "nginx:2", "nginx:3"} {
				s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", image, 1)))
			}
			if p := tt.step(s); tt.err != "" {
				s.fail(t, p, tt.err)
			} else if log := s.succeed(t, p).log(unitRollout); !contains(log, tt.logged) {
				t.Errorf("the log doesn't have %q:\n%s", tt.logged, log)
			}
			if got := s.image(t, "web"); got != tt.image {
				t.Errorf("it runs %s; want %s", got, tt.image)
			}
			if got := s.revision(t); got != tt.revision {
				t.Errorf("its revision is %s; want %s", got, tt.revision)
			}
			d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
			check(t, err)
			if d.Spec.Paused != tt.paused {
				t.Errorf("paused is %v", d.Spec.Paused)
			}
		})
	}
}

// A StatefulSet's revisions are kept otherwise than a Deployment's.
func TestRolloutUndoOfAStatefulSet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	set := func(image string) string {
		return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  selector: {matchLabels: {app: db}}\n  serviceName: db\n  template:\n" +
			"    metadata: {labels: {app: db}}\n    spec: {containers: [{name: main, image: \"" + image + "\"}]}\n"
	}
	s.succeed(t, s.step(lane.OpRolling, set("pg:1")))
	s.succeed(t, s.step(lane.OpRolling, set("pg:2")))
	p := s.rolls("undo")
	p.Rollout.Resources.Names = []string{"StatefulSet/db"}
	s.succeed(t, p)
	s.succeed(t, p) // as after a lost delegate
	pod, err := s.CoreV1().Pods(s.namespace).Get(t.Context(), "db-0", metav1.GetOptions{})
	check(t, err)
	if got := pod.Spec.Containers[0].Image; got != "pg:1" {
		t.Errorf("the pod runs %s", got)
	}
}

// What a lost delegate has undone, the next try of the step doesn't undo, be it
// by the last revision or by one whose number has gone. Another step does, and
// so does the same one after a deployment.
func TestUndoTwice(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"nginx:2": nil, "nginx:1": {"--to-revision=1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			for _, image := range []string{"nginx:1", "nginx:2", "nginx:3"} {
				s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", image, 1)))
			}
			p := s.rolls("undo", flags...)
			for range 3 {
				s.succeed(t, p)
				if got := s.image(t, "web"); got != name {
					t.Fatalf("it runs %s", got)
				}
			}
			s.succeed(t, s.rolls("undo"))
			if got := s.image(t, "web"); got != "nginx:3" {
				t.Errorf("after another step it runs %s", got)
			}
			s.succeed(t, s.rolls("undo"))
			s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:4", 1)))
			p.CommandFlags = nil
			s.succeed(t, p)
			if got := s.image(t, "web"); got != name {
				t.Errorf("after a deployment it went back to %s", got)
			}
		})
	}
}

// What an undo brought back stays only until the next deployment, which
// doesn't have it.
func TestUndoIsNoObstacleToTheNextDeployment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	with := deploymentYAML("web", "nginx:1", 1)
	with = with[:len(with)-len("}]\n")] + ", env: [{name: OLD, value: x}]}]\n"
	s.succeed(t, s.step(lane.OpRolling, with))
	s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:2", 1)))
	s.succeed(t, s.rolls("undo"))
	env := func() int {
		d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		check(t, err)
		return len(d.Spec.Template.Spec.Containers[0].Env)
	}
	if env() != 1 {
		t.Fatal("the undo didn't bring back the variable")
	}
	s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:3", 1)))
	if env() != 0 {
		t.Error("the variable is still there")
	}
}

// semantics/kubernetes §15: the three strategies, and what they can't do.
func TestPatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, strategy, patch, err string
		workload                   string
		want                       []string // the Deployment's containers afterwards
	}{
		{"strategic: lists are merged by their keys", "Strategic", "spec: {template: {spec: {containers: [{name: more, image: side:1}]}}}", "", "Deployment/web", []string{"side:1", "nginx:1"}},
		{"merge: lists are replaced", "Merge", `{"spec": {"template": {"spec": {"containers": [{"name": "more", "image": "side:1"}]}}}}`, "", "Deployment/web", []string{"side:1"}},
		{"json: operations", "Json", "- {op: replace, path: /spec/template/spec/containers/0/image, value: nginx:5}", "", "Deployment/web", []string{"nginx:5"}},
		{"json: an operation that can't be", "Json", "- {op: remove, path: /spec/nothing}", "Deployment/web", "Deployment/web", []string{"nginx:1"}},
		{"a mapping isn't operations", "Json", "spec: {}", "a Json patch is a list of operations", "Deployment/web", []string{"nginx:1"}},
		{"a list isn't a merge patch", "Merge", "[]", "a Json patch is a list of operations", "Deployment/web", []string{"nginx:1"}},
		{"no YAML", "Merge", "{", "the patch patch", "Deployment/web", []string{"nginx:1"}},
		{"no such workload", "Merge", "spec: {replicas: 2}", "Deployment/none", "Deployment/none", []string{"nginx:1"}},
		{"no such field", "Merge", "spec: {replicas: many}", "Deployment/web", "Deployment/web", []string{"nginx:1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)))
			p := s.step(lane.OpPatch, "")
			p.Workload = tt.workload
			p.Patch = &lane.Patch{Strategy: tt.strategy, Source: task.Store{Inline: tt.patch}, RecordCause: true}
			if tt.err != "" {
				s.fail(t, p, tt.err)
			} else if log := s.succeed(t, p).log(unitPatch); !contains(log, "Deployment/web changes:\n@@") {
				t.Errorf("the log doesn't tell what changed:\n%s", log)
			}
			d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
			check(t, err)
			var got []string
			for _, c := range d.Spec.Template.Spec.Containers {
				got = append(got, c.Image)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			if cause := d.Annotations[annotationCause]; contains(cause, "K8sPatch "+tt.strategy+" of Deployment/web: ") != (tt.err == "") {
				t.Errorf("the cause is %q", cause)
			}
		})
	}
}

// A custom resource has no strategy for its lists, so that can't be asked for.
func TestPatchOfACustomResource(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.providers(t)
	s.succeed(t, s.step(lane.OpRolling, "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: web}\nspec: {hosts: [a]}\n"))
	p := s.step(lane.OpPatch, "")
	p.Workload = "VirtualService/web"
	p.Patch = &lane.Patch{Strategy: lane.PatchStrategic, Source: task.Store{Inline: "spec: {hosts: [b]}"}}
	s.fail(t, p, "VirtualService/web can't be changed by a Strategic patch", "want Merge or Json")
	p.Patch.Strategy = lane.PatchMerge
	s.succeed(t, p)
	if got := s.virtualService(t); !contains(got, "- b\n") {
		t.Errorf("it is\n%s", got)
	}
}

// The release's workloads are those that serve, not a canary that has gone.
func TestRolloutOfTheReleaseAfterACanary(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)))
	canary := s.step(lane.OpCanary, deploymentYAML("web", "nginx:2", 1))
	canary.Instances = count(1)
	s.succeed(t, canary)
	s.succeed(t, in(canary, lane.OpCanaryDelete))
	p := s.rolls("restart")
	p.Rollout.Resources = lane.ResourceSelection{Type: "ReleaseName"}
	s.succeed(t, p)
	if got := s.revision(t); got != "2" {
		t.Errorf("its revision is %s", got)
	}
}
