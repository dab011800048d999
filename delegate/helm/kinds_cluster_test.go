package helm

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/internal/testcluster"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// kind is one of the test's own: kinds belong to the whole cluster.
func (s *site) kind() (group, definition string) {
	group = s.namespace + ".example.org"
	return group, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`
}

// define has another delegate define kinds.
func (s *site) define(t *testing.T, at task.Cluster, definition string) {
	t.Helper()
	other := kubernetes.New(kubernetes.Config{Cache: t.TempDir(), Script: shell.New(os.Environ(), t.TempDir())})
	p := lane.Spec{
		Op:     lane.OpRolling,
		Target: lane.Target{Cluster: at, Namespace: s.namespace, ReleaseName: "other", Manifest: &origin.Manifest{ID: "m", Type: "K8sManifest", Store: task.Store{Inline: definition}}},
	}
	r, err := other(t.Context(), executortest.Work(t, lane.Kind, task.Work{Execution: "other", Stage: "deploy", Step: "step"}, p, nil), executortest.New(t, nil).Env)
	if err != nil || r.Status != task.Succeeded {
		t.Fatalf("%s: %s, %v", r.Status, r.Message, err)
	}
}

// optional is a template of what the cluster may have no kind for.
func optional(group string) string {
	return `{{- if .Capabilities.APIVersions.Has "` + group + `/v1/Gadget" }}
apiVersion: ` + group + `/v1
kind: Gadget
metadata: {name: {{ .Release.Name }}}
{{- end }}
`
}

// A kind that came after the delegate had known the cluster's is there for a
// chart that asks, and each task asks the cluster once.
func TestKindsThatCameLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	group, definition := s.kind()
	s.commit(t, map[string]string{"web/templates/gadget.yaml": optional(group)})
	behind := s.cluster
	var asked *atomic.Int32
	s.cluster.URL, asked = testcluster.Discoveries(t, s.cluster.URL, s.cluster.CAPEM)
	deploy := func(op nativehelm.Op, want bool) {
		t.Helper()
		e := s.succeed(t, noHooks(s.step(op, ""))) // for a hook Helm asks, too
		if got := strings.Contains(e.env.Text(unitInit, executor.Info), "Rendered Gadget/"); got != want {
			t.Errorf("%s: the new kind was rendered: %v; want %v", op, got, want)
		}
		if n := asked.Swap(0); n != 1 {
			t.Errorf("%s: the cluster was asked for its kinds %d times; want once", op, n)
		}
	}
	deploy(nativehelm.OpDeploy, false)
	deploy(nativehelm.OpDeploy, false)
	s.define(t, behind, definition)
	deploy(nativehelm.OpDeploy, true)
	deploy(nativehelm.OpDeploy, true)
}

// A chart that brings a kind has it from its first revision on.
func TestKindsOfTheChartItself(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	group, definition := s.kind()
	s.commit(t, map[string]string{
		"web/templates/known.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: known}\ndata: {gadget: \"{{ .Capabilities.APIVersions.Has \"" + group + "/v1/Gadget\" }}\"}\n",
		"web/crds/gadget.yaml":     definition,
	})
	s.succeed(t, s.step(nativehelm.OpDeploy, ""))
	known, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "known", metav1.GetOptions{})
	check(t, err)
	if known.Data["gadget"] != "true" {
		t.Error("the first revision doesn't know the new kind")
	}
}

// What another delegate has deployed of a kind that came later can be taken
// back and deleted.
func TestTakingBackKindsThatCameLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	group, definition := s.kind()
	s.commit(t, map[string]string{"web/templates/gadget.yaml": optional(group)})
	s.succeed(t, s.step(nativehelm.OpDeploy, ""))
	s.define(t, s.cluster, definition)
	other := *s
	other.run = New(kubernetes.Config{Cache: t.TempDir(), Script: shell.New(os.Environ(), t.TempDir())})
	p := other.step(nativehelm.OpDeploy, "")
	other.succeed(t, p)
	s.succeed(t, in(p, nativehelm.OpRollback))
	s.succeed(t, in(p, nativehelm.OpDelete))
}
