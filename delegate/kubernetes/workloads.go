package kubernetes

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// resourceName is an object as task.Change names it: group/Kind/namespace/name.
func resourceName(o *unstructured.Unstructured) string {
	return o.GroupVersionKind().Group + "/" + o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
}

// workloads are those objects that run pods, as they were put. How many pods
// they run isn't theirs to say where an autoscaler does.
func workloads(objects []*unstructured.Unstructured) []task.Workload {
	scaled := map[string]bool{}
	for _, o := range objects {
		if o.GetKind() == "HorizontalPodAutoscaler" {
			scaled[text(o, "spec", "scaleTargetRef", "kind")+"/"+text(o, "spec", "scaleTargetRef", "name")] = true
		}
	}
	var out []task.Workload
	for _, o := range objects {
		if !isWorkload(o.GetKind()) {
			continue
		}
		w := workloadOf(o)
		if scaled[display(o)] {
			w.Replicas = nil
		}
		out = append(out, w)
	}
	return out
}

func workloadOf(o *unstructured.Unstructured) task.Workload {
	w := task.Workload{
		Resource: resourceName(o), Images: imagesAt(o, append(podSpecPath(o.GetKind()), "containers")...), Selector: podSelector(o),
	}
	if n, ok := number(o, "spec", "replicas"); ok {
		w.Replicas = &n
	}
	return w
}

// podSelector finds a workload's pods: by their release where they are marked
// with it, else as the workload itself does.
func podSelector(o *unstructured.Unstructured) string {
	if release := text(o, "spec", "template", "metadata", "labels", labelRelease); release != "" {
		return labels.Set{labelRelease: release}.String()
	}
	if o.GetKind() == kindConfig {
		own, _, _ := unstructured.NestedStringMap(o.Object, selectorOf(o)...)
		return labels.Set(own).String()
	}
	raw, _, _ := unstructured.NestedMap(o.Object, "spec", "selector")
	var own metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &own) != nil {
		return ""
	}
	selector, err := metav1.LabelSelectorAsSelector(&own)
	if err != nil || selector.Empty() {
		return "" // every pod of the namespace would be its own
	}
	return selector.String()
}

// Cluster is a cluster that is looked at, by who watches instances.
type Cluster struct{ cluster *applying.Cluster }

// Connect prepares to look at a cluster; nothing is sent yet.
func Connect(access task.Cluster) (*Cluster, error) {
	c, err := applying.Connect(access)
	if err != nil {
		return nil, err
	}
	return &Cluster{cluster: c}, nil
}

// Pods is the endpoint of a namespace's pods.
func (c *Cluster) Pods(namespace string) dynamic.ResourceInterface {
	return c.cluster.Dynamic.Resource(pods()).Namespace(namespace)
}

// List passes what an endpoint of the cluster lists, page by page, and gives
// the list's version.
func (c *Cluster) List(ctx context.Context, of dynamic.ResourceInterface, opts metav1.ListOptions, each func(*unstructured.Unstructured)) (version string, err error) {
	return applying.List(ctx, of, opts, each)
}

// Workload looks at a workload, which task.Change.Resources names so.
func (c *Cluster) Workload(ctx context.Context, resource string) (task.Workload, error) {
	parts := strings.Split(resource, "/")
	if len(parts) != 4 {
		return task.Workload{}, fault.New(fault.Invalid, "%q isn't a workload; want group/Kind/namespace/name", resource)
	}
	m, err := c.cluster.Mapper.RESTMapping(schema.GroupKind{Group: parts[0], Kind: parts[1]})
	if err != nil {
		return task.Workload{}, applying.Classify(err)
	}
	live, err := c.cluster.Dynamic.Resource(m.Resource).Namespace(parts[2]).Get(ctx, parts[3], metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return task.Workload{Resource: resource, Gone: true}, nil
	}
	if err != nil {
		return task.Workload{}, applying.Classify(err)
	}
	w := found(live)
	w.Resource = resource
	return w, nil
}

// found is a workload as it is in the cluster.
func found(live *unstructured.Unstructured) task.Workload {
	w := workloadOf(live)
	if w.ReplicasBy = scaler(live); w.ReplicasBy == autoscaler {
		w.Replicas, w.ReplicasBy = nil, ""
	}
	return w
}

// autoscaler is the field manager of Kubernetes' own HorizontalPodAutoscaler:
// how many pods there are is its to say, though the manifests don't bring it.
const autoscaler = "kube-controller-manager"

// scaler is the field manager that set a workload's replicas last.
func scaler(o *unstructured.Unstructured) string {
	for _, f := range o.GetManagedFields() {
		if f.FieldsV1 != nil && strings.Contains(f.FieldsV1.GetRawString(), `"f:replicas"`) && f.Subresource != "status" {
			return f.Manager
		}
	}
	return ""
}
