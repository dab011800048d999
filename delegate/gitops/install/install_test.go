package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/ref"
)

// TestRules: an agent may change what is in the manifests, and nothing else.
func TestRules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"web.yaml":        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
		"deep/policy.yml": "apiVersion: v1\nkind: List\nitems:\n  - {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web}}\n",
		"README.md":       "kind: Secret",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := Rules(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules {
		got = append(got, strings.Join(r.APIGroups, ",")+"/"+strings.Join(r.Resources, ",")+" "+strings.Join(r.Verbs, ","))
	}
	change := " get,list,watch,create,update,patch,delete"
	want := []string{"/services" + change, "apps/deployments" + change, "networking.k8s.io/networkpolicies" + change, "/events,pods,pods/log get,list,watch", "apps/controllerrevisions,replicasets get,list,watch"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the rules (-want +got):\n%s", diff)
	}
	for _, from := range []string{filepath.Join(dir, "nowhere"), t.TempDir(), filepath.Join(dir, "README.md")} {
		if rules, err := Rules(from); err == nil {
			t.Errorf("%s gives %v", from, rules)
		}
	}
}

// TestValues: what an agent is called, where it is and which image it has.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		i    Installation
		want string
	}{
		{Installation{Agent: ref.Ref{ID: "EU_1$"}, Server: "https://a", Version: "v1.2.3"}, "capacity: 0\ngitops:\n  agent: account.EU_1$\nimage:\n  tag: 1.2.3\nname: EU_1$\nreplicas: 0\nserver: https://a\ntokenSecret: slipway-gitops-eu-1\n"},
		{Installation{Agent: ref.Ref{Scope: ref.Scope{Org: "o"}, ID: "a"}, Server: "http://a", Image: "localhost:5000/slipway", Version: "abcdef"}, "capacity: 0\ngitops:\n  agent: org.a\n  org: o\nimage:\n  repository: localhost:5000/slipway\ninsecure: true\nname: a\nreplicas: 0\nserver: http://a\ntokenSecret: slipway-gitops-a\n"},
		{Installation{Agent: ref.Ref{Scope: ref.Scope{Org: "o", Project: "p"}, ID: "a"}, Server: "https://a", Image: "localhost:5000/slipway:2", Within: []string{"x"}, Impersonate: true}, "capacity: 0\ngitops:\n  agent: a\n  impersonate: true\n  namespaces:\n  - x\n  org: o\n  project: p\nimage:\n  repository: localhost:5000/slipway\n  tag: \"2\"\nname: a\nreplicas: 0\nserver: https://a\ntokenSecret: slipway-gitops-a\n"},
	} {
		got, err := tt.i.Values()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("the values of %v (-want +got):\n%s", tt.i.Agent, diff)
		}
	}
}
