package look

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/gitops/script"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// scripted does what a script wants. All of it is checked before any of it is done.
func (w Acting) scripted(ctx context.Context, o *unstructured.Unstructured, changes []script.Change, err error) error {
	if err != nil {
		return err
	}
	for _, c := range changes {
		made := &unstructured.Unstructured{Object: c.Object}
		switch {
		case !c.Create && (made.GroupVersionKind() != o.GroupVersionKind() || made.GetName() != o.GetName() || made.GetNamespace() != o.GetNamespace()):
			return fault.New(fault.Forbidden, "the action wants %s %s changed; it may change %s %s alone, and make others", made.GetKind(), made.GetName(), o.GetKind(), o.GetName())
		case c.Create && made.GetName() == "" && made.GetGenerateName() == "":
			return fault.New(fault.Invalid, "the action wants a %s made that has no name", made.GetKind())
		case c.Create:
			if err := w.Allowed(KeyOf(made)); err != nil {
				return err
			}
		}
	}
	for _, c := range changes {
		made := &unstructured.Unstructured{Object: c.Object}
		if err := w.change(ctx, o, made, c.Create); err != nil {
			return err
		}
	}
	return nil
}

// change makes one object, or one what it is to be.
func (w Acting) change(ctx context.Context, o, made *unstructured.Unstructured, create bool) error {
	if create {
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
			unstructured.RemoveNestedField(made.Object, "metadata", field)
		}
		_, err := w.Cluster.Create(ctx, made, manager)
		return err
	}
	patched := difference(o.Object, made.Object)
	status, both := patched["status"], len(patched) > 1
	if len(patched) == 0 {
		return nil
	}
	if status != nil && both {
		delete(patched, "status")
	}
	if err := w.merge(ctx, o, patched, status != nil && !both); err != nil || status == nil || !both {
		return err
	}
	return w.merge(ctx, o, map[string]any{"status": status}, true)
}

func (w Acting) merge(ctx context.Context, o *unstructured.Unstructured, body map[string]any, status bool) error {
	doc, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode what the action changes: %w", err)
	}
	return patch(ctx, w.Cluster, o, types.MergePatchType, doc, status)
}

// difference is the merge patch that makes one mapping of another.
func difference(before, after map[string]any) map[string]any {
	out := map[string]any{}
	for name := range before {
		if _, there := after[name]; !there {
			out[name] = nil
		}
	}
	for name, is := range after {
		was, there := before[name]
		a, mapped := was.(map[string]any)
		b, maps := is.(map[string]any)
		switch {
		case there && alike(was, is):
		case mapped && maps:
			out[name] = difference(a, b)
		default:
			out[name] = is
		}
	}
	return out
}

// alike compares values in which whole numbers may be of either sort.
func alike(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, alike)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !alike(a[i], b[i]) {
				return false
			}
		}
		return true
	case int64:
		if f, is := b.(float64); is {
			return float64(a) == f
		}
		if n, is := b.(int64); is {
			return float64(a) == float64(n) // as scripts have them
		}
	case float64:
		if n, is := b.(int64); is {
			return a == float64(n)
		}
	}
	return reflect.DeepEqual(a, b)
}
