package kubernetes

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// mesh makes the objects of a routing whose hosts are services and whose
// weights add up (semantics/kubernetes §16).
func (n *network) mesh(t *lane.TrafficRouting) ([]*unstructured.Unstructured, error) {
	switch t.Provider {
	case lane.TrafficIstio:
		return n.istio(t)
	case lane.TrafficSMI:
		return n.smi(t)
	case lane.TrafficGateway:
		return n.gateway(t)
	case lane.TrafficNginx:
		return n.nginx(t)
	}
	return nil, fault.New(fault.Invalid, "the provider of traffic routing is %q; want istio, smi, k8s-native or nginx", t.Provider)
}

// route makes an object of a kind in the version that the cluster prefers.
func (n *network) routeObject(group, kind, name string, spec map[string]any) (*unstructured.Unstructured, error) {
	m, err := n.client.Mapping(schema.GroupVersionKind{Group: group, Kind: kind})
	if err != nil {
		return nil, fault.New(fault.Invalid, "the cluster has no kind %s of %s, so the provider isn't installed: %w", kind, group, err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(m.GroupVersionKind)
	o.SetName(name)
	o.SetNamespace(n.p.Target.Namespace)
	o.SetLabels(map[string]string{labelRelease: n.p.Target.ReleaseName})
	return o, nil
}

// texts is a list as objects have it.
func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// istio is one VirtualService.
func (n *network) istio(t *lane.TrafficRouting) ([]*unstructured.Unstructured, error) {
	var routes []any
	for _, r := range t.Routes {
		route := map[string]any{"name": r.Name}
		if match := istioMatch(r.Rules); len(match) > 0 {
			route["match"] = []any{match}
		}
		var to []any
		for _, d := range r.Destinations {
			place := map[string]any{"host": d.Host}
			if d.Port > 0 {
				place["port"] = map[string]any{"number": int64(d.Port)}
			}
			to = append(to, map[string]any{"destination": place, "weight": int64(*d.Weight)})
		}
		route["route"] = to
		routes = append(routes, route)
	}
	spec := map[string]any{"http": routes}
	if len(t.Gateways) > 0 {
		spec["gateways"] = texts(t.Gateways)
	}
	if !t.Delegate { // Istio refuses hosts of one that others delegate to
		if len(t.Hosts) == 0 {
			return nil, fault.New(fault.Invalid, "the VirtualService %s has no hosts; want one at least unless it is a delegateService", t.Name)
		}
		spec["hosts"] = texts(t.Hosts)
	}
	o, err := n.routeObject("networking.istio.io", "VirtualService", t.Name, spec)
	return []*unstructured.Unstructured{o}, err
}

func istioMatch(rules []lane.TrafficRule) map[string]any {
	out := map[string]any{}
	for _, r := range rules {
		switch r.Type {
		case lane.RuleHeaders:
			headers, _ := out["headers"].(map[string]any)
			if headers == nil {
				headers = map[string]any{}
			}
			for _, h := range r.Headers {
				headers[strings.ToLower(h.Key)] = istioText(h)
			}
			out["headers"] = headers
		case lane.RulePort:
			var port int64
			_, _ = fmt.Sscan(r.Match.Value, &port) // what isn't one is refused by Istio
			out["port"] = port
		default:
			out[r.Type] = istioText(r.Match)
		}
	}
	return out
}

func istioText(m lane.TrafficMatch) map[string]any {
	kind := m.Type
	if kind == "" {
		kind = lane.MatchExact
	}
	return map[string]any{kind: m.Value}
}

// smi is a TrafficSplit for each route, and an HTTPRouteGroup for its rules.
func (n *network) smi(t *lane.TrafficRouting) ([]*unstructured.Unstructured, error) {
	if t.RootService == "" {
		return nil, fault.New(fault.Invalid, "the routing %s names no rootService", t.Name)
	}
	var out []*unstructured.Unstructured
	for _, r := range t.Routes {
		name := t.Name + "-" + r.Name
		var backends []any
		for _, d := range r.Destinations {
			backends = append(backends, map[string]any{"service": d.Host, "weight": int64(*d.Weight)})
		}
		spec := map[string]any{"service": t.RootService, "backends": backends}
		if len(r.Rules) > 0 {
			group, err := n.routeObject("specs.smi-spec.io", "HTTPRouteGroup", name+"-http-rule", map[string]any{"matches": []any{smiMatch(r)}})
			if err != nil {
				return nil, err
			}
			out = append(out, group)
			spec["matches"] = []any{map[string]any{"kind": "HTTPRouteGroup", "name": name + "-http-rule"}}
		}
		split, err := n.routeObject("split.smi-spec.io", "TrafficSplit", name, spec)
		if err != nil {
			return nil, err
		}
		out = append(out, split)
	}
	return out, nil
}

// smiMatch writes rules as SMI has them: texts are regular expressions.
func smiMatch(r lane.TrafficRoute) map[string]any {
	out := map[string]any{"name": r.Name}
	for _, rule := range r.Rules {
		switch rule.Type {
		case lane.RuleURI:
			out["pathRegex"] = pattern(rule.Match)
		case lane.RuleMethod:
			out["methods"] = []any{rule.Match.Value}
		case lane.RuleHeaders:
			headers, _ := out["headers"].([]any)
			for _, h := range rule.Headers {
				headers = append(headers, map[string]any{h.Key: pattern(h)})
			}
			out["headers"] = headers
		}
	}
	return out
}

// pattern is a match as a regular expression.
func pattern(m lane.TrafficMatch) string {
	switch m.Type {
	case lane.MatchRegex:
		return m.Value
	case lane.MatchPrefix:
		return "^" + regexp.QuoteMeta(m.Value) + ".*"
	}
	return "^" + regexp.QuoteMeta(m.Value) + "$"
}
