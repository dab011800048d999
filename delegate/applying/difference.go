package applying

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/textdiff"
)

// AnnotationRevision is where a Deployment's controller counts its revisions.
const AnnotationRevision = "deployment.kubernetes.io/revision"

// Difference gives the difference of two states of an object as people write it; a
// state is nil where there is none.
func Difference(before, after *unstructured.Unstructured) (string, error) {
	was, is := Plain(before), Plain(after)
	if is["kind"] == "Secret" || was["kind"] == "Secret" {
		Hide(was, is)
	}
	a, err := YAML(was)
	if err != nil {
		return "", err
	}
	b, err := YAML(is)
	if err != nil {
		return "", err
	}
	return textdiff.Unified(a, b), nil
}

// Plain is an object without what the server alone writes.
func Plain(o *unstructured.Unstructured) map[string]any {
	if o == nil {
		return nil
	}
	o = o.DeepCopy()
	delete(o.Object, "status")
	for _, key := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(o.Object, "metadata", key)
	}
	for _, note := range []string{"kubectl.kubernetes.io/last-applied-configuration", AnnotationRevision} {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", note)
	}
	if len(o.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	}
	return o.Object
}

// YAML writes a value as people read it; nothing for none.
func YAML(m map[string]any) (string, error) {
	if m == nil {
		return "", nil
	}
	doc, err := yaml.Marshal(m)
	return string(doc), err
}

// What is shown instead of a Secret's values.
const (
	hidden       = "***"
	hiddenBefore = "*** (before)"
	hiddenAfter  = "*** (after)"
)

// Hide masks the values of a Secret's two states; whether one changed can
// still be seen.
func Hide(before, after map[string]any) {
	for _, key := range []string{"data", "stringData"} {
		was, is := child(before, key), child(after, key)
		for name, value := range maps.Clone(is) {
			old, there := was[name]
			switch {
			case !there:
				is[name] = hidden
			case old == value:
				was[name], is[name] = hidden, hidden
			default:
				was[name], is[name] = hiddenBefore, hiddenAfter
			}
		}
		for name := range was {
			if _, there := is[name]; !there {
				was[name] = hidden
			}
		}
	}
}

func child(m map[string]any, key string) map[string]any {
	inner, _ := m[key].(map[string]any)
	return inner
}
