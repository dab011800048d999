package kubernetes

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"
)

// clientSide is the owner of what "kubectl apply" has written.
const clientSide = "kubectl-client-side-apply"

// takeOver gives an owner the fields that kubectl applied to an object before,
// or that an undo brought back, and says whether there were any. Without it a field that the manifests no
// longer have would stay for ever, because its owner never comes back.
func takeOver(ctx context.Context, res dynamic.ResourceInterface, live *unstructured.Unstructured, owner string) (bool, error) {
	for tried := false; ; tried = true { // a try that conflicts may be one whose answer was lost
		if !slices.ContainsFunc(live.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == clientSide || f.Manager == undoManager }) {
			return tried, nil
		}
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(clientSide, undoManager), owner)
		if err != nil || patch == nil {
			return false, err
		}
		_, err = res.Patch(ctx, live.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: owner})
		if !apierrors.IsConflict(err) {
			return err == nil, err
		}
		// Its controller has written its status meanwhile.
		if live, err = res.Get(ctx, live.GetName(), metav1.GetOptions{}); err != nil {
			return false, err
		}
	}
}
