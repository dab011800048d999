package kubernetes

import (
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// gateway is one HTTPRoute of the Gateway API, with a rule for each route.
func (n *network) gateway(t *lane.TrafficRouting) ([]*unstructured.Unstructured, error) {
	var rules []any
	for _, r := range t.Routes {
		var to []any
		for _, d := range r.Destinations {
			if d.Port == 0 {
				return nil, fault.New(fault.Invalid, "the destination %s of the route %s has no port, which an HTTPRoute needs", d.Host, r.Name)
			}
			to = append(to, map[string]any{"name": d.Host, "port": int64(d.Port), "weight": int64(*d.Weight)})
		}
		rule := map[string]any{"backendRefs": to}
		if len(r.Rules) > 0 {
			match, err := gatewayMatch(r)
			if err != nil {
				return nil, err
			}
			rule["matches"] = []any{match}
		}
		rules = append(rules, rule)
	}
	spec := map[string]any{"rules": rules}
	if len(t.Hosts) > 0 {
		spec["hostnames"] = texts(t.Hosts)
	}
	var parents []any
	for _, g := range t.Gateways {
		namespace, name, both := strings.Cut(g, "/")
		if !both {
			parents = append(parents, map[string]any{"name": g})
			continue
		}
		parents = append(parents, map[string]any{"namespace": namespace, "name": name})
	}
	if len(parents) > 0 {
		spec["parentRefs"] = parents
	}
	o, err := n.routeObject("gateway.networking.k8s.io", "HTTPRoute", t.Name, spec)
	return []*unstructured.Unstructured{o}, err
}

func gatewayMatch(r lane.TrafficRoute) (map[string]any, error) {
	out := map[string]any{}
	for _, rule := range r.Rules {
		switch rule.Type {
		case lane.RuleURI:
			kind := map[string]string{"": "Exact", lane.MatchExact: "Exact", lane.MatchPrefix: "PathPrefix", lane.MatchRegex: "RegularExpression"}[rule.Match.Type]
			out["path"] = map[string]any{"type": kind, "value": rule.Match.Value}
		case lane.RuleMethod:
			if rule.Match.Type != "" && rule.Match.Type != lane.MatchExact {
				return nil, fault.New(fault.Unsupported, "the route %s matches its method by %s; an HTTPRoute can only match it exactly", r.Name, rule.Match.Type)
			}
			out["method"] = rule.Match.Value
		case lane.RuleHeaders:
			headers, _ := out["headers"].([]any)
			for _, h := range rule.Headers {
				kind, value := "Exact", h.Value
				if h.Type == lane.MatchRegex || h.Type == lane.MatchPrefix {
					kind, value = "RegularExpression", pattern(h)
				}
				headers = append(headers, map[string]any{"name": h.Key, "type": kind, "value": value})
			}
			out["headers"] = headers
		default:
			return nil, fault.New(fault.Unsupported, "the route %s has a rule of the type %s, which an HTTPRoute can't match", r.Name, rule.Type)
		}
	}
	return out, nil
}

// The annotations of ingress-nginx.
const (
	nginxCanary        = "nginx.ingress.kubernetes.io/canary"
	nginxWeight        = "nginx.ingress.kubernetes.io/canary-weight"
	nginxHeader        = "nginx.ingress.kubernetes.io/canary-by-header"
	nginxHeaderValue   = "nginx.ingress.kubernetes.io/canary-by-header-value"
	nginxHeaderPattern = "nginx.ingress.kubernetes.io/canary-by-header-pattern"
	nginxRegex         = "nginx.ingress.kubernetes.io/use-regex"
)

// nginx is two Ingresses for each route: one to the first destination, one to
// the second, which ingress-nginx takes for the canary of the first. A header
// sends a request to the canary whatever its weight.
func (n *network) nginx(t *lane.TrafficRouting) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, r := range t.Routes {
		if len(r.Destinations) != 2 {
			return nil, fault.New(fault.Unsupported, "the route %s has %d destinations; ingress-nginx splits between two", r.Name, len(r.Destinations))
		}
		path, notes, err := nginxRules(r)
		if err != nil {
			return nil, err
		}
		for i, d := range r.Destinations {
			if d.Port == 0 {
				return nil, fault.New(fault.Invalid, "the destination %s of the route %s has no port, which an Ingress needs", d.Host, r.Name)
			}
			o, err := n.routeObject("networking.k8s.io", "Ingress", t.Name+"-"+r.Name, nginxSpec(t.Hosts, path, d))
			if err != nil {
				return nil, err
			}
			own := map[string]string{}
			if path["pathType"] == "ImplementationSpecific" {
				own[nginxRegex] = "true"
			}
			if i == 1 {
				o.SetName(o.GetName() + canarySuffix)
				maps.Copy(own, notes)
				own[nginxCanary], own[nginxWeight] = "true", strconv.Itoa(*d.Weight)
			}
			o.SetAnnotations(own)
			out = append(out, o)
		}
	}
	return out, nil
}

func nginxSpec(hosts []string, path map[string]any, d lane.TrafficDestination) map[string]any {
	place := maps.Clone(path)
	place["backend"] = map[string]any{"service": map[string]any{"name": d.Host, "port": map[string]any{"number": int64(d.Port)}}}
	http := map[string]any{"paths": []any{place}}
	rules := []any{}
	for _, h := range hosts {
		rules = append(rules, map[string]any{"host": h, "http": http})
	}
	if len(rules) == 0 {
		rules = append(rules, map[string]any{"http": http})
	}
	return map[string]any{"ingressClassName": "nginx", "rules": rules}
}

// nginxRules are a route's path, and the annotations of its canary.
func nginxRules(r lane.TrafficRoute) (path map[string]any, notes map[string]string, err error) {
	path, notes = map[string]any{"path": "/", "pathType": "Prefix"}, map[string]string{}
	for _, rule := range r.Rules {
		switch {
		case rule.Type == lane.RuleURI:
			kind := map[string]string{"": "Exact", lane.MatchExact: "Exact", lane.MatchPrefix: "Prefix", lane.MatchRegex: "ImplementationSpecific"}[rule.Match.Type]
			path = map[string]any{"path": rule.Match.Value, "pathType": kind}
		case rule.Type == lane.RuleHeaders && len(rule.Headers) == 1 && notes[nginxHeader] == "":
			h := rule.Headers[0]
			notes[nginxHeader] = h.Key
			if h.Type == lane.MatchRegex || h.Type == lane.MatchPrefix {
				notes[nginxHeaderPattern] = pattern(h)
			} else {
				notes[nginxHeaderValue] = h.Value
			}
		default:
			return nil, nil, fault.New(fault.Unsupported, "the route %s has rules that ingress-nginx can't match: want a uri and one header at most", r.Name)
		}
	}
	return path, notes, nil
}
