package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/manifest"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

func TestCustomConditions(t *testing.T) {
	t.Parallel()
	const object = "{apiVersion: example.org/v1, kind: Gadget, metadata: {name: g}, spec: {replicas: 3}, status: {replicas: 3, readyReplicas: 2, state: Running, failed: 1}}"
	tests := []struct {
		name, condition string
		want            bool
		err             string
	}{
		{"as documented", `${json.select("spec.replicas", response) == json.select("status.replicas", response)}`, true, ""},
		{"not yet", `${json.select("status.replicas", response) == json.select("status.readyReplicas", response) && json.select("spec.replicas", response) == json.select("status.replicas", response)}`, false, ""},
		{"a text", `${json.select("status.state", response) == "Running"}`, true, ""},
		{"what isn't there yet", `${json.select("status.phase", response) == "Ready"}`, false, ""},
		{"a bare path", `status.failed == 1`, true, ""},
		{"a bare path that isn't there yet", `status.other == 1`, false, ""},
		{"a path below the response", `${response.status.state == "Running"}`, true, ""},
		{"no condition at all", `${1 +}`, false, "1 +"},
		{"no boolean", `${json.select("status.state", response)}`, false, "true or false"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := manifest.Decode(object)
			if err != nil {
				t.Fatal(err)
			}
			got, err := holds(tt.condition, &unstructured.Unstructured{Object: m})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v; want one about %s", err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("%s is %v, %v; want %v", tt.condition, got, err, tt.want)
			}
		})
	}
}

// definition is a kind of the test's own: kinds belong to the whole cluster.
func (s *site) definition(kind string) (text string, resource schema.GroupVersionResource) {
	group := s.namespace + ".example.org"
	plural := strings.ToLower(kind) + "s"
	return `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + plural + "." + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: ` + kind + `, plural: ` + plural + `, singular: ` + strings.ToLower(kind) + `}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
}

// custom is a resource of that kind.
func (s *site) custom(kind, size, annotations string) string {
	return "---\napiVersion: " + s.namespace + ".example.org/v1\nkind: " + kind + "\nmetadata:\n  name: mine\n  annotations:\n    harness.io/managed-workload: true\n" +
		annotations + "spec: {size: " + size + "}\n"
}

// operate stands for the kind's operator: it copies spec.size to status.state
// as soon as it changes, until the test ends. As operators do, it tells which
// generation the status is about.
func (s *site) operate(t *testing.T, resource schema.GroupVersionResource) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	res := s.dyn.Resource(resource).Namespace(s.namespace)
	w, err := res.Watch(ctx, metav1.ListOptions{})
	check(t, err)
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok || seen(o) {
				continue
			}
			patch := fmt.Sprintf(`{"status":{"state":%q,"observedGeneration":%d}}`, text(o, "spec", "size"), o.GetGeneration())
			_, err := res.Patch(ctx, o.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
}

func seen(o *unstructured.Unstructured) bool {
	n, _ := number(o, "status", "observedGeneration")
	return n == o.GetGeneration()
}

// A status that tells no generation may be about what the resource was
// before: a failure that it had then isn't taken for one of this roll-out.
func TestPastFailureOfACustomResource(t *testing.T) {
	t.Parallel()
	gadget := func(state string) *unstructured.Unstructured {
		m, err := manifest.Decode("{kind: Gadget, metadata: {uid: u, annotations: {harness.io/managed-workload: 'true', harness.io/failureCondition: 'status.state == \"sick\"', " +
			"harness.io/steadyStateCondition: 'status.state == \"well\"'}}, status: {state: " + state + "}}")
		check(t, err)
		return &unstructured.Unstructured{Object: m}
	}
	var p past
	p.note(gadget("sick"))
	for state, want := range map[string]struct{ done, failed bool }{"sick": {false, false}, "well": {true, false}} {
		done, _, err := rollout(p.without(gadget(state)))
		if done != want.done || (err != nil) != want.failed {
			t.Errorf("%s: done %v, %v", state, done, err)
		}
	}
	if _, _, err := rollout(new(past).without(gadget("sick"))); err == nil {
		t.Error("a failure that is new was overlooked")
	}
}

const (
	whenBig  = "    harness.io/steadyStateCondition: ${json.select(\"status.state\", response) == \"big\" || json.select(\"status.state\", response) == \"bigger\"}\n"
	whenSick = "    failureCondition: status.state == \"sick\"\n"
)

// semantics/kubernetes §6, §10, §12: a custom resource is waited for, and the
// earlier one comes back when the deployment fails.
func TestCustomResources(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kind, resource := s.definition("Gadget")
	t.Cleanup(func() {
		err := s.dyn.Resource(definitions()).Delete(context.Background(), resource.GroupResource().String(), metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	size := func() string {
		o, err := s.dyn.Resource(resource).Namespace(s.namespace).Get(t.Context(), "mine", metav1.GetOptions{})
		check(t, err)
		return text(o, "spec", "size") + " " + text(o, "status", "state")
	}
	// The kind and the first resource of it come together.
	e := s.succeed(t, s.step(lane.OpRolling, kind+s.custom("Gadget", "none", "")))
	if log := e.log(unitSteady); !contains(log, "has no harness.io/steadyStateCondition") {
		t.Errorf("the log doesn't warn:\n%s", log)
	}
	s.operate(t, resource)
	s.succeed(t, s.step(lane.OpRolling, kind+s.custom("Gadget", "big", whenBig+whenSick)))
	if got := size(); got != "big big" {
		t.Errorf("after the deployment the resource is %s", got)
	}
	sick := s.step(lane.OpRolling, kind+s.custom("Gadget", "sick", whenBig+whenSick))
	s.fail(t, sick, "Gadget/mine failed", "failureCondition")
	s.succeed(t, in(sick, lane.OpRollingRollback))
	if got := size(); got != "big big" {
		t.Errorf("after the rollback the resource is %s", got)
	}
	p := s.step(lane.OpApply, s.custom("Gadget", "bigger", whenBig))
	p.FilePaths = []string{"app.yaml"}
	s.succeed(t, p)
	if got := size(); got != "bigger bigger" {
		t.Errorf("after K8sApply the resource is %s", got)
	}
	p = s.step(lane.OpApply, s.custom("Gadget", "x", "    harness.io/steadyStateCondition: ${1 +}\n"))
	p.FilePaths = []string{"app.yaml"}
	s.fail(t, p, "Gadget/mine: its steadyStateCondition")
	if diff := cmp.Diff([]string(nil), s.names(t)); diff != "" {
		t.Errorf("what else is there (-want +got):\n%s", diff)
	}
}

// Kinds and their resources are deleted with their release, also by a retry
// that finds the kind gone.
func TestDeleteOfAKindAndItsResources(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		s := newSite(t)
		kind, resource := s.definition("Widget")
		s.succeed(t, s.step(lane.OpRolling, kind+s.custom("Widget", "one", "")))
		if gone {
			check(t, s.dyn.Resource(definitions()).Delete(t.Context(), resource.GroupResource().String(), metav1.DeleteOptions{}))
		}
		p := s.step(lane.OpDelete, "")
		p.Delete = &lane.ResourceSelection{Type: "ReleaseName"}
		s.succeed(t, p)
		_, err := s.dyn.Resource(definitions()).Get(t.Context(), resource.GroupResource().String(), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) || len(s.records(t)) != 0 {
			t.Errorf("the kind: %v; records: %v", err, s.records(t))
		}
	}
	s := newSite(t)
	s.fail(t, s.step(lane.OpRolling, s.custom("Nothing", "one", "")), "the cluster has no kind Nothing")
}

func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}
