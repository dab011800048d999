package reconcile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/manifest"
)

// TestShows: images and addresses are shown of what an object says, and of addresses
// those of the web alone.
func TestShows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]shows{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`: {},
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {link.argocd.argoproj.io/a: 'https://u:p@x.example.com', link.argocd.argoproj.io/b: 'file:///etc'}},
		  spec: {template: {spec: {initContainers: [{name: i, image: init}], containers: [{name: c, image: 'web:1'}, {name: d, image: 'web:1'}]}}}}`: {Images: []string{"init", "web:1"}},
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, annotations: {link.argocd.argoproj.io/docs: 'Docs | https://docs.example.com'}},
		  spec: {tls: [{hosts: [a.example.com]}], rules: [{host: a.example.com}, {host: b.example.com}, {host: '*.example.com'}, {}]}}`: {
			URLs: []string{"http://b.example.com", "https://a.example.com", "https://docs.example.com"},
		},
		// What isn't of a kind's form is for the server to refuse.
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {tls: [{hosts: [{a: b}, [c], 1]}, d], rules: [{host: {a: b}}, {host: [c]}, e, {host: f.example.com}]}}`: {
			URLs: []string{"http://f.example.com"},
		},
	} {
		objects, err := manifest.Objects("a", text, manifest.Decode)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, showsOf(objects[0])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
