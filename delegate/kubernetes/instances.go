package kubernetes

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/task"
)

// instances lists the pods of the release that live, in the infrastructure's
// namespace and in those of the workloads (semantics/kubernetes §18). It is
// best effort: the deployment stands whether or not its pods can be listed.
func (l *lookout) instances(ctx context.Context, workloads []*unstructured.Unstructured, before map[string]bool) []task.Instance {
	in := namespaces(workloads)
	if !slices.Contains(in, l.p.Target.Namespace) {
		in = append(in, l.p.Target.Namespace)
	}
	var out []task.Instance
	for _, namespace := range in {
		known := len(out)
		_, err := applying.List(ctx, l.client.Dynamic.Resource(pods()).Namespace(namespace), metav1.ListOptions{
			LabelSelector: labels.Set{labelRelease: l.p.Target.ReleaseName}.String(),
		}, func(p *unstructured.Unstructured) {
			if one, alive := l.instance(p); alive {
				one.New = !before[one.Namespace+"/"+one.Name]
				out = append(out, one)
			}
		})
		if err != nil {
			out = out[:known]
		}
	}
	return out
}

// instance is a pod of the session's release as the ledger has it, whether or
// not it is marked with that.
func (l *lookout) instance(p *unstructured.Unstructured) (one task.Instance, alive bool) {
	one, alive = InstanceOf(p)
	one.Release = l.p.Target.ReleaseName
	return one, alive
}

// InstanceOf is what the ledger keeps of a pod of a release. One that ends or
// has ended doesn't count; one that isn't ready does.
func InstanceOf(p *unstructured.Unstructured) (i task.Instance, counts bool) {
	phase := text(p, "status", "phase")
	if p.GetDeletionTimestamp() != nil || phase == "Succeeded" || phase == "Failed" {
		return task.Instance{}, false
	}
	return task.Instance{
		Name: p.GetName(), Namespace: p.GetNamespace(), IP: text(p, "status", "podIP"), Release: p.GetLabels()[labelRelease],
		Color: p.GetLabels()[labelColor], Canary: p.GetLabels()[labelTrack] == "canary", Images: images(p),
		Phase: phase, Ready: condition(p, "Ready")["status"] == "True", Since: p.GetCreationTimestamp().UTC(),
	}, true
}

// names are the pods of a list of instances, each with its namespace.
func names(list []task.Instance) map[string]bool {
	out := map[string]bool{}
	for _, i := range list {
		out[i.Namespace+"/"+i.Name] = true
	}
	return out
}

func images(pod *unstructured.Unstructured) []string { return imagesAt(pod, "spec", "containers") }

func imagesAt(o *unstructured.Unstructured, path ...string) []string {
	var out []string
	list, _, _ := unstructured.NestedSlice(o.Object, path...)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			if image, ok := m["image"].(string); ok {
				out = append(out, image)
			}
		}
	}
	return out
}
