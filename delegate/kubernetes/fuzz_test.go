package kubernetes

import (
	"testing"

	"github.com/slipway-cd/slipway/delegate/manifest"
)

// Whatever a manifest holds, reading it ends in objects or an error, and what
// strategies do to sound objects doesn't break them.
func FuzzManifests(f *testing.F) {
	for _, seed := range []string{
		workload, configured, deploymentYAML("web", "nginx:1", 1) + serviceYAML("web", "web"), "kind: List\napiVersion: v1\nitems: [1, {kind: X}]",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: 1}\nspec: {ports: 3, selector: []}",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, annotations: {x: [1]}}\nspec: {template: {spec: {volumes: {configMap: 1}}}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		objects, err := render([]manifest.File{{Name: "fuzz.yaml", Text: text}}, nil, true)
		if err != nil {
			return
		}
		if _, _, all, err := stagedServices(objects); err == nil {
			objects = all
		}
		version(objects, 3)
		for _, w := range managed(objects) {
			original := w.GetName()
			w.SetName(withSuffix(original, canarySuffix))
			renameFollowers(objects, w, original, canarySuffix)
		}
		for _, o := range awaited(sorted(objects)) {
			_, _, _ = rollout(o) // any answer is sound
		}
		r := &release{}
		r.fill(objects)
		if len(missing(r, objects)) != 0 {
			t.Errorf("a release misses its own objects")
		}
	})
}
