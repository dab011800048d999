package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/internal/testservers"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// repository commits files, each by its path, and gives their place.
func repository(t *testing.T, files map[string]string) *task.Git {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	git("init", "--quiet", "--initial-branch=main")
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(full), 0o700))
		check(t, os.WriteFile(full, []byte(text), 0o600))
	}
	git("add", ".")
	git("commit", "--quiet", "-m", "files")
	return &task.Git{URL: testservers.Git(t, dir), Branch: "main", Paths: []string{"deploy"}}
}

// from takes a step's manifests from a repository.
func from(p job, g *task.Git) job {
	p.Target.Manifest = &origin.Manifest{ID: "app", Type: "K8sManifest", Store: task.Store{Git: g}}
	return p
}

func TestSpec23Rendering(t *testing.T) {
	t.Parallel()
	t.Run("kubernetes §23.1 the skip directive on line 1 and on line 2", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		g := repository(t, map[string]string{
			"deploy/first.yaml":    skipDirective + "\n" + fixedYAML("first", "1"),
			"deploy/second.yaml":   "# a comment\n" + skipDirective + "\n" + fixedYAML("second", "1"),
			"deploy/sub/third.yml": fixedYAML("third", "1"),
			"deploy/readme.md":     "no manifest",
		})
		s.succeed(t, from(s.step(lane.OpRolling, ""), g))
		if diff := cmp.Diff([]string{"ConfigMap/second", "ConfigMap/third"}, s.names(t)); diff != "" {
			t.Errorf("after the rolling deployment (-want +got):\n%s", diff)
		}
		p := from(s.step(lane.OpApply, ""), g)
		p.FilePaths = []string{"first.yaml"}
		s.succeed(t, p)
		if diff := cmp.Diff([]string{"ConfigMap/first", "ConfigMap/second", "ConfigMap/third"}, s.names(t)); diff != "" {
			t.Errorf("after K8sApply (-want +got):\n%s", diff)
		}
		p = from(s.step(lane.OpDelete, ""), g)
		p.Delete = &lane.ResourceSelection{Type: "ManifestPath", ManifestPaths: []string{"first.yaml", "sub"}}
		s.succeed(t, p)
		if diff := cmp.Diff([]string{"ConfigMap/second"}, s.names(t)); diff != "" {
			t.Errorf("after K8sDelete (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §23.2 an expression in a manifest", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.fail(t, s.step(lane.OpRolling, strings.ReplaceAll(deploymentYAML("web", "nginx:1", 1), "name: main", "name: <+artifact.image>")), "Deployment/web", "<+artifact.image>")
	})
	t.Run("kubernetes §23.3 numbers with leading zeros", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		g := repository(t, map[string]string{
			"deploy/cfg.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dates, annotations: {harness.io/skip-versioning: true}}\ndata: {a: {{ .Values.a | quote }}, b: {{ .Values.b | quote }}}\n",
			"deploy/values.yaml": "a: 020724\nb: '020724'\n",
		})
		s.succeed(t, from(s.step(lane.OpRolling, ""), g))
		c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "dates", metav1.GetOptions{})
		check(t, err)
		if diff := cmp.Diff(map[string]string{"a": "8660", "b": "020724"}, c.Data); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §23.4 the delegate's environment", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.fail(t, s.step(lane.OpRolling, fixedYAML("home", `{{ env "HOME" }}`)), `function "env" not defined`)
	})
	t.Run("kubernetes §23.5 a values file that isn't there", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		g := repository(t, map[string]string{"deploy/cfg.yaml": fixedYAML("cfg", "1"), "deploy/env/cfg.yaml": fixedYAML("inner", "1"), "env/cfg.yaml": "a: 1\n"})
		p := from(s.step(lane.OpRolling, ""), g)
		p.Target.Manifest.ValuesPaths = []string{"/env/cfg.yaml", "env/none.yaml"}
		s.fail(t, p, `"env/none.yaml"`)
		p.Target.Manifest.OptionalValuesYAML = true
		s.succeed(t, p)
		// Files that only have the name of a values file are manifests.
		if diff := cmp.Diff([]string{"ConfigMap/cfg", "ConfigMap/inner"}, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
	})
}

const configured = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  progressDeadlineSeconds: DEADLINE
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "IMAGE", envFrom: [{configMapRef: {name: cfg}}]}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {tls: [{secretName: keys}], defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {k: v}
`

func configuredWith(image string) string {
	return strings.NewReplacer("IMAGE", image, "DEADLINE", strconv.Itoa(deadlineOf(image))).Replace(configured)
}

// reference is the ConfigMap that the Deployment web takes its environment from.
func (s *site) reference(t *testing.T) string {
	t.Helper()
	d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	check(t, err)
	return d.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name
}

func TestSpec23Versions(t *testing.T) {
	t.Parallel()
	t.Run("kubernetes §23.6 release 5 has names of its own", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		for range 5 {
			s.succeed(t, s.step(lane.OpRolling, configYAML("cfg", "1")+configuredWith("nginx:1")))
		}
		if got := s.reference(t); got != "cfg-5" {
			t.Errorf("the Deployment refers to %s", got)
		}
		i, err := s.NetworkingV1().Ingresses(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		check(t, err)
		if got := i.Spec.TLS[0].SecretName; got != "keys" {
			t.Errorf("the Ingress refers to %s", got)
		}
		// semantics/kubernetes §9: those of the releases that are forgotten are gone.
		want := []string{"ConfigMap/cfg-3", "ConfigMap/cfg-4", "ConfigMap/cfg-5", "Deployment/web", "Secret/keys-3", "Secret/keys-4", "Secret/keys-5"}
		if diff := cmp.Diff(want, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §23.7 skip-versioning as a bare true", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.succeed(t, s.step(lane.OpRolling, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg, annotations: {harness.io/skip-versioning: true}}\n"+configuredWith("nginx:1")))
		c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "cfg", metav1.GetOptions{})
		if err != nil || c.Annotations[annotationSkipVersioning] != "true" || s.reference(t) != "cfg" {
			t.Errorf("%v, %v, reference %s", err, c.Annotations, s.reference(t))
		}
	})
	t.Run("kubernetes §23.8 declarative releases have no numbers in names", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		p := s.step(lane.OpRolling, configYAML("cfg", "1")+configuredWith("nginx:1"))
		p.Target.Manifest.Declarative = true
		s.succeed(t, p)
		if diff := cmp.Diff([]string{"ConfigMap/cfg", "Deployment/web", "Secret/keys"}, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"harness.release.rel.1"}, s.records(t)); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		// A rollback brings back the ConfigMap, too.
		bad := s.step(lane.OpRolling, configYAML("cfg", "2")+configuredWith("broken:2"))
		bad.Target.Manifest.Declarative = true
		s.fail(t, bad, "progress deadline")
		s.succeed(t, in(bad, lane.OpRollingRollback))
		c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "cfg", metav1.GetOptions{})
		if err != nil || c.Data["x"] != "1" || s.image(t, "web") != "nginx:1" {
			t.Errorf("after the rollback: %v, %v, %s", err, c.Data, s.image(t, "web"))
		}
	})
	t.Run("kubernetes §23.9 three records of five declarative releases", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		for range 5 {
			p := s.step(lane.OpRolling, configYAML("cfg", "1"))
			p.Target.Manifest.Declarative = true
			s.succeed(t, p)
		}
		if diff := cmp.Diff([]string{"harness.release.rel.3", "harness.release.rel.4", "harness.release.rel.5"}, s.records(t)); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §9 two executions of one release name at once", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		steps := []job{
			s.step(lane.OpRolling, configYAML("a", "1")), s.step(lane.OpRolling, configYAML("b", "1")),
			s.step(lane.OpRolling, configYAML("c", "1")), s.step(lane.OpRolling, configYAML("d", "1")),
		}
		var wg sync.WaitGroup
		got := make([]ended, len(steps))
		for i, p := range steps {
			wg.Go(func() { got[i] = s.do(t, p) })
		}
		wg.Wait()
		numbers := map[any]bool{}
		for _, e := range got {
			if e.err != nil || e.Status != task.Succeeded {
				t.Fatalf("ended %s: %s, %v", e.Status, e.Message, e.err)
			}
			numbers[e.output(t, "releaseNumber")] = true
		}
		if len(numbers) != len(steps) {
			t.Errorf("%d executions got the numbers %v", len(steps), numbers)
		}
	})
	t.Run("kubernetes §9 a number that another product has taken", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		_, err := s.CoreV1().Secrets(s.namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "harness.release.rel.1"}}, metav1.CreateOptions{})
		check(t, err)
		if e := s.succeed(t, s.step(lane.OpRolling, configYAML("cfg", "1"))); e.output(t, "releaseNumber") != 2.0 {
			t.Errorf("the release has the number %v", e.output(t, "releaseNumber"))
		}
		if diff := cmp.Diff([]string{"ConfigMap/cfg-2", "Secret/harness.release.rel.1"}, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §6 a release name that can't be a label", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		for _, name := range []string{strings.Repeat("a", 64), "Release_A", ""} {
			p := s.step(lane.OpRolling, configYAML("cfg", "1"))
			p.Target.ReleaseName = name
			s.fail(t, p, "release name")
		}
	})
}

func TestSpec23Rollback(t *testing.T) {
	t.Parallel()
	t.Run("kubernetes §23.10 back to the last good release, not to the one before", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		for _, image := range []string{"nginx:1", "nginx:2", "nginx:3"} {
			s.succeed(t, s.step(lane.OpRolling, configYAML("cfg", image)+configuredWith(image)))
		}
		s.fail(t, s.step(lane.OpRolling, configYAML("cfg", "4")+configuredWith("broken:4")), "progress deadline")
		fifth := s.step(lane.OpRolling, configYAML("cfg", "5")+configuredWith("broken:5"))
		s.fail(t, fifth, "progress deadline")
		e := s.succeed(t, in(fifth, lane.OpRollingRollback))
		if got := s.image(t, "web") + " " + s.reference(t); got != "nginx:3 cfg-3" {
			t.Errorf("after the rollback it runs %s", got)
		}
		if got := e.output(t, "releaseNumber"); got != 3.0 {
			t.Errorf("the rollback says that it went to release %v", got)
		}
		// semantics/kubernetes §12: the next deployment's previous release is still
		// the third.
		s.succeed(t, s.step(lane.OpRolling, configYAML("cfg", "6")+configuredWith("nginx:6")))
		if diff := cmp.Diff([]string{"harness.release.rel.2", "harness.release.rel.3", "harness.release.rel.6"}, s.records(t)); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §23.11 the first release has nothing to go back to", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		p := s.step(lane.OpRolling, deploymentYAML("web", "broken:1", 1))
		s.fail(t, p, "progress deadline")
		if log := s.succeed(t, in(p, lane.OpRollingRollback)).log(unitRollback); !contains(log, "No previous eligible release found. Can't rollback.") {
			t.Errorf("the log says %q", log)
		}
		if diff := cmp.Diff([]string{"Deployment/web"}, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §23.12 a deployment that ended in its dry run", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)))
		p := s.step(lane.OpRolling, deploymentYAML("web", "nginx:2", -1))
		s.fail(t, p, "Deployment/web", "replicas")
		s.succeed(t, in(p, lane.OpRollingRollback))
		if got := s.image(t, "web"); got != "nginx:1" {
			t.Errorf("after the rollback it runs %s", got)
		}
	})
	t.Run("kubernetes §12 what isn't a workload keeps its new content", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)+fixedYAML("fixed", "1")))
		p := s.step(lane.OpRolling, deploymentYAML("web", "broken:2", 1)+fixedYAML("fixed", "2"))
		s.fail(t, p, "progress deadline")
		s.succeed(t, in(p, lane.OpRollingRollback))
		c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "fixed", metav1.GetOptions{})
		if err != nil || c.Data["x"] != "2" {
			t.Errorf("%v, %v", err, c.Data)
		}
	})
	t.Run("kubernetes §17 what another release has isn't pruned", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		other := s.step(lane.OpRolling, fixedYAML("shared", "1"))
		other.Target.ReleaseName = "other"
		s.succeed(t, other)
		for _, manifest := range []string{fixedYAML("shared", "1") + fixedYAML("own", "1"), configYAML("cfg", "1")} {
			p := s.step(lane.OpRolling, manifest)
			p.Pruning = true
			s.succeed(t, p)
		}
		if diff := cmp.Diff([]string{"ConfigMap/cfg-2", "ConfigMap/shared"}, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
	})
}
