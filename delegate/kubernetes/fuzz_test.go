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

// Mending an object ends, whatever the server refuses.
func FuzzMend(f *testing.F) {
	f.Add(`.spec.containers[name="a"].env: duplicate entries for key [name="A"]`, `.bogus: field not declared in schema`)
	f.Add(`.a[0][1].b: field not declared in schema`, `.spec.containers: duplicate entries for key [name="a",x=1]`)
	f.Fuzz(func(t *testing.T, first, second string) {
		o := map[string]any{
			"bogus": int64(1),
			"spec":  map[string]any{"containers": []any{map[string]any{"name": "a", "env": []any{map[string]any{"name": "A"}, map[string]any{"name": "A"}}}, "odd"}},
		}
		for _, refusal := range []string{first, second} {
			for _, found := range duplicate.FindAllStringSubmatch(refusal, -1) {
				for n := 0; keepLast(o, found[1], found[2]); n++ {
					if n > 5 {
						t.Fatalf("%q goes on for ever", refusal)
					}
				}
			}
			for _, found := range undeclared.FindAllStringSubmatch(refusal, -1) {
				for n := 0; dropField(o, found[1]); n++ {
					if n > 20 {
						t.Fatalf("%q goes on for ever", refusal)
					}
				}
			}
		}
	})
}
