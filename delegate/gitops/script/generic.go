package script

import (
	"reflect"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// generic says how an object fares of whose kind nothing is known, by what controllers
// have agreed on: observedGeneration and the conditions Ready, Reconciling and Stalled
// (semantics/gitops §10). Nil: it tells nothing by them.
func generic(o map[string]any) *gitops.HealthStatus {
	about, _ := o["status"].(map[string]any)
	conditions, _ := about["conditions"].([]any)
	if _, observed := about["observedGeneration"]; !observed && len(conditions) == 0 {
		return nil
	}
	found, err := status.Compute(&unstructured.Unstructured{Object: o})
	if err != nil { // it means something else by these words
		return nil
	}
	switch found.Status {
	case status.CurrentStatus:
		return &gitops.HealthStatus{Status: gitops.Healthy}
	case status.FailedStatus:
		return &gitops.HealthStatus{Status: gitops.Degraded, Message: found.Message}
	case status.InProgressStatus, status.TerminatingStatus:
		return &gitops.HealthStatus{Status: gitops.Progressing, Message: found.Message}
	case status.NotFoundStatus, status.UnknownStatus:
	}
	return nil
}

// tells says whether objects of a kind may have what generic goes by. Of Kubernetes' own
// kinds it is known: a ConfigMap, say, needn't be read whole for it. All others may.
func tells(group, kind string) bool {
	versions := scheme.Scheme.VersionsForGroupKind(schema.GroupKind{Group: group, Kind: kind})
	for _, gv := range versions {
		o, err := scheme.Scheme.New(gv.WithKind(kind))
		if err != nil {
			continue
		}
		field, has := reflect.TypeOf(o).Elem().FieldByName("Status")
		if !has || field.Type.Kind() != reflect.Struct {
			continue
		}
		_, conditions := field.Type.FieldByName("Conditions")
		_, observed := field.Type.FieldByName("ObservedGeneration")
		if conditions || observed {
			return true
		}
	}
	return len(versions) == 0
}
