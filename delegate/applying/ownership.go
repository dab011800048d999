package applying

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The managers whose fields Way.From may name.
const (
	// ClientSide is the owner of what "kubectl apply" has written.
	ClientSide = "kubectl-client-side-apply"
	// FirstApply is what the server calls the owner of all that an object had
	// before its first server-side apply, and what it had when somebody emptied
	// its managedFields. Only what Way.Manager applies too is taken from it: the
	// rest may be a controller's.
	FirstApply = "before-first-apply"
)

// Predecessors are those whose fields an application takes over when it first
// applies an object: kubectl's, and Argo CD's on the client and on the server.
func Predecessors() []string {
	return []string{ClientSide, "argocd-application-controller", "argocd-controller", FirstApply}
}

// takeOver gives a manager the fields of those that don't come back for them, and
// says whether there were any. Without it a field that the manifests no longer
// have would stay for ever.
func takeOver(ctx context.Context, res dynamic.ResourceInterface, live *unstructured.Unstructured, way Way) (bool, error) {
	for tried := false; ; tried = true { // a try that conflicts may be one whose answer was lost
		if !slices.ContainsFunc(live.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return slices.Contains(way.From, f.Manager) }) {
			return tried, nil
		}
		patch, err := handOver(live, way)
		if err != nil || patch == nil {
			return false, err
		}
		_, err = res.Patch(ctx, live.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: way.Manager})
		if !apierrors.IsConflict(err) {
			return err == nil, err
		}
		// Its controller has written its status meanwhile.
		if live, err = res.Get(ctx, live.GetName(), metav1.GetOptions{}); err != nil {
			return false, err
		}
	}
}

// handOver is the patch by which an object's fields change their owner; nil if
// there is nothing to change. The version in it has the server refuse what
// somebody else was faster with.
func handOver(live *unstructured.Unstructured, way Way) ([]byte, error) {
	before := live.GetManagedFields()
	o := &metav1.PartialObjectMetadata{}
	o.ManagedFields = slices.Clone(before)
	from := sets.New(way.From...).Delete(FirstApply)
	if err := csaupgrade.UpgradeManagedFields(o, from, way.Manager); err != nil {
		return nil, err
	}
	// What others have applied on the server is handed over as if it had been
	// applied by a client.
	for i, f := range o.ManagedFields {
		if from.Has(f.Manager) && f.Operation == metav1.ManagedFieldsOperationApply {
			o.ManagedFields[i].Operation = metav1.ManagedFieldsOperationUpdate
		}
	}
	if err := csaupgrade.UpgradeManagedFields(o, from, way.Manager); err != nil {
		return nil, err
	}
	if slices.Contains(way.From, FirstApply) {
		if err := disown(o.ManagedFields, way.Manager); err != nil {
			return nil, err
		}
	}
	if reflect.DeepEqual(before, o.ManagedFields) {
		return nil, nil
	}
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": o.ManagedFields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
}

// disown takes from FirstApply what a manager has applied as well.
func disown(entries []metav1.ManagedFieldsEntry, manager string) error {
	at := func(name string, operation metav1.ManagedFieldsOperationType) int {
		return slices.IndexFunc(entries, func(f metav1.ManagedFieldsEntry) bool {
			return f.Manager == name && f.Operation == operation && f.Subresource == ""
		})
	}
	ours, first := at(manager, metav1.ManagedFieldsOperationApply), at(FirstApply, metav1.ManagedFieldsOperationUpdate)
	if ours < 0 || first < 0 || entries[ours].APIVersion != entries[first].APIVersion || entries[ours].FieldsV1 == nil || entries[first].FieldsV1 == nil {
		return nil
	}
	var own, old fieldpath.Set
	if err := own.FromJSON(entries[ours].FieldsV1.GetRawReader()); err != nil {
		return fmt.Errorf("read the fields of %s: %w", manager, err)
	}
	if err := old.FromJSON(entries[first].FieldsV1.GetRawReader()); err != nil {
		return fmt.Errorf("read the fields of %s: %w", FirstApply, err)
	}
	if old.Intersection(&own).Empty() {
		return nil
	}
	doc, err := old.Difference(&own).ToJSON()
	if err != nil {
		return fmt.Errorf("write the fields of %s: %w", FirstApply, err)
	}
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes(doc)
	entries[first].FieldsV1 = fields
	return nil
}
