package helm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/release/common"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/internal/testservers"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// site is a namespace of a real cluster with an executor, a repository of a
// chart, and a client of its own that looks at what is really there.
type site struct {
	clientset.Interface
	namespace string
	cluster   task.Cluster
	run       executor.Executor
	repo      string // the folder of its Git repository
	url       string // of that
	stage     int    // numbers the executions
}

func newSite(tb testing.TB) *site {
	tb.Helper()
	kubeconfig, namespace := testcluster.Namespace(tb)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(tb, err)
	config.QPS = -1
	client, err := clientset.NewForConfig(config)
	check(tb, err)
	s := &site{
		Interface: client, namespace: namespace, run: New(kubernetes.Config{Cache: tb.TempDir(), Script: shell.New(os.Environ(), tb.TempDir())}), repo: tb.TempDir(),
		cluster: task.Cluster{URL: config.Host, Token: config.BearerToken, CAPEM: string(config.CAData)},
	}
	s.git(tb, "init", "--quiet", "--initial-branch=main")
	s.url = testservers.Git(tb, s.repo)
	s.commit(tb, chartFiles())
	return s
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (s *site) git(tb testing.TB, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir = s.repo
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// commit writes files into the repository.
func (s *site) commit(tb testing.TB, files map[string]string) {
	tb.Helper()
	for name, text := range files {
		path := filepath.Join(s.repo, name)
		check(tb, os.MkdirAll(filepath.Dir(path), 0o700))
		check(tb, os.WriteFile(path, []byte(text), 0o600))
	}
	s.git(tb, "add", ".")
	s.git(tb, "commit", "--quiet", "-m", "chart")
}

// chartFiles is a chart with a workload, a hook and a test.
func chartFiles() map[string]string {
	return map[string]string{
		"web/Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		"web/values.yaml": "image: nginx:1\nreplicas: 1\nhook: complete\ntest: complete\n",
		"web/templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  progressDeadlineSeconds: {{ if hasPrefix "broken:" .Values.image }}3{{ else }}300{{ end }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: main, image: "{{ .Values.image }}"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-config}
data: {greeting: {{ .Values.greeting | default "none" | quote }}}
`,
		"web/templates/hook.yaml": `apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {slipway.test/behaviour: {{ .Values.hook }}}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1"}]}
`,
		"web/templates/tests/smoke.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: {{ .Release.Name }}-smoke, annotations: {helm.sh/hook: test}}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {slipway.test/behaviour: {{ .Values.test }}}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1"}]}
`,
		"over.yaml": "greeting: from the repository\n",
	}
}

// step is a task of one step in an execution of its own, with values.
func (s *site) step(op nativehelm.Op, values string) job {
	s.stage++
	return job{
		Work: task.Work{Target: task.Target{Service: "web"}, Execution: fmt.Sprintf("e%d", s.stage), Stage: "deploy", Step: "step"},
		Spec: nativehelm.Spec{Op: op, Target: lane.Target{
			Cluster: s.cluster, Namespace: s.namespace, ReleaseName: "rel",
			Values: []origin.ValuesFile{{ID: "over", Store: task.Store{Inline: values}}},
			Manifest: &origin.Manifest{
				ID: "app", Type: "HelmChart", Chart: &origin.Chart{HelmVersion: "V3"},
				Store: task.Store{Git: &task.Git{URL: s.url, Branch: "main", Paths: []string{"web"}}},
			},
		}},
	}
}

// job is the payload of a task with its spec.
type job struct {
	Work task.Work
	nativehelm.Spec
}

func (j job) assignment(tb testing.TB) task.Assignment {
	tb.Helper()
	return executortest.Work(tb, nativehelm.Kind, j.Work, j.Spec, nil)
}

// in is another step of the same stage.
func in(p job, op nativehelm.Op) job {
	p.Op, p.Work.Step = op, string(op)
	return p
}

func flagged(p job, command, flag string) job {
	p.CommandFlags = append(slices.Clone(p.CommandFlags), origin.CommandFlag{Command: command, Flag: flag})
	return p
}

// ended is how a step ended, as the control plane and people see it.
type ended struct {
	task.Result
	err error
	env *executortest.Env
}

func (s *site) do(t *testing.T, p job) ended {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, executor.ErrTimeout) // seconds, on a quiet machine
	defer cancel()
	env := executortest.New(t, nil)
	r, err := s.run(ctx, p.assignment(t), env.Env)
	return ended{r, err, env}
}

func (s *site) succeed(t *testing.T, p job) ended {
	t.Helper()
	e := s.do(t, p)
	if e.err != nil || e.Status != task.Succeeded {
		t.Fatalf("%s ended %s: %s, %v", p.Op, e.Status, e.Message, e.err)
	}
	return e
}

// fail runs a step that must fail with a message that has all of the parts.
func (s *site) fail(t *testing.T, p job, parts ...string) ended {
	t.Helper()
	e := s.do(t, p)
	if e.err != nil || e.Status != task.Failed {
		t.Fatalf("%s ended %s: %s, %v; want a failure", p.Op, e.Status, e.Message, e.err)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("%s failed with %q; want it to say %q", p.Op, e.Message, part)
		}
	}
	return e
}

// output is one value of a step's outputs.
func (e ended) output(t *testing.T, name string) any {
	t.Helper()
	var doc struct{ Output map[string]any }
	check(t, json.Unmarshal(e.Outputs, &doc))
	return doc.Output[name]
}

// revisions lists Helm's own records: "1 deployed", "2 failed", ...
func (s *site) revisions(t *testing.T) []string {
	t.Helper()
	list, err := s.CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	check(t, err)
	out := []string{}
	for _, o := range list.Items {
		out = append(out, o.Labels["version"]+" "+o.Labels["status"])
	}
	slices.Sort(out)
	return out
}

// image is what a Deployment runs; empty if there is none.
func (s *site) image(t *testing.T, name string) string {
	t.Helper()
	d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return d.Spec.Template.Spec.Containers[0].Image
}

func (s *site) greeting(t *testing.T) string {
	t.Helper()
	c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "rel-config", metav1.GetOptions{})
	check(t, err)
	return c.Data["greeting"]
}

// pretend writes into Helm's record that a revision never ended.
func (s *site) pretend(t *testing.T, version, status string) {
	t.Helper()
	p := s.step(nativehelm.OpDeploy, "")
	s.stage--
	clusters := &kubernetes.Clusters{}
	env := executortest.New(t, nil)
	foreign, err := clusters.Foreign(p.Work, p.Target, env.Env)
	check(t, err)
	sess := &session{work: p.Work, p: p.Spec, env: env.Env, cluster: foreign}
	cfg, err := sess.configure("x")
	check(t, err)
	h, err := historyOf(cfg, "rel")
	check(t, err)
	for _, r := range h {
		if fmt.Sprint(r.Version) == version {
			r.Info.Status = common.Status(status)
			check(t, cfg.Releases.Update(r))
		}
	}
}
