package kubernetes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxName is the longest name of an object.
const maxName = 253

// version gives ConfigMaps and Secrets names of their own for each release,
// and makes every pod spec refer to these (semantics/kubernetes §8).
func version(objects []*unstructured.Unstructured, number int) []string {
	return rename(objects, fmt.Sprintf("-%d", number))
}

// rename appends a suffix to the names of ConfigMaps and Secrets, but for
// those that ask to be left alone, and rewrites references to them. It gives
// the new names as kind/name.
func rename(objects []*unstructured.Unstructured, suffix string) []string {
	return renameSome(objects, suffix, func(*unstructured.Unstructured) bool { return true })
}

// renameSome renames those ConfigMaps and Secrets that are wanted.
func renameSome(objects []*unstructured.Unstructured, suffix string, wanted func(*unstructured.Unstructured) bool) []string {
	names := map[string]map[string]string{"ConfigMap": {}, "Secret": {}}
	var made []string
	for _, o := range objects {
		renamed := names[o.GetKind()]
		if renamed == nil || annotated(o, annotationSkipVersioning) || o.GroupVersionKind().Group != "" || !wanted(o) {
			continue
		}
		to := withSuffix(o.GetName(), suffix)
		renamed[o.GetName()] = to
		o.SetName(to)
		made = append(made, o.GetKind()+"/"+to)
	}
	for _, o := range objects {
		path := podSpecPath(o.GetKind())
		if path == nil {
			continue
		}
		if spec, ok, _ := unstructured.NestedFieldNoCopy(o.Object, path...); ok {
			rewrite(spec, names)
		}
	}
	return made
}

// withSuffix keeps a name within its length.
func withSuffix(name, suffix string) string {
	if len(name)+len(suffix) > maxName {
		name = name[:maxName-len(suffix)]
	}
	return name + suffix
}

// references are the keys below which a pod spec names a ConfigMap or a
// Secret, and the key of the name. What isn't in a pod spec isn't rewritten:
// an Ingress's TLS secret, a ServiceAccount's.
func references(key string) (kind, nameKey string) {
	switch key {
	case "configMapRef", "configMapKeyRef", "configMap":
		return "ConfigMap", "name"
	case "secretRef", "secretKeyRef":
		return "Secret", "name"
	case "secret": // of a volume; of a projected source it is "name"
		return "Secret", "secretName"
	}
	return "", ""
}

func rewrite(v any, names map[string]map[string]string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			rewrite(item, names)
		}
	case map[string]any:
		for key, value := range v {
			if key == "imagePullSecrets" {
				rewritePullSecrets(value, names["Secret"])
				continue
			}
			if kind, nameKey := references(key); kind != "" {
				if m, ok := value.(map[string]any); ok {
					replaceName(m, nameKey, names[kind])
					replaceName(m, "name", names[kind])
				}
			}
			rewrite(value, names)
		}
	}
}

func rewritePullSecrets(v any, names map[string]string) {
	list, _ := v.([]any)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			replaceName(m, "name", names)
		}
	}
}

func replaceName(m map[string]any, key string, names map[string]string) {
	if old, ok := m[key].(string); ok {
		if to, ok := names[old]; ok {
			m[key] = to
		}
	}
}
