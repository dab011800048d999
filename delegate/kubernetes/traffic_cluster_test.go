package kubernetes

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/internal/testcluster"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// routeKinds are the definitions that the providers bring, without the
// providers: what is tested is what would be told to them.
func routeKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"},
		{Group: "split.smi-spec.io", Version: "v1alpha4", Kind: "TrafficSplit"},
		{Group: "specs.smi-spec.io", Version: "v1alpha4", Kind: "HTTPRouteGroup"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
	}
}

// providers defines the kinds in the cluster, where they stay.
func (s *site) providers(t *testing.T) {
	t.Helper()
	for _, k := range routeKinds() {
		testcluster.Define(t, s.config, k)
	}
}

// spec is the spec of an object as YAML, with its annotations.
func (s *site) spec(t *testing.T, group, version, resource, name string) string {
	t.Helper()
	o, err := s.dyn.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	check(t, err)
	shown := map[string]any{"spec": o.Object["spec"]}
	if notes := o.GetAnnotations(); len(notes) > 0 {
		shown["annotations"] = notes
	}
	doc, err := yaml.Marshal(shown)
	check(t, err)
	return string(doc)
}

func (s *site) virtualService(t *testing.T) string {
	t.Helper()
	return s.spec(t, "networking.istio.io", "v1", "virtualservices", "web")
}

func istioTo(weights string) *lane.TrafficRouting {
	return &lane.TrafficRouting{
		Provider: "istio", Name: "web", Hosts: []string{"web.example.com"}, Gateways: []string{"mesh"},
		Routes: []lane.TrafficRoute{{Name: "all", Destinations: destinationsOf(weights)}},
	}
}

// Each provider is told the same in its own words.
func TestTrafficObjects(t *testing.T) {
	t.Parallel()
	rules := []lane.TrafficRule{
		{Type: "uri", Match: lane.TrafficMatch{Value: "/beta", Type: "prefix"}},
		{Type: "headers", Headers: []lane.TrafficMatch{{Key: "X-Beta", Value: "yes"}}},
	}
	method := lane.TrafficRule{Type: "method", Match: lane.TrafficMatch{Value: "GET"}}
	type object struct{ group, version, resource, name, want string }
	tests := []struct {
		provider string
		rules    []lane.TrafficRule
		objects  []object
	}{
		{"istio", append(rules, method, lane.TrafficRule{Type: "port", Match: lane.TrafficMatch{Value: "8080"}}), []object{{"networking.istio.io", "v1", "virtualservices", "web", `spec:
  gateways:
  - mesh
  hosts:
  - web.example.com
  http:
  - match:
    - headers:
        x-beta:
          exact: "yes"
      method:
        exact: GET
      port: 8080
      uri:
        prefix: /beta
    name: beta
    route:
    - destination:
        host: web
      weight: 90
    - destination:
        host: web-new
      weight: 10
`}}},
		{"smi", append(rules, method), []object{
			{"split.smi-spec.io", "v1alpha4", "trafficsplits", "web-beta", `spec:
  backends:
  - service: web
    weight: 90
  - service: web-new
    weight: 10
  matches:
  - kind: HTTPRouteGroup
    name: web-beta-http-rule
  service: web
`},
			{"specs.smi-spec.io", "v1alpha4", "httproutegroups", "web-beta-http-rule", `spec:
  matches:
  - headers:
    - X-Beta: ^yes$
    methods:
    - GET
    name: beta
    pathRegex: ^/beta.*
`},
		}},
		{"k8s-native", append(rules, method), []object{{"gateway.networking.k8s.io", "v1", "httproutes", "web", `spec:
  hostnames:
  - web.example.com
  parentRefs:
  - name: mesh
  rules:
  - backendRefs:
    - name: web
      port: 80
      weight: 90
    - name: web-new
      port: 80
      weight: 10
    matches:
    - headers:
      - name: X-Beta
        type: Exact
        value: "yes"
      method: GET
      path:
        type: PathPrefix
        value: /beta
`}}},
		{"nginx", rules, []object{
			{"networking.k8s.io", "v1", "ingresses", "web-beta", ingressYAML("", "web")},
			{"networking.k8s.io", "v1", "ingresses", "web-beta-canary", ingressYAML(`annotations:
  nginx.ingress.kubernetes.io/canary: "true"
  nginx.ingress.kubernetes.io/canary-by-header: X-Beta
  nginx.ingress.kubernetes.io/canary-by-header-value: "yes"
  nginx.ingress.kubernetes.io/canary-weight: "10"
`, "web-new")},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.provider, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.providers(t)
			s.succeed(t, s.step(lane.OpRolling, serviceYAML("web", "web")+serviceYAML("web-new", "new")))
			p := s.step(lane.OpTrafficRouting, "")
			p.Traffic = istioTo("web=90 web-new=10")
			p.Traffic.Provider, p.Traffic.RootService = tt.provider, "web"
			p.Traffic.Routes[0].Name, p.Traffic.Routes[0].Rules = "beta", tt.rules
			s.succeed(t, p)
			for _, o := range tt.objects {
				if diff := cmp.Diff(o.want, s.spec(t, o.group, o.version, o.resource, o.name)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", o.name, diff)
				}
			}

			gone := s.step(lane.OpDelete, "")
			gone.Delete = &lane.ResourceSelection{Type: "ReleaseName"}
			s.succeed(t, gone)
			for _, o := range tt.objects {
				list, err := s.dyn.Resource(schema.GroupVersionResource{Group: o.group, Version: o.version, Resource: o.resource}).Namespace(s.namespace).List(t.Context(), metav1.ListOptions{})
				check(t, err)
				if len(list.Items) != 0 {
					t.Errorf("%d %s are left", len(list.Items), o.resource)
				}
			}
		})
	}
}

func ingressYAML(notes, service string) string {
	return notes + `spec:
  ingressClassName: nginx
  rules:
  - host: web.example.com
    http:
      paths:
      - backend:
          service:
            name: ` + service + `
            port:
              number: 80
        path: /beta
        pathType: Prefix
`
}

// A canary gets its share, more of it, and loses it when it goes.
func TestTrafficOfACanary(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.providers(t)
	all := func(image string) string { return deploymentYAML("web", image, 2) + serviceYAML("web", "web") }
	first := s.step(lane.OpRolling, all("nginx:1"))
	first.CanaryInStage = true
	s.succeed(t, first)

	p := s.step(lane.OpCanary, all("nginx:2"))
	p.Instances, p.CanaryInStage, p.Traffic = count(1), true, istioTo("stable=90 canary=10")
	e := s.succeed(t, p)
	if e.output(t, "stableService") != "web-stable" || e.output(t, "canaryService") != "web-canary" {
		t.Errorf("the outputs are %s", e.Outputs)
	}
	s.wantWeights(t, "web-stable=90 web-canary=10")
	for service, track := range map[string]string{"web-stable": "stable", "web-canary": "canary"} {
		o, err := s.CoreV1().Services(s.namespace).Get(t.Context(), service, metav1.GetOptions{})
		check(t, err)
		if diff := cmp.Diff(map[string]string{"app": "web", labelTrack: track}, o.Spec.Selector); diff != "" {
			t.Errorf("%s selects (-want +got):\n%s", service, diff)
		}
	}

	more := in(p, lane.OpTrafficRouting)
	more.Traffic = &lane.TrafficRouting{Inherit: true, Routes: []lane.TrafficRoute{{Name: "all", Destinations: destinationsOf("canary=60")}}}
	s.succeed(t, more)
	s.wantWeights(t, "web-stable=40 web-canary=60")

	unknown := in(p, lane.OpTrafficRouting)
	unknown.Traffic = &lane.TrafficRouting{Inherit: true, Routes: []lane.TrafficRoute{{Name: "other", Destinations: destinationsOf("canary=60")}}}
	s.fail(t, unknown, `no route "other"; want one of all`)

	s.succeed(t, in(p, lane.OpCanaryDelete))
	s.wantWeights(t, "web-stable=100 web-canary=0")
	if diff := cmp.Diff([]string{"Deployment/web", "Service/web", "Service/web-stable"}, s.names(t)); diff != "" {
		t.Errorf("after the canary's deletion (-want +got):\n%s", diff)
	}
	s.succeed(t, in(p, lane.OpCanaryDelete)) // as in the rollback
}

func (s *site) wantWeights(t *testing.T, want string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	check(t, yaml.Unmarshal([]byte(s.virtualService(t)), &o.Object))
	routes, _, _ := unstructured.NestedSlice(o.Object, "spec", "http")
	var got []string
	for _, item := range routes[0].(map[string]any)["route"].([]any) {
		to := &unstructured.Unstructured{Object: item.(map[string]any)}
		weight, _ := number(to, "weight")
		got = append(got, text(to, "destination", "host")+"="+strconv.FormatInt(weight, 10))
	}
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
}

// The words of a blue-green deployment are its two services; what failed gets
// no requests after the rollback.
func TestTrafficOfBlueGreen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.providers(t)
	all := deploymentYAML("web", "nginx:1", 1) + serviceYAML("web", "web")
	first := s.step(lane.OpBlueGreen, all)
	s.succeed(t, first)
	s.succeed(t, in(first, lane.OpSwap))
	p := s.step(lane.OpBlueGreen, all)
	p.Traffic = istioTo("stable=80 stage=20")
	s.succeed(t, p)
	s.wantWeights(t, "web=80 web-stage=20")
	back := in(p, lane.OpSwap)
	back.Work.Rollback = true
	s.succeed(t, back)
	s.wantWeights(t, "web=100 web-stage=0")
}

func TestTrafficThatCantBe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, err string
		routing   *lane.TrafficRouting
	}{
		{"no words without a deployment", "the destination stable of the route all stands for no service", istioTo("stable=90 canary=10")},
		{"nothing to inherit", "no earlier step has made routes", &lane.TrafficRouting{Inherit: true, Routes: []lane.TrafficRoute{{Name: "all", Destinations: destinationsOf("a=1")}}}},
		{"hosts are missing", "has no hosts", &lane.TrafficRouting{Provider: "istio", Name: "web", Routes: []lane.TrafficRoute{{Name: "all", Destinations: destinationsOf("a=1")}}}},
		{"three for nginx", "splits between two", &lane.TrafficRouting{Provider: "nginx", Name: "web", Routes: []lane.TrafficRoute{{Name: "all", Destinations: destinationsOf("a b c")}}}},
		{"no such provider", `"linkerd"`, &lane.TrafficRouting{Provider: "linkerd", Name: "web", Routes: []lane.TrafficRoute{{Name: "all", Destinations: destinationsOf("a=1")}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.providers(t)
			p := s.step(lane.OpTrafficRouting, "")
			p.Traffic = tt.routing
			s.fail(t, p, tt.err)
		})
	}
}
