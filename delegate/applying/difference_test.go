package applying

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A difference shows what changes, of Secrets only that something does.
func TestDifference(t *testing.T) {
	t.Parallel()
	object := func(kind, value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a", "resourceVersion": value}, "data": map[string]any{"password": value, "same": "s4me"},
		}}
	}
	for _, tt := range []struct {
		name          string
		before, after *unstructured.Unstructured
		want, never   []string
	}{
		{"a change", object("ConfigMap", "one"), object("ConfigMap", "two"), []string{"-  password: one", "+  password: two", " kind: ConfigMap"}, []string{"resourceVersion"}},
		{"a secret", object("Secret", "one"), object("Secret", "two"), []string{"-  password: '*** (before)'", "+  password: '*** (after)'"}, []string{"one", "two", "s4me"}},
		{"one that comes", nil, object("Secret", "two"), []string{"+  password: '***'"}, []string{"two", "s4me"}},
		{"one that goes", object("Secret", "one"), nil, []string{"-  password: '***'"}, []string{"one", "s4me"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Difference(tt.before, tt.after)
			check(t, err)
			for _, part := range tt.want {
				if !strings.Contains(got, part) {
					t.Errorf("it lacks %q:\n%s", part, got)
				}
			}
			for _, part := range tt.never {
				if strings.Contains(got, part) {
					t.Errorf("it has %q:\n%s", part, got)
				}
			}
		})
	}
}
