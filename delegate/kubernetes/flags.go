package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// annotationCause is where kubectl keeps the cause of a change.
const annotationCause = "kubernetes.io/change-cause"

// patchOptions are those of a server-side apply. It takes over fields of other
// owners, as a client-side apply would, unless a flag asks for conflicts.
func (a *applier) patchOptions(dryRun bool) metav1.PatchOptions {
	force := !a.flags.Conflicts
	opts := metav1.PatchOptions{
		FieldManager: cmp.Or(a.flags.FieldManager, manager), Force: &force, FieldValidation: cmp.Or(a.flags.Validation, metav1.FieldValidationStrict),
	}
	if dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return opts
}

// deleteOptions are those of a deletion, with its dependents unless a flag
// spares them.
func (a *applier) deleteOptions() metav1.DeleteOptions {
	policy := metav1.DeletionPropagation(cmp.Or(a.flags.Cascade, string(metav1.DeletePropagationBackground)))
	opts := metav1.DeleteOptions{PropagationPolicy: &policy, GracePeriodSeconds: a.flags.GracePeriod}
	if a.flags.DryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return opts
}

// body is what is sent of an object.
func (a *applier) body(o *unstructured.Unstructured) ([]byte, error) {
	if a.flags.Record {
		o = o.DeepCopy()
		notes := o.GetAnnotations()
		if notes == nil {
			notes = map[string]string{}
		}
		notes[annotationCause] = fmt.Sprintf("%s of %s", a.p.Op, a.p.Target.ReleaseName)
		o.SetAnnotations(notes)
	}
	return o.MarshalJSON()
}

// immutable says whether an object is refused because it can't be changed
// into what is asked for, so that a new one could be.
func immutable(err error) bool {
	return apierrors.IsInvalid(err) && (strings.Contains(err.Error(), "immutable") || strings.Contains(err.Error(), "updates to statefulset spec"))
}

// recreate deletes an object that can't be changed, so that it can be made anew.
func (a *applier) recreate(ctx context.Context, res dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	policy, now := metav1.DeletePropagationBackground, int64(0)
	err := res.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy, GracePeriodSeconds: &now})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return a.client.gone(ctx, o)
}
