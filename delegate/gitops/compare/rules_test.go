package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	doc, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := manifest.Decode(string(doc))
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: out}
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  resourceVersion: "7"
  managedFields:
    - {manager: scaler, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:resources": {"f:limits": {"f:cpu": {}}}}}}}}}}
spec:
  replicas: REPLICAS
  template:
    spec:
      containers:
        - {name: main, image: "nginx:1", resources: {limits: {cpu: CPU, memory: 1Gi}}}
        - {name: beside, image: BESIDE}
status: {replicas: STATUS}
`

// web is deployment with values for its capitals.
func web(t *testing.T, values ...string) *unstructured.Unstructured {
	t.Helper()
	return parsed(t, strings.NewReplacer(append(values, "REPLICAS", "2", "CPU", "1", "BESIDE", "envoy:1", "STATUS", "2")...).Replace(deployment))
}

// semantics/gitops §6: what a rule names, or the server writes, doesn't count.
func TestAlike(t *testing.T) {
	t.Parallel()
	scaled := []string{"REPLICAS", "5"}
	for _, tt := range []struct {
		name   string
		change []string // of what is live
		rule   gitops.IgnoreRule
		set    Settings
		want   bool
	}{
		{name: "the same", want: true},
		{name: "a status", change: []string{"STATUS", "9"}, want: true},
		{name: "a status that counts", change: []string{"STATUS", "9"}, set: Settings{Status: "none"}},
		{name: "a status that counts but for definitions", change: []string{"STATUS", "9"}, set: Settings{Status: "crd"}},
		{name: "a field", change: scaled},
		{name: "a pointer", change: scaled, rule: gitops.IgnoreRule{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas", "/spec/none/there"}}, want: true},
		{name: "a pointer to an item", change: []string{"BESIDE", "envoy:2"}, rule: gitops.IgnoreRule{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/template/spec/containers/1"}}, want: true},
		{name: "globs", change: scaled, rule: gitops.IgnoreRule{Group: "*", Kind: "Deploy*", JSONPointers: []string{"/spec/replicas"}}, want: true},
		{name: "another kind", change: scaled, rule: gitops.IgnoreRule{Group: "apps", Kind: "StatefulSet", JSONPointers: []string{"/spec/replicas"}}},
		{name: "another group", change: scaled, rule: gitops.IgnoreRule{Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}},
		{name: "this object", change: scaled, rule: gitops.IgnoreRule{Group: "apps", Kind: "Deployment", Name: "web", Namespace: "shop", JSONPointers: []string{"/spec/replicas"}}, want: true},
		{name: "another object", change: scaled, rule: gitops.IgnoreRule{Group: "apps", Kind: "Deployment", Name: "api", JSONPointers: []string{"/spec/replicas"}}},
		{name: "another namespace", change: scaled, rule: gitops.IgnoreRule{Group: "apps", Kind: "Deployment", Namespace: "api", JSONPointers: []string{"/spec/replicas"}}},
		{name: "jq", change: []string{"BESIDE", "envoy:2"}, rule: gitops.IgnoreRule{Group: "apps", Kind: "Deployment", JQPathExpressions: []string{`.spec.template.spec.containers[] | select(.name == "beside") | .image`}}, want: true},
		{name: "jq that doesn't fit", change: scaled, rule: gitops.IgnoreRule{Group: "apps", Kind: "Deployment", JQPathExpressions: []string{`.spec.replicas[].x`}}},
		{name: "another's fields", change: []string{"REPLICAS", "5", "CPU", "3"}, rule: gitops.IgnoreRule{Group: "apps", Kind: "Deployment", ManagedFieldsManagers: []string{"scaler"}}, want: true},
		{name: "others of another's object", change: []string{"BESIDE", "envoy:2"}, rule: gitops.IgnoreRule{Group: "apps", Kind: "Deployment", ManagedFieldsManagers: []string{"scaler"}}},
		{name: "a setting", change: scaled, set: Settings{Rules: []gitops.IgnoreRule{{Group: "*", Kind: "*", JSONPointers: []string{"/spec/replicas"}}}}, want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := Compile(tt.set, []gitops.IgnoreRule{tt.rule})
			if err != nil {
				t.Fatal(err)
			}
			live, predicted := web(t, tt.change...), web(t)
			got, err := r.Alike(t.Context(), live, predicted)
			if err != nil || got != tt.want {
				a, b, _ := r.Normal(t.Context(), live, predicted)
				t.Errorf("alike: %v, %v; want %v; (-live +predicted):\n%s", got, err, tt.want, cmp.Diff(a, b))
			}
			if diff := cmp.Diff(web(t, tt.change...), live); diff != "" {
				t.Errorf("what was compared has changed:\n%s", diff)
			}
		})
	}
}

// What says whose an object is counts for nothing as long as it says the same.
func TestTrackingIsNoDifference(t *testing.T) {
	t.Parallel()
	role := func(id, label string) *unstructured.Unstructured {
		return parsed(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r, annotations: {argocd.argoproj.io/tracking-id: '"+id+"'}, labels: "+label+"}\naggregationRule: {}\nrules: ["+label+"]\n")
	}
	for _, tt := range []struct {
		set  Settings
		id   string
		want bool
	}{
		{Settings{AggregatedRoles: true}, "shop:rbac.authorization.k8s.io/ClusterRole:shop/r", true},
		{Settings{AggregatedRoles: true}, "other:rbac.authorization.k8s.io/ClusterRole:shop/r", false},
		{Settings{}, "shop:rbac.authorization.k8s.io/ClusterRole:shop/r", false}, // its rules count
	} {
		r, err := Compile(tt.set, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Alike(t.Context(), role(tt.id, "{}"), role("shop:rbac.authorization.k8s.io/ClusterRole:/r", "{slipway.dev/gitops: '1'}"))
		if err != nil || got != tt.want {
			t.Errorf("%+v: alike %v, %v; want %v", tt, got, err, tt.want)
		}
	}
}

func TestRulesThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule gitops.IgnoreRule
		want string
	}{
		{gitops.IgnoreRule{Kind: "*", JQPathExpressions: []string{".a", ".b["}}, `ignoreDifferences[0].jqPathExpressions[1]: ".b[" is no path of jq`},
		{gitops.IgnoreRule{Kind: "["}, `ignoreDifferences[0].kind: "[" is no pattern`},
	} {
		if _, err := Compile(Settings{}, []gitops.IgnoreRule{tt.rule}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v; want %s", err, tt.want)
		}
	}
}

// An expression that goes on for ever ends, and is named.
func TestAnEndlessExpression(t *testing.T) {
	t.Parallel()
	r, err := Compile(Settings{JQTimeout: time.Millisecond}, []gitops.IgnoreRule{{Group: "*", Kind: "*", JQPathExpressions: []string{"last(repeat(.spec))"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Alike(t.Context(), web(t), web(t))
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), `"last(repeat(.spec))" of jqPathExpressions took more than 1ms`) {
		t.Errorf("the error is %v", err)
	}
}

// What is ignored stays as it is live when an object is applied, and the rest is
// the target's.
func TestRespect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		rule gitops.IgnoreRule
		want []string
	}{
		{"nothing", gitops.IgnoreRule{Kind: "none"}, []string{"BESIDE", "envoy:3"}},
		{"a pointer", gitops.IgnoreRule{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}, []string{"BESIDE", "envoy:3", "REPLICAS", "5"}},
		{"jq", gitops.IgnoreRule{Group: "apps", Kind: "Deployment", JQPathExpressions: []string{`.spec.template.spec.containers[] | select(.name == "main") | .resources`}}, []string{"BESIDE", "envoy:3", "CPU", "4"}},
		{"a manager's", gitops.IgnoreRule{Group: "apps", Kind: "Deployment", ManagedFieldsManagers: []string{"scaler"}}, []string{"BESIDE", "envoy:3", "CPU", "4", "REPLICAS", "5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := Compile(Settings{}, []gitops.IgnoreRule{tt.rule})
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Respect(t.Context(), web(t, "BESIDE", "envoy:3"), web(t, "CPU", "4", "REPLICAS", "5", "BESIDE", "envoy:2"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(web(t, tt.want...), got); diff != "" {
				t.Errorf("to be applied (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("what isn't there is left out", func(t *testing.T) {
		t.Parallel()
		r, err := Compile(Settings{}, []gitops.IgnoreRule{{Kind: "ConfigMap", JSONPointers: []string{"/data/a"}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Respect(t.Context(), parsed(t, "{apiVersion: v1, kind: ConfigMap, data: {a: x, b: y}}"), parsed(t, "{apiVersion: v1, kind: ConfigMap, data: {c: z}}"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parsed(t, "{apiVersion: v1, kind: ConfigMap, data: {b: y}}"), got); diff != "" {
			t.Errorf("to be applied (-want +got):\n%s", diff)
		}
	})
}
