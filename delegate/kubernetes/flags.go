package kubernetes

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
)

// annotationCause is where kubectl keeps the cause of a change.
const annotationCause = "kubernetes.io/change-cause"

// way is how an object is applied. Fields of other owners are taken over, as by a
// client-side apply, unless a flag asks for conflicts.
func (a *applier) way(o *unstructured.Unstructured, dryRun bool) applying.Way {
	return applying.Way{
		Manager: cmp.Or(a.flags.FieldManager, manager), From: []string{applying.ClientSide, undoManager}, DryRun: dryRun,
		Conflicts: a.flags.Conflicts, Validation: a.flags.Validation, Recreate: a.flags.Recreate || a.beside == display(o),
	}
}

// recorded is what is sent of an object.
func (a *applier) recorded(o *unstructured.Unstructured) *unstructured.Unstructured {
	if !a.flags.Record {
		return o
	}
	o = o.DeepCopy()
	notes := o.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[annotationCause] = fmt.Sprintf("%s of %s", a.p.Op, a.p.Target.ReleaseName)
	o.SetAnnotations(notes)
	return o
}
