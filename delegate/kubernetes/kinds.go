package kubernetes

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// The annotations and labels of semantics/kubernetes §6.
const (
	annotationSkipVersioning = "harness.io/skip-versioning"
	annotationDirectApply    = "harness.io/direct-apply"
	annotationPrimaryService = "harness.io/primary-service"
	annotationStageService   = "harness.io/stage-service"
	annotationSkipPruning    = "harness.io/skipPruning"
	labelRelease             = lane.ReleaseLabel
	labelNumber              = "harness.io/release-number"
	labelStatus              = "harness.io/release-status"
	labelTrack               = "harness.io/track"
	labelColor               = "harness.io/color"
	labelServiceType         = "harness.io/service-type"
)

// order is how kinds are applied; unknown kinds come last
// (semantics/kubernetes §7).
func order(kind string) int {
	kinds := []string{
		"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget", "ServiceAccount",
		"Secret", "ConfigMap", "StorageClass", "PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole",
		"ClusterRoleBinding", "Role", "RoleBinding", "Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment",
		"DeploymentConfig", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "Ingress", "APIService",
	}
	if i := slices.Index(kinds, kind); i >= 0 {
		return i
	}
	return len(kinds)
}

// sorted gives objects in the order of apply; within a kind it stays as it was.
func sorted(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	out := slices.Clone(objects)
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(order(a.GetKind()), order(b.GetKind()))
	})
	return out
}

func annotated(o *unstructured.Unstructured, name string) bool {
	return strings.EqualFold(o.GetAnnotations()[name], "true")
}

// kindConfig is OpenShift's own kind of Deployment.
const kindConfig = "DeploymentConfig"

// isWorkload says whether a kind is a workload of pods that rolls out.
func isWorkload(kind string) bool {
	return kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet" || kind == kindConfig
}

// selectorOf is where a workload has the labels of its pods, and more labels
// below it if any are given.
func selectorOf(w *unstructured.Unstructured, more ...string) []string {
	if w.GetKind() == kindConfig {
		return append([]string{"spec", "selector"}, more...)
	}
	return append([]string{"spec", "selector", "matchLabels"}, more...)
}

// managed gives the workloads that strategies work on
// (semantics/kubernetes §6).
func managed(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range objects {
		if isWorkload(o.GetKind()) && !annotated(o, annotationDirectApply) {
			out = append(out, o)
		}
	}
	return out
}

// podSpecPath is where a kind has its pod template's spec; nil for none.
func podSpecPath(kind string) []string {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "ReplicationController", kindConfig:
		return []string{"spec", "template", "spec"}
	case "CronJob":
		return []string{"spec", "jobTemplate", "spec", "template", "spec"}
	case "Pod":
		return []string{"spec"}
	}
	return nil
}

// name is an object as people see it: Kind/name.
func display(o *unstructured.Unstructured) string { return o.GetKind() + "/" + o.GetName() }

// set writes a value into an object, making the mappings on the way. The
// path is ours and the objects are JSON, so it can't fail on a sound manifest.
func set(o *unstructured.Unstructured, value any, path ...string) {
	_ = unstructured.SetNestedField(o.Object, value, path...) // the server refuses what isn't sound
}

// putLabel sets a label of a mapping of texts such as a selector.
func putLabel(o *unstructured.Unstructured, name, value string, path ...string) {
	m, _, _ := unstructured.NestedMap(o.Object, path...)
	if m == nil {
		m = map[string]any{}
	}
	m[name] = value
	set(o, m, path...)
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func number(o *unstructured.Unstructured, path ...string) (int64, bool) {
	v, ok, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	if !ok {
		return 0, false
	}
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	}
	return 0, false
}

// The resources that the package itself reads and writes.
func secrets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
}
func services() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "services"}
}
func pods() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}
