package compare

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// steps are those of a JSON pointer. A number names a list's item, or a field.
func steps(pointer string) fieldpath.Path {
	var out fieldpath.Path
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		out = append(out, fieldpath.PathElement{FieldName: &name})
	}
	return out
}

// remove takes a field or an item out of a value, and what is empty for it. What
// isn't there is fine.
func remove(from any, p fieldpath.Path) any {
	if len(p) == 0 {
		return nil
	}
	switch v := from.(type) {
	case map[string]any:
		if p[0].FieldName == nil {
			return v
		}
		name := *p[0].FieldName
		inner, there := v[name]
		if !there {
			return v
		}
		if v[name] = remove(inner, p[1:]); v[name] == nil {
			delete(v, name)
			if len(v) == 0 {
				return nil
			}
		}
		return v
	case []any:
		i := item(v, p[0])
		if i < 0 {
			return v
		}
		if v[i] = remove(v[i], p[1:]); v[i] == nil {
			if v = slices.Delete(v, i, i+1); len(v) == 0 {
				return nil
			}
		}
		return v
	}
	return from
}

// item finds an item of a list; -1 if it isn't there.
func item(in []any, by fieldpath.PathElement) int {
	switch {
	case by.Index != nil && *by.Index < len(in):
		return *by.Index
	case by.FieldName != nil:
		if n, err := strconv.Atoi(*by.FieldName); err == nil && n >= 0 && n < len(in) {
			return n
		}
	case by.Value != nil:
		return slices.IndexFunc(in, func(v any) bool { return value.Equals(value.NewValueInterface(v), *by.Value) })
	case by.Key != nil:
		return slices.IndexFunc(in, func(v any) bool {
			m, ok := v.(map[string]any)
			for _, field := range *by.Key {
				ok = ok && value.Equals(value.NewValueInterface(m[field.Name]), field.Value)
			}
			return ok
		})
	}
	return -1
}

// Respect is a target whose fields that don't count are as they are live, or left
// out where there are none: never dropped, as an apply takes away what its target
// had before and has no more.
func (r *Rules) Respect(ctx context.Context, target, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !r.Any(target) {
		return target, nil
	}
	owned, err := r.owned(live)
	if err != nil {
		return nil, err
	}
	left := target.DeepCopy()
	if err := r.strip(ctx, left, owned); err != nil {
		return nil, err
	}
	filled, _ := fill(target.Object, left.Object, live.Object).(map[string]any)
	return &unstructured.Unstructured{Object: filled}, nil
}

// fill gives a target's value in which what is missing in left is as it is live;
// nil if there is nothing.
func fill(target, left, live any) any {
	if left == nil {
		return live
	}
	switch target := target.(type) {
	case map[string]any:
		left, ok := left.(map[string]any)
		if !ok {
			return left
		}
		there, _ := live.(map[string]any)
		out := make(map[string]any, len(target))
		for name, value := range target {
			if value == nil {
				out[name] = nil
				continue
			}
			if v := fill(value, left[name], there[name]); v != nil {
				out[name] = v
			}
		}
		return out
	case []any:
		left, ok := left.([]any)
		there, isList := live.([]any)
		if !ok || !isList || len(left) != len(target) {
			if ok && len(left) != len(target) && isList {
				return there // an item doesn't count: neither does which items there are
			}
			return left
		}
		out := make([]any, len(target))
		for i := range target {
			out[i] = fill(target[i], left[i], counterpart(there, target[i], i))
		}
		return out
	}
	return left
}

// counterpart is the item of a live list that is what an item of a target's is: the
// one with the same name, or at the same place.
func counterpart(in []any, of any, at int) any {
	if m, ok := of.(map[string]any); ok && m["name"] != nil {
		if i := slices.IndexFunc(in, func(v any) bool {
			other, ok := v.(map[string]any)
			return ok && reflect.DeepEqual(other["name"], m["name"])
		}); i >= 0 {
			return in[i]
		}
		return nil
	}
	if at < len(in) {
		return in[at]
	}
	return nil
}
