package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"time"

	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Settings are an agent's, for all of its applications.
type Settings struct {
	Rules []gitops.IgnoreRule
	// Status says whose status counts for nothing: that of "all", which is also what
	// empty means, of definitions alone ("crd"), or of "none".
	Status string
	// AggregatedRoles leaves out the rules of ClusterRoles that others fill in.
	AggregatedRoles bool
	// JQTimeout is how long one expression may take; 0: a second.
	JQTimeout time.Duration
}

// Rules say what doesn't count when an application's objects are compared.
type Rules struct {
	settings Settings
	rules    []rule
}

// rule is a rule that is ready.
type rule struct {
	gitops.IgnoreRule

	jq []expression
}

type expression struct {
	text string
	code *gojq.Code
}

// Compile makes rules of an application's and of its agent's settings ready.
func Compile(settings Settings, own []gitops.IgnoreRule) (*Rules, error) {
	out := &Rules{settings: settings}
	for i, r := range slices.Concat(own, settings.Rules) {
		where := fmt.Sprintf("ignoreDifferences[%d]", i)
		if i >= len(own) {
			where = fmt.Sprintf("the setting %d of ignored differences", i-len(own)+1)
		}
		for name, pattern := range map[string]string{"group": r.Group, "kind": r.Kind} {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fault.New(fault.Invalid, "%s.%s: %q is no pattern: %w", where, name, pattern, err)
			}
		}
		ready := rule{IgnoreRule: r}
		for j, text := range r.JQPathExpressions {
			query, err := gojq.Parse("del(" + text + ")")
			var code *gojq.Code
			if err == nil {
				code, err = gojq.Compile(query)
			}
			if err != nil {
				return nil, fault.New(fault.Invalid, "%s.jqPathExpressions[%d]: %q is no path of jq: %w", where, j, text, err)
			}
			ready.jq = append(ready.jq, expression{text, code})
		}
		out.rules = append(out.rules, ready)
	}
	return out, nil
}

// of are the rules for an object.
func (r *Rules) of(o *unstructured.Unstructured) []rule {
	gvk := o.GroupVersionKind()
	matches := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	var out []rule
	for _, one := range r.rules {
		if matches(one.Group, gvk.Group) && matches(one.Kind, gvk.Kind) && (one.Name == "" || one.Name == o.GetName()) && (one.Namespace == "" || one.Namespace == o.GetNamespace()) {
			out = append(out, one)
		}
	}
	return out
}

// Any says whether there is a rule for an object.
func (r *Rules) Any(o *unstructured.Unstructured) bool { return len(r.of(o)) > 0 }

// Alike says whether an object as it is and as it would be differ in nothing that
// counts.
func (r *Rules) Alike(ctx context.Context, live, predicted *unstructured.Unstructured) (bool, error) {
	a, b, err := r.Normal(ctx, live, predicted)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(a.Object, b.Object), nil
}

// Normal gives an object as it is and as it would be without what doesn't count.
func (r *Rules) Normal(ctx context.Context, live, predicted *unstructured.Unstructured) (a, b *unstructured.Unstructured, err error) {
	owned, err := r.owned(live)
	if err != nil {
		return nil, nil, err
	}
	out := [2]*unstructured.Unstructured{live.DeepCopy(), predicted.DeepCopy()}
	sameApp(out[0], out[1])
	for _, o := range out {
		r.clean(o)
		if err := r.strip(ctx, o, owned); err != nil {
			return nil, nil, err
		}
	}
	return out[0], out[1], nil
}

// What kubectl has applied, as an annotation, and the label by which objects are
// ours: whether that is there is seen by the watches.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// clean takes from an object what the server and the agent alone write.
func (r *Rules) clean(o *unstructured.Unstructured) {
	gk := o.GroupVersionKind().GroupKind()
	definition := gk.Kind == "CustomResourceDefinition" && gk.Group == "apiextensions.k8s.io"
	if status := cmp.Or(r.settings.Status, "all"); status == "all" || status == "crd" && definition {
		delete(o.Object, "status")
	}
	for _, name := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	drop(o, "annotations", lastApplied)
	drop(o, "labels", object.LabelAgent)
	if _, aggregated, _ := unstructured.NestedFieldNoCopy(o.Object, "aggregationRule"); aggregated && r.settings.AggregatedRoles && gk.Kind == "ClusterRole" {
		delete(o.Object, "rules")
	}
}

// drop takes a label or an annotation from an object, and the empty mapping that is
// left.
func drop(o *unstructured.Unstructured, of, name string) {
	unstructured.RemoveNestedField(o.Object, "metadata", of, name)
	if left, there, _ := unstructured.NestedMap(o.Object, "metadata", of); there && len(left) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", of)
	}
}

// sameApp drops tracking ids that say the same: of an object without a namespace
// Argo CD writes the one of its application.
func sameApp(a, b *unstructured.Unstructured) {
	appA, keyA, okA := object.ParseTrackingID(a.GetAnnotations()[object.AnnotationTracking])
	appB, keyB, okB := object.ParseTrackingID(b.GetAnnotations()[object.AnnotationTracking])
	if a.GetNamespace() == "" {
		keyA.Namespace, keyB.Namespace = "", ""
	}
	if okA && okB && appA == appB && keyA == keyB {
		drop(a, "annotations", object.AnnotationTracking)
		drop(b, "annotations", object.AnnotationTracking)
	}
}

// owned are the fields of a live object that belong to managers whose fields don't
// count.
func (r *Rules) owned(live *unstructured.Unstructured) (*fieldpath.Set, error) {
	var out *fieldpath.Set
	var managers []string
	for _, one := range r.of(live) {
		managers = append(managers, one.ManagedFieldsManagers...)
	}
	if len(managers) == 0 {
		return nil, nil
	}
	for _, f := range live.GetManagedFields() {
		if !slices.Contains(managers, f.Manager) || f.FieldsV1 == nil {
			continue
		}
		var set fieldpath.Set
		if err := set.FromJSON(f.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("read the fields of %s: %w", f.Manager, err)
		}
		if out == nil {
			out = &fieldpath.Set{}
		}
		out = out.Union(set.Leaves())
	}
	return out, nil
}

// strip takes from an object what its rules name.
func (r *Rules) strip(ctx context.Context, o *unstructured.Unstructured, owned *fieldpath.Set) error {
	for _, one := range r.of(o) {
		for _, pointer := range one.JSONPointers {
			remove(o.Object, steps(pointer))
		}
		for _, e := range one.jq {
			if err := r.evaluate(ctx, e, o); err != nil {
				return err
			}
		}
	}
	if owned != nil {
		owned.Iterate(func(p fieldpath.Path) { remove(o.Object, slices.Clone(p)) })
	}
	return nil
}

// evaluate takes from an object what an expression names. One that fits the object
// not at all names nothing there.
func (r *Rules) evaluate(ctx context.Context, e expression, o *unstructured.Unstructured) error {
	limit := cmp.Or(r.settings.JQTimeout, time.Second)
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found, ok := e.code.RunWithContext(within, plain(o.Object)).Next()
	err, failed := found.(error)
	switch {
	case failed && ctx.Err() != nil:
		return context.Cause(ctx)
	case failed && errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Invalid, "the expression %q of jqPathExpressions took more than %s", e.text, limit)
	case failed || !ok:
		return nil
	}
	if out, ok := whole(found).(map[string]any); ok {
		o.Object = out
	}
	return nil
}

// plain is a copy of a value with the numbers that jq knows.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = plain(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	case int64:
		return int(v)
	}
	return v
}

// whole is plain the other way round.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = whole(value)
		}
	case []any:
		for i, item := range v {
			v[i] = whole(item)
		}
	case int:
		return int64(v)
	}
	return v
}
