package applying

import "testing"

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
