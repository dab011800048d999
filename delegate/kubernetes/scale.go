package kubernetes

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// annotationScaled notes which step has scaled a workload by a percentage, and
// to how many instances.
const annotationScaled = "harness.io/scaled-by"

// kubectl does to workloads that are there what the command of that name does:
// it scales, patches, restarts and undoes.
type kubectl struct {
	client  *client
	work    task.Work
	p       lane.Spec
	applier *applier
	lookout *lookout
}

// named makes an object of "[namespace/]Kind/name".
func (k *kubectl) named(ref string) (*unstructured.Unstructured, error) {
	parts := strings.Split(ref, "/")
	namespace := k.p.Target.Namespace
	if len(parts) == 3 {
		namespace, parts = parts[0], parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return nil, fault.New(fault.Invalid, "%q doesn't name a resource; want [namespace/]Kind/name", ref)
	}
	gvk, err := k.client.kind(parts[0])
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetName(parts[1])
	o.SetNamespace(namespace)
	return o, nil
}

// kind finds a kind by its name alone, in any case, as kubectl does. Where
// several groups have one, Kubernetes' own come first.
func (c *client) kind(name string) (schema.GroupVersionKind, error) {
	resource := schema.GroupVersionResource{Resource: strings.ToLower(name)}
	for _, group := range []string{"", "apps", "batch", "networking.k8s.io", "autoscaling", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "apiextensions.k8s.io"} {
		if m, err := c.Mapper.RESTMapping(schema.GroupKind{Group: group, Kind: name}); err == nil {
			resource = m.Resource
			break
		}
	}
	gvk, err := c.Mapper.KindFor(resource)
	if err != nil {
		return schema.GroupVersionKind{}, fault.New(fault.Invalid, "the cluster has no kind %q", name)
	}
	return gvk, nil
}

// scale is K8sScale (semantics/kubernetes §15). A percentage is of the replicas
// that the workload has before the step.
func (s *session) scale(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitScale)
	w, err := s.kubectl.named(s.p.Workload)
	if err != nil {
		return task.Result{}, err
	}
	if kind := w.GetKind(); kind != "Deployment" && kind != "StatefulSet" && kind != "ReplicaSet" && kind != kindConfig {
		return task.Result{}, fault.New(fault.Invalid, "%s can't be scaled; want a Deployment, a StatefulSet, a ReplicaSet or a DeploymentConfig", display(w))
	}
	live, err := s.client.Get(ctx, w)
	if err != nil {
		return task.Result{}, err
	}
	if live == nil {
		return task.Result{}, fault.New(fault.NotFound, "there is no %s in %s", display(w), w.GetNamespace())
	}
	if s.p.Instances == nil {
		return task.Result{}, fault.New(fault.Invalid, "instanceSelection is missing")
	}
	if s.p.Instances.Count != nil {
		err = s.kubectl.scaleTo(ctx, live, int64(*s.p.Instances.Count), log)
	} else {
		err = s.kubectl.scaleBy(ctx, live, *s.p.Instances.Percentage, log)
	}
	if err != nil {
		return task.Result{}, err
	}
	if err := s.lookout.steady(ctx, []*unstructured.Unstructured{w}); err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("scaled", []*unstructured.Unstructured{w}, s.lookout.instances(ctx, []*unstructured.Unstructured{w}, nil)))
}

func (k *kubectl) scaleTo(ctx context.Context, w *unstructured.Unstructured, want int64, log io.Writer) error {
	say(log, "Scaling %s from %d to %d", display(w), replicas(w), want)
	res, err := k.client.Resource(w)
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, want)
	_, err = res.Patch(ctx, w.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager + "-scale"}, "scale")
	return applying.About(w, applying.Classify(err))
}

// scaleBy gives a workload a percentage of its instances. The number is noted
// with the change: another try of this step would take it of what is left.
func (k *kubectl) scaleBy(ctx context.Context, w *unstructured.Unstructured, percent int, log io.Writer) error {
	want := percentage(replicas(w), percent)
	if noted, mine := strings.CutPrefix(w.GetAnnotations()[annotationScaled], k.author()+" "); mine {
		if n, err := strconv.ParseInt(noted, 10, 64); err == nil {
			want = n
		}
	}
	say(log, "Scaling %s from %d to %d", display(w), replicas(w), want)
	note := fmt.Sprintf("%s %d", k.author(), want)
	return k.rescale(ctx, w, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"replicas":%d}}`, annotationScaled, note, want))
}
