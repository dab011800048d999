package render

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// unstable are the fields of an object that are others each time it is rendered.
type unstable struct {
	Key    object.Key `json:"key"`
	Fields []string   `json:"fields"`
}

// shownFields is how many unstable fields people are told.
const shownFields = 3

// unstable takes over which fields differ, and says so.
func (r *Result) unstable(found map[object.Key][]string) {
	r.Unstable = found
	var shown []string
	for _, o := range r.Objects {
		for _, field := range found[KeyOf(o)] {
			shown = append(shown, KeyOf(o).String()+field)
		}
	}
	if len(shown) == 0 {
		return
	}
	more := ""
	if n := len(shown) - shownFields; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	r.Conditions = append(r.Conditions, gitops.Condition{
		Type:    gitops.ConditionUnstableRender,
		Message: "a template makes other values each time; what is live is kept for " + strings.Join(shown[:min(shownFields, len(shown))], ", ") + more,
	})
}

// compare finds the fields in which two renders of the same files differ. An object
// that only one of them has is none of that.
func compare(first, second []*unstructured.Unstructured) map[object.Key][]string {
	again := map[object.Key]*unstructured.Unstructured{}
	for _, o := range second {
		again[KeyOf(o)] = o
	}
	out := map[object.Key][]string{}
	for _, o := range first {
		if other := again[KeyOf(o)]; other != nil {
			if fields := differences("", o.Object, other.Object); len(fields) > 0 {
				slices.Sort(fields)
				out[KeyOf(o)] = fields
			}
		}
	}
	return out
}

// differences are JSON pointers to what differs.
func differences(at string, a, b any) []string {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	var out []string
	switch a := a.(type) {
	case map[string]any:
		other, isMap := b.(map[string]any)
		if !isMap || len(a) != len(other) {
			return []string{at}
		}
		for key, value := range a {
			if _, ok := other[key]; !ok {
				return []string{at}
			}
			out = append(out, differences(at+"/"+pointer.Replace(key), value, other[key])...)
		}
		return out
	case []any:
		other, isList := b.([]any)
		if !isList || len(a) != len(other) {
			return []string{at}
		}
		for i, value := range a {
			out = append(out, differences(at+"/"+strconv.Itoa(i), value, other[i])...)
		}
		return out
	}
	return []string{at}
}

// pointer escapes a key in a JSON pointer.
var pointer = strings.NewReplacer("~", "~0", "/", "~1")
