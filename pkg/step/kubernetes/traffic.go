package kubernetes

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Traffic decodes a trafficRouting that makes routes: {provider, spec}.
func Traffic(r *yamldoc.Report, v yamldoc.Value) *task.TrafficRouting {
	t := &task.TrafficRouting{}
	provider := word(v, "provider")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "provider":
			t.Provider = r.Enum(e, task.TrafficIstio, task.TrafficSMI, task.TrafficGateway, task.TrafficNginx).Value
		case "spec":
			traffic(r, e, provider, t)
		default:
			r.Unknown(e, "provider", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "provider", "spec")
	}
	return t
}

// traffic decodes the spec of a provider.
func traffic(r *yamldoc.Report, v yamldoc.Value, provider string, t *task.TrafficRouting) {
	known := []string{"name", "routes"}
	switch provider {
	case task.TrafficIstio:
		known = append(known, "hosts", "gateways", "delegateService")
	case task.TrafficSMI:
		known = append(known, "rootService")
	case task.TrafficGateway:
		known = append(known, "hosts", "gateways")
	case task.TrafficNginx:
		known = append(known, "hosts")
	}
	for e := range r.Mapping(v) {
		if !slices.Contains(known, e.Key) {
			r.Unknown(e, known...)
			continue
		}
		switch e.Key {
		case "name":
			t.Name = step.Text(r.String(e))
		case "hosts":
			t.Hosts = r.Strings(e).Value
		case "gateways":
			t.Gateways = r.Strings(e).Value
		case "delegateService":
			t.Delegate = r.Bool(e).Value
		case "rootService":
			t.RootService = step.Text(r.String(e))
		case "routes":
			t.Routes = routes(r, e, provider)
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "name", "routes")
	}
}

// InheritedTraffic decodes a trafficRouting that changes the weights of routes
// that there are: {routes}.
func InheritedTraffic(r *yamldoc.Report, v yamldoc.Value) *task.TrafficRouting {
	t := &task.TrafficRouting{Inherit: true}
	for e := range r.Mapping(v) {
		if e.Key != "routes" {
			r.Unknown(e, "routes")
			continue
		}
		t.Routes = routes(r, e, "")
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "routes")
	}
	return t
}

// routes decodes a list of {route}. Without a provider, routes are inherited
// and have no rules.
func routes(r *yamldoc.Report, v yamldoc.Value, provider string) []task.TrafficRoute {
	var out []task.TrafficRoute
	seen := map[string]bool{}
	for item := range r.List(v) {
		for e := range r.Mapping(item) {
			if e.Key != "route" {
				r.Unknown(e, "route")
				continue
			}
			one := route(r, e, provider)
			if seen[one.Name] && one.Name != "" {
				r.Errorf(e, "DUPLICATE", "found the route %q twice", one.Name)
			}
			seen[one.Name] = true
			out = append(out, one)
		}
		if item.Is(yamldoc.Mapping) {
			r.Missing(item, "route")
		}
	}
	return out
}

func route(r *yamldoc.Report, v yamldoc.Value, provider string) task.TrafficRoute {
	var out task.TrafficRoute
	for e := range r.Mapping(v) {
		switch {
		case e.Key == "name":
			out.Name = step.Text(r.String(e))
		case e.Key == "destinations":
			out.Destinations = destinations(r, e)
		case e.Key == "type" && provider != "":
			r.Enum(e, "http")
		case e.Key == "rules" && provider != "":
			out.Rules = rules(r, e, provider)
		case provider != "":
			r.Unknown(e, "type", "name", "rules", "destinations")
		default:
			r.Unknown(e, "name", "destinations")
		}
	}
	if !v.Is(yamldoc.Mapping) {
		return out
	}
	r.Missing(v, "name", "destinations")
	if provider != "" {
		r.Missing(v, "type")
	}
	return out
}

func destinations(r *yamldoc.Report, v yamldoc.Value) []task.TrafficDestination {
	var out []task.TrafficDestination
	for item := range r.List(v) {
		for e := range r.Mapping(item) {
			if e.Key != "destination" {
				r.Unknown(e, "destination")
				continue
			}
			out = append(out, destination(r, e))
		}
		if item.Is(yamldoc.Mapping) {
			r.Missing(item, "destination")
		}
	}
	if v.Is(yamldoc.Sequence) && len(v.Node.Items) == 0 {
		r.Errorf(v, "WRONG_VALUE", "found no destinations; want one at least")
	}
	return out
}

func destination(r *yamldoc.Report, v yamldoc.Value) task.TrafficDestination {
	var out task.TrafficDestination
	for e := range r.Mapping(v) {
		switch e.Key {
		case "host":
			out.Host = step.Text(r.String(e))
		case "weight":
			n := r.Int(e)
			if n.Value < 0 {
				r.Errorf(e, "WRONG_VALUE", "found %d; want a weight of 0 or more", n.Value)
			}
			if n.Set {
				out.Weight = &n.Value
			}
		case "port":
			out.Port = r.Int(e).Value
		default:
			r.Unknown(e, "host", "weight", "port")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "host")
	}
	return out
}

// ruleTypes are those that a provider can match by.
func ruleTypes(provider string) []string {
	switch provider {
	case task.TrafficSMI, task.TrafficGateway:
		return []string{task.RuleURI, task.RuleMethod, task.RuleHeaders}
	case task.TrafficNginx:
		return []string{task.RuleURI, task.RuleHeaders}
	}
	return []string{task.RuleURI, task.RuleMethod, task.RuleHeaders, task.RulePort, task.RuleScheme, task.RuleAuthority}
}

// rules decodes a list of {rule: {type, spec}}. All of them must hold, so one
// type can stand only once.
func rules(r *yamldoc.Report, v yamldoc.Value, provider string) []task.TrafficRule {
	var out []task.TrafficRule
	seen := map[string]bool{}
	for item := range r.List(v) {
		for e := range r.Mapping(item) {
			if e.Key != "rule" {
				r.Unknown(e, "rule")
				continue
			}
			one := rule(r, e, provider)
			if seen[one.Type] && one.Type != "" && one.Type != task.RuleHeaders {
				r.Errorf(e, "DUPLICATE", "found two rules of the type %q; all rules of a route must hold", one.Type)
			}
			seen[one.Type] = true
			out = append(out, one)
		}
		if item.Is(yamldoc.Mapping) {
			r.Missing(item, "rule")
		}
	}
	return out
}

func rule(r *yamldoc.Report, v yamldoc.Value, provider string) task.TrafficRule {
	var out task.TrafficRule
	kind := word(v, "type")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type":
			out.Type = r.Enum(e, ruleTypes(provider)...).Value
		case "spec":
			if kind == task.RuleHeaders {
				out.Headers = headers(r, e)
			} else {
				out.Match = match(r, e, kind)
			}
		default:
			r.Unknown(e, "type", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type", "spec")
	}
	return out
}

func headers(r *yamldoc.Report, v yamldoc.Value) []task.TrafficMatch {
	var out []task.TrafficMatch
	for e := range r.Mapping(v) {
		switch e.Key {
		case "values":
			for item := range r.List(e) {
				out = append(out, match(r, item, task.RuleHeaders))
			}
		case "name": // the console's
			r.String(e)
		default:
			r.Unknown(e, "name", "values")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "values")
	}
	return out
}

// match decodes {value, matchType}, of a header with its key.
func match(r *yamldoc.Report, v yamldoc.Value, kind string) task.TrafficMatch {
	var out task.TrafficMatch
	for e := range r.Mapping(v) {
		switch {
		case e.Key == "value":
			out.Value = step.Text(r.String(e))
			if kind == task.RuleMethod {
				out.Value = strings.ToUpper(out.Value)
			}
		case e.Key == "matchType" && kind != task.RulePort:
			out.Type = r.Enum(e, task.MatchExact, task.MatchPrefix, task.MatchRegex).Value
		case e.Key == "key" && kind == task.RuleHeaders:
			out.Key = step.Text(r.String(e))
		case e.Key == "name": // the console's
			r.String(e)
		case kind == task.RuleHeaders:
			r.Unknown(e, "key", "value", "matchType")
		default:
			r.Unknown(e, "name", "value", "matchType")
		}
	}
	if !v.Is(yamldoc.Mapping) {
		return out
	}
	r.Missing(v, "value")
	if kind == task.RuleHeaders {
		r.Missing(v, "key")
	}
	return out
}
