package kubernetes

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// named makes an object of "[namespace/]Kind/name".
func (s *session) named(ref string) (*unstructured.Unstructured, error) {
	parts := strings.Split(ref, "/")
	namespace := s.p.Target.Namespace
	if len(parts) == 3 {
		namespace, parts = parts[0], parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return nil, fault.New(fault.Invalid, "%q doesn't name a resource; want [namespace/]Kind/name", ref)
	}
	gvk, err := s.kind(parts[0])
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
func (s *session) kind(name string) (schema.GroupVersionKind, error) {
	resource := schema.GroupVersionResource{Resource: strings.ToLower(name)}
	for _, group := range []string{"", "apps", "batch", "networking.k8s.io", "autoscaling", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "apiextensions.k8s.io"} {
		if m, err := s.client.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: name}); err == nil {
			resource = m.Resource
			break
		}
	}
	gvk, err := s.client.mapper.KindFor(resource)
	if err != nil {
		return schema.GroupVersionKind{}, fault.New(fault.Invalid, "the cluster has no kind %q", name)
	}
	return gvk, nil
}

// scale is K8sScale (kubernetes spec §15). A percentage is of the replicas
// that the workload has before the step.
func (s *session) scale(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitScale)
	w, err := s.named(s.p.Workload)
	if err != nil {
		return task.Result{}, err
	}
	if kind := w.GetKind(); kind != "Deployment" && kind != "StatefulSet" && kind != "ReplicaSet" && kind != kindConfig {
		return task.Result{}, fault.New(fault.Invalid, "%s can't be scaled; want a Deployment, a StatefulSet, a ReplicaSet or a DeploymentConfig", display(w))
	}
	live, err := s.get(ctx, w)
	if err != nil {
		return task.Result{}, err
	}
	if live == nil {
		return task.Result{}, fault.New(fault.NotFound, "there is no %s in %s", display(w), w.GetNamespace())
	}
	if s.p.Instances == nil {
		return task.Result{}, fault.New(fault.Invalid, "instanceSelection is missing")
	}
	want := int64(0)
	if s.p.Instances.Count != nil {
		want = int64(*s.p.Instances.Count)
	} else {
		want = percentage(replicas(live), *s.p.Instances.Percentage)
	}
	say(log, "Scaling %s from %d to %d", display(w), replicas(live), want)
	res, err := s.client.resource(w)
	if err != nil {
		return task.Result{}, err
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, want)
	if _, err := res.Patch(ctx, w.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager + "-scale"}, "scale"); err != nil {
		return task.Result{}, about(w, classify(err))
	}
	if err := s.steady(ctx, []*unstructured.Unstructured{w}); err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("scaled", []*unstructured.Unstructured{w}, s.instances(ctx, []*unstructured.Unstructured{w}, nil)))
}
