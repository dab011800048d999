package applying

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What a server-side apply refuses and a client-side one lets pass, as the
// server writes it.
var (
	undeclared = regexp.MustCompile(`(\.\S+): field not declared in schema`)
	duplicate  = regexp.MustCompile(`(\.\S+): duplicate entries for key (\[[^\]]+\])`)
)

// mend changes an object so that the server takes what it has just refused,
// and warns of it: of entries of a list with one key the last counts, and
// fields that the server doesn't know are left out if they are to be let pass.
// It gives nil if there is nothing to mend.
func mend(o *unstructured.Unstructured, refusal error, validation string, log io.Writer) *unstructured.Unstructured {
	out := o.DeepCopy()
	mended := false
	for _, found := range duplicate.FindAllStringSubmatch(refusal.Error(), -1) {
		if keepLast(out.Object, found[1], found[2]) {
			mended = true
			say(log, "warning: %s: %s has several entries %s; the last one counts", display(o), found[1], found[2])
		}
	}
	lenient := validation == metav1.FieldValidationIgnore || validation == metav1.FieldValidationWarn
	for _, found := range undeclared.FindAllStringSubmatch(refusal.Error(), -1) {
		if lenient && dropField(out.Object, found[1]) {
			mended = true
			say(log, "warning: %s: the cluster doesn't know %s; left out", display(o), found[1])
		}
	}
	if !mended {
		return nil
	}
	return out
}

// element is one step of a field's path: ".name", `[key="value",...]` or "[2]".
var element = regexp.MustCompile(`^(?:\.([^.\[]+)|\[(\d+)\]|(\[[^=\]]+=[^\]]*\]))`)

// step follows the first element of a path and gives the rest of it.
func step(in any, path string) (next any, name, rest string) {
	m := element.FindStringSubmatch(path)
	if m == nil {
		return nil, "", ""
	}
	rest = path[len(m[0]):]
	switch v := in.(type) {
	case map[string]any:
		return v[m[1]], m[1], rest
	case []any:
		for i, item := range v {
			if m[2] != "" && m[2] == fmt.Sprint(i) || m[3] != "" && hasKey(item, m[3]) {
				return item, "", rest
			}
		}
	}
	return nil, "", rest
}

// dropField removes a field by its path.
func dropField(in any, path string) bool {
	next, name, rest := step(in, path)
	m, isMap := in.(map[string]any)
	if rest != "" {
		return next != nil && dropField(next, rest)
	}
	if !isMap || name == "" {
		return false
	}
	_, there := m[name]
	delete(m, name)
	return there
}

// keepLast leaves only the last of the entries with a key in a list.
func keepLast(in any, path, key string) bool {
	next, name, rest := step(in, path)
	if rest != "" {
		return next != nil && keepLast(next, rest, key)
	}
	m, isMap := in.(map[string]any)
	list, isList := next.([]any)
	if !isMap || !isList {
		return false
	}
	left := 0
	for _, item := range list {
		if hasKey(item, key) {
			left++
		}
	}
	if left < 2 {
		return false
	}
	m[name] = slices.DeleteFunc(list, func(item any) bool {
		if !hasKey(item, key) {
			return false
		}
		left--
		return left > 0
	})
	return true
}

// hasKey says whether an entry of a list has a key such as
// `[containerPort=80,protocol="TCP"]`. TCP is what the server fills in for a
// protocol that is left out.
func hasKey(item any, key string) bool {
	m, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(strings.Trim(key, "[]"), ",") {
		name, value, _ := strings.Cut(part, "=")
		got, there := m[name]
		if !there && name == "protocol" {
			got = "TCP"
		}
		if fmt.Sprint(got) != strings.Trim(value, `"`) {
			return false
		}
	}
	return true
}
