package kubernetes

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// undeclared finds the fields that the server doesn't know in its refusal.
var undeclared = regexp.MustCompile(`(\.\S+): field not declared in schema`)

// strip leaves out the fields that a server refused because it doesn't know
// them: a server-side apply has no other way to ignore them. It gives nil if
// there is nothing to leave out.
func (s *session) strip(o *unstructured.Unstructured, refusal error, log io.Writer) *unstructured.Unstructured {
	if s.flags.Validation != metav1.FieldValidationIgnore && s.flags.Validation != metav1.FieldValidationWarn {
		return nil
	}
	var out *unstructured.Unstructured
	for _, found := range undeclared.FindAllStringSubmatch(refusal.Error(), -1) {
		if out == nil {
			out = o.DeepCopy()
		}
		if !dropField(out.Object, found[1]) {
			return nil
		}
		if log != nil {
			say(log, "warning: %s: the cluster doesn't know %s; left out", display(o), found[1])
		}
	}
	return out
}

// element is one step of a field's path: ".name", `[key="value",...]` or "[2]".
var element = regexp.MustCompile(`^(?:\.([^.\[]+)|\[(\d+)\]|\[([^=\]]+)=("[^"]*"|[^,\]]*)[^\]]*\])`)

// dropField removes a field by its path as the server writes it.
func dropField(in any, path string) bool {
	m := element.FindStringSubmatch(path)
	if m == nil {
		return false
	}
	rest := path[len(m[0]):]
	switch v := in.(type) {
	case map[string]any:
		if rest == "" {
			_, there := v[m[1]]
			delete(v, m[1])
			return there
		}
		return dropField(v[m[1]], rest)
	case []any:
		for i, item := range v {
			one, _ := item.(map[string]any)
			byKey := m[3] != "" && fmt.Sprint(one[m[3]]) == strings.Trim(m[4], `"`)
			if byKey || m[2] != "" && m[2] == fmt.Sprint(i) {
				return dropField(item, rest)
			}
		}
	}
	return false
}
