package kubernetes

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// canaryServices adds to the manifests a service for the pods that are stable
// and one for the canary's, if a routing speaks of them
// (semantics/kubernetes §16).
func (s *session) canaryServices(ctx context.Context, objects []*unstructured.Unstructured, w *unstructured.Unstructured, original string, r *release) ([]*unstructured.Unstructured, []string, error) {
	if s.p.Traffic == nil || !speaks(s.p.Traffic, wordStable, wordCanary) {
		return objects, nil, nil
	}
	main, err := mainService(objects)
	if err != nil {
		return nil, nil, err
	}
	live, err := s.client.Get(ctx, olderOf(w, original))
	if err != nil {
		return nil, nil, err
	}
	stable, canary := twin(main, "-stable"), twin(main, canarySuffix)
	if live == nil || text(live, "spec", "template", "metadata", "labels", labelTrack) == wordStable {
		putLabel(stable, labelTrack, wordStable, "spec", "selector")
	} else {
		say(s.env.Log(unitPrepare), "warning: the pods of %s have no label %s yet, so %s selects the canary's, too, until the next deployment", display(live), labelTrack, display(stable))
	}
	putLabel(canary, labelTrack, wordCanary, "spec", "selector")
	r.StableService, r.CanaryService = stable.GetName(), canary.GetName()
	return sorted(append(objects, stable, canary)), []string{display(canary)}, nil
}

func speaks(t *lane.TrafficRouting, words ...string) bool {
	for _, r := range t.Routes {
		for _, d := range r.Destinations {
			if slices.Contains(words, d.Host) {
				return true
			}
		}
	}
	return false
}

// mainService is the service of the manifests that the others are made after.
func mainService(objects []*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == "Service" && annotated(o, annotationPrimaryService) {
			return o, nil
		}
		if o.GetKind() == "Service" && !annotated(o, annotationDirectApply) {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		return nil, fault.New(fault.Invalid, "%d services in the manifests; traffic routing needs one, or one that is annotated with %s: \"true\"", len(found), annotationPrimaryService)
	}
	return found[0], nil
}

// twin is a service beside another, seen only from within the cluster.
func twin(service *unstructured.Unstructured, suffix string) *unstructured.Unstructured {
	out := service.DeepCopy()
	out.SetName(withSuffix(service.GetName(), suffix))
	for _, key := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort", "loadBalancerIP", "loadBalancerClass", "externalIPs", "externalTrafficPolicy", "type"} {
		unstructured.RemoveNestedField(out.Object, "spec", key)
	}
	notes := maps.Clone(out.GetAnnotations())
	maps.DeleteFunc(notes, func(k, _ string) bool { return k == annotationPrimaryService || k == annotationStageService })
	out.SetAnnotations(notes)
	dropNodePorts(out)
	return out
}
