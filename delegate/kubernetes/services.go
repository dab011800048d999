package kubernetes

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// stagedServices chooses the primary and the stage service
// (semantics/kubernetes §14.1). A stage service that the manifests don't have
// is a clone.
func stagedServices(objects []*unstructured.Unstructured) (primary, stage *unstructured.Unstructured, all []*unstructured.Unstructured, err error) {
	var list []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() != "Service" || annotated(o, annotationDirectApply) {
			continue
		}
		list = append(list, o)
		switch {
		case serves(o, annotationPrimaryService, "primary") && primary != nil:
			return nil, nil, nil, fault.New(fault.Invalid, "%s and %s are both annotated as the primary service", display(primary), display(o))
		case serves(o, annotationPrimaryService, "primary"):
			primary = o
		case serves(o, annotationStageService, "stage"):
			stage = o
		}
	}
	switch {
	case len(list) == 0:
		return nil, nil, nil, fault.New(fault.Invalid, "no Service found in the manifests; a blue-green deployment needs at least one")
	case len(list) == 1 && stage == nil:
		primary = list[0]
	case primary == nil:
		return nil, nil, nil, fault.New(fault.Invalid, "%d services and none is annotated with %s: \"true\"", len(list), annotationPrimaryService)
	}
	if stage == nil {
		stage = primary.DeepCopy()
		stage.SetName(withSuffix(primary.GetName(), "-stage"))
		for _, key := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort", "loadBalancerIP"} {
			unstructured.RemoveNestedField(stage.Object, "spec", key)
		}
		dropNodePorts(stage)
		objects = append(objects, stage)
	}
	return primary, stage, objects, nil
}

// serves says whether a service is marked for a part: by its annotation, or by
// a label as charts have it.
func serves(o *unstructured.Unstructured, annotation, part string) bool {
	return annotated(o, annotation) || o.GetLabels()[labelServiceType] == part
}

func dropNodePorts(service *unstructured.Unstructured) {
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	for _, p := range ports {
		if m, ok := p.(map[string]any); ok {
			delete(m, "nodePort")
		}
	}
	set(service, ports, "spec", "ports")
}

// primaryColor is the colour that the live primary service points to; green
// for the first deployment, so that the first workload is the blue one.
func (c *client) primaryColor(ctx context.Context, primary *unstructured.Unstructured) (string, error) {
	live, err := c.Get(ctx, primary)
	if err != nil {
		return "", err
	}
	if live == nil {
		return green, nil
	}
	color := text(live, "spec", "selector", labelColor)
	if color == "" {
		return "", fault.New(fault.Invalid, "service %s exists and its selector has no %s: label the pods of the running workload and the service's selector with %s: blue first", primary.GetName(), labelColor, labelColor)
	}
	return color, nil
}
