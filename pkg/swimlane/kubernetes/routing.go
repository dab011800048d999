package kubernetes

// The providers of traffic routing: what in the cluster sends requests to
// services by weight.
const (
	TrafficIstio   = "istio"
	TrafficSMI     = "smi"
	TrafficGateway = "k8s-native" // the Gateway API
	TrafficNginx   = "nginx"      // Ingress with ingress-nginx's canary annotations
)

// TrafficRouting says which share of requests goes to which service
// (semantics/kubernetes §16).
type TrafficRouting struct {
	// Inherit changes the weights of routes that an earlier step made; all but
	// Routes is then empty.
	Inherit  bool   `json:"inherit,omitempty"`
	Provider string `json:"provider,omitempty"` // istio, smi, k8s-native, nginx
	Name     string `json:"name,omitempty"`     // of the objects that are made
	// Hosts are those that requests are for, Gateways what lets them in.
	Hosts    []string `json:"hosts,omitempty"`
	Gateways []string `json:"gateways,omitempty"`
	// Delegate makes a VirtualService that others delegate to, without hosts.
	Delegate bool `json:"delegate,omitempty"`
	// RootService is what clients of SMI call.
	RootService string         `json:"rootService,omitempty"`
	Routes      []TrafficRoute `json:"routes"`
}

// TrafficRoute sends the requests that match all of its rules.
type TrafficRoute struct {
	Name         string               `json:"name"`
	Rules        []TrafficRule        `json:"rules,omitempty"`
	Destinations []TrafficDestination `json:"destinations"`
}

// The types of a TrafficRule.
const (
	RuleURI       = "uri"
	RuleMethod    = "method"
	RuleHeaders   = "headers"
	RulePort      = "port"
	RuleScheme    = "scheme"
	RuleAuthority = "authority"
)

// TrafficRule is one condition.
type TrafficRule struct {
	Type    string         `json:"type"`
	Match   TrafficMatch   `json:"match"` // all but headers
	Headers []TrafficMatch `json:"headers,omitempty"`
}

// The ways to match a text.
const (
	MatchExact  = "exact"
	MatchPrefix = "prefix"
	MatchRegex  = "regex"
)

// TrafficMatch is a text and how it is matched.
type TrafficMatch struct {
	Key   string `json:"key,omitempty"` // of a header
	Value string `json:"value"`
	Type  string `json:"type,omitempty"` // exact, prefix, regex; empty is exact
}

// TrafficDestination is a service and its share.
type TrafficDestination struct {
	// Host is a service, or one of the words stable, canary and stage.
	Host   string `json:"host"`
	Weight *int   `json:"weight,omitempty"` // nil: an equal share
	Port   int    `json:"port,omitempty"`   // 0: none is named
}
