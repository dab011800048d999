package kubernetes

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// traffic decodes a trafficRouting that makes routes: {provider, spec}.
func traffic(d *document.Decoder, v yamldoc.Value) *TrafficRouting {
	t := &TrafficRouting{}
	provider := document.Peek(v, "provider")
	d.Fields(v, document.Keys{
		"provider": func(e yamldoc.Value) {
			t.Provider = d.Enum(e, TrafficIstio, TrafficSMI, TrafficGateway, TrafficNginx).Value
		},
		"spec": func(e yamldoc.Value) { provided(d, e, provider, t) },
	})
	d.Need(v, "provider", "spec")
	return t
}

// provided decodes the spec of a provider.
func provided(d *document.Decoder, v yamldoc.Value, provider string, t *TrafficRouting) {
	known := document.Keys{
		"name":   func(e yamldoc.Value) { t.Name = step.Text(d.String(e)) },
		"routes": func(e yamldoc.Value) { t.Routes = routes(d, e, provider) },
	}
	hosts := func(e yamldoc.Value) { t.Hosts = d.Strings(e).Value }
	gateways := func(e yamldoc.Value) { t.Gateways = d.Strings(e).Value }
	switch provider {
	case TrafficIstio:
		known["hosts"], known["gateways"] = hosts, gateways
		known["delegateService"] = func(e yamldoc.Value) { t.Delegate = d.Bool(e).Value }
	case TrafficSMI:
		known["rootService"] = func(e yamldoc.Value) { t.RootService = step.Text(d.String(e)) }
	case TrafficGateway:
		known["hosts"], known["gateways"] = hosts, gateways
	case TrafficNginx:
		known["hosts"] = hosts
	}
	d.Fields(v, known)
	d.Need(v, "name", "routes")
}

// inheritedTraffic decodes a trafficRouting that changes the weights of routes
// that there are: {routes}.
func inheritedTraffic(d *document.Decoder, v yamldoc.Value) *TrafficRouting {
	t := &TrafficRouting{Inherit: true}
	d.Fields(v, document.Keys{"routes": func(e yamldoc.Value) { t.Routes = routes(d, e, "") }})
	d.Need(v, "routes")
	return t
}

// routes decodes a list of {route}. Without a provider, routes are inherited
// and have no rules.
func routes(d *document.Decoder, v yamldoc.Value, provider string) []TrafficRoute {
	var out []TrafficRoute
	seen := map[string]bool{}
	for item := range d.Items(v) {
		d.Fields(item, document.Keys{"route": func(e yamldoc.Value) {
			one := route(d, e, provider)
			if seen[one.Name] && one.Name != "" {
				d.Errorf(e, "DUPLICATE", "found the route %q twice", one.Name)
			}
			seen[one.Name] = true
			out = append(out, one)
		}})
		d.Need(item, "route")
	}
	return out
}

func route(d *document.Decoder, v yamldoc.Value, provider string) TrafficRoute {
	var out TrafficRoute
	known := document.Keys{
		"name":         func(e yamldoc.Value) { out.Name = step.Text(d.String(e)) },
		"destinations": func(e yamldoc.Value) { out.Destinations = destinations(d, e) },
	}
	if provider != "" {
		known["type"] = d.Word(nil, "http")
		known["rules"] = func(e yamldoc.Value) { out.Rules = rules(d, e, provider) }
	}
	d.Fields(v, known)
	d.Need(v, "name", "destinations")
	if provider != "" {
		d.Need(v, "type")
	}
	return out
}

func destinations(d *document.Decoder, v yamldoc.Value) []TrafficDestination {
	var out []TrafficDestination
	d.Filled(v, "WRONG_VALUE", "found no destinations; want one at least")
	for item := range d.Items(v) {
		d.Fields(item, document.Keys{"destination": func(e yamldoc.Value) { out = append(out, destination(d, e)) }})
		d.Need(item, "destination")
	}
	return out
}

func destination(d *document.Decoder, v yamldoc.Value) TrafficDestination {
	var out TrafficDestination
	d.Fields(v, document.Keys{
		"host": func(e yamldoc.Value) { out.Host = step.Text(d.String(e)) },
		"weight": func(e yamldoc.Value) {
			n := d.Int(e)
			if n.Value < 0 {
				d.Errorf(e, "WRONG_VALUE", "found %d; want a weight of 0 or more", n.Value)
			}
			if n.Set {
				out.Weight = &n.Value
			}
		},
		"port": func(e yamldoc.Value) { out.Port = d.Int(e).Value },
	})
	d.Need(v, "host")
	return out
}

// ruleTypes are those that a provider can match by.
func ruleTypes(provider string) []string {
	switch provider {
	case TrafficSMI, TrafficGateway:
		return []string{RuleURI, RuleMethod, RuleHeaders}
	case TrafficNginx:
		return []string{RuleURI, RuleHeaders}
	}
	return []string{RuleURI, RuleMethod, RuleHeaders, RulePort, RuleScheme, RuleAuthority}
}

// rules decodes a list of {rule: {type, spec}}. All of them must hold, so one
// type can stand only once.
func rules(d *document.Decoder, v yamldoc.Value, provider string) []TrafficRule {
	var out []TrafficRule
	seen := map[string]bool{}
	for item := range d.Items(v) {
		d.Fields(item, document.Keys{"rule": func(e yamldoc.Value) {
			one := rule(d, e, provider)
			if seen[one.Type] && one.Type != "" && one.Type != RuleHeaders {
				d.Errorf(e, "DUPLICATE", "found two rules of the type %q; all rules of a route must hold", one.Type)
			}
			seen[one.Type] = true
			out = append(out, one)
		}})
		d.Need(item, "rule")
	}
	return out
}

func rule(d *document.Decoder, v yamldoc.Value, provider string) TrafficRule {
	var out TrafficRule
	kind := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": func(e yamldoc.Value) { out.Type = d.Enum(e, ruleTypes(provider)...).Value },
		"spec": func(e yamldoc.Value) {
			if kind == RuleHeaders {
				out.Headers = headers(d, e)
			} else {
				out.Match = match(d, e, kind)
			}
		},
	})
	d.Need(v, "type", "spec")
	return out
}

func headers(d *document.Decoder, v yamldoc.Value) []TrafficMatch {
	var out []TrafficMatch
	d.Fields(v, document.Keys{
		"values": func(e yamldoc.Value) {
			for item := range d.Items(e) {
				out = append(out, match(d, item, RuleHeaders))
			}
		},
		"name": d.Text(nil), // the console's
	})
	d.Need(v, "values")
	return out
}

// match decodes {value, matchType}, of a header with its key.
func match(d *document.Decoder, v yamldoc.Value, kind string) TrafficMatch {
	var out TrafficMatch
	known := document.Keys{
		"value": func(e yamldoc.Value) {
			out.Value = step.Text(d.String(e))
			if kind == RuleMethod {
				out.Value = strings.ToUpper(out.Value)
			}
		},
		"name": d.Text(nil), // the console's
	}
	if kind != RulePort {
		known["matchType"] = func(e yamldoc.Value) { out.Type = d.Enum(e, MatchExact, MatchPrefix, MatchRegex).Value }
	}
	if kind == RuleHeaders {
		known["key"] = func(e yamldoc.Value) { out.Key = step.Text(d.String(e)) }
	}
	d.Fields(v, known)
	d.Need(v, "value")
	if kind == RuleHeaders {
		d.Need(v, "key")
	}
	return out
}
