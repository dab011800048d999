package kubernetes

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// call rewrites the names of services that pods of objects call. Most charts
// give one name to all of their objects, so what names an account, a ConfigMap
// or anything else but a host stays as it is.
func call(objects []*unstructured.Unstructured, services map[string]string) {
	for _, o := range objects {
		path := podSpecPath(o.GetKind())
		spec, ok, _ := unstructured.NestedFieldCopy(o.Object, path...)
		if path == nil || !ok {
			continue
		}
		rewriteHosts(spec, func(s string) string {
			for from, to := range services {
				s = replaceWord(s, from, to, "-")
			}
			return s
		})
		set(o, spec, path...)
	}
}

// rewriteHosts rewrites the texts of a pod spec that can have the name of a
// host in them.
func rewriteHosts(v any, to func(string) string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			rewriteHosts(item, to)
		}
	case map[string]any:
		for key, value := range v {
			switch key {
			case "command", "args", // of containers, and of what runs in them
				"host",                               // of probes and hooks
				"subdomain", "hostnames", "searches", // of what pods look up
				"server": // of volumes
				v[key] = rewritten(value, to)
			case "env", "httpHeaders":
				rewriteValues(value, to)
			default:
				rewriteHosts(value, to)
			}
		}
	}
}

// rewriteValues rewrites the values of a list of names and values.
func rewriteValues(list any, to func(string) string) {
	items, _ := list.([]any)
	for _, item := range items {
		if pair, ok := item.(map[string]any); ok && pair["value"] != nil {
			pair["value"] = rewritten(pair["value"], to)
		}
	}
}
