package kubernetes

import (
	"context"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// unstick deletes the pods that keep StatefulSets from going back. A
// StatefulSet that updates in order waits for the pod that it replaced last to
// become ready, for ever if that is the broken one, whatever its template says
// by now. Only pods of another revision that aren't ready are deleted: nobody
// is served by them.
func (c *client) unstick(ctx context.Context, workloads []*unstructured.Unstructured, log io.Writer) error {
	for _, w := range workloads {
		if w.GetKind() != "StatefulSet" || text(w, "spec", "podManagementPolicy") == "Parallel" || text(w, "spec", "updateStrategy", "type") == "OnDelete" {
			continue
		}
		live, err := c.observed(ctx, w)
		if err != nil {
			return err
		}
		for _, p := range c.podsOf(ctx, live) {
			revision := p.GetLabels()["controller-revision-hash"]
			if revision == text(live, "status", "updateRevision") || condition(p, "Ready")["status"] == "True" || p.GetDeletionTimestamp() != nil {
				continue
			}
			if err := c.deletePod(ctx, p); err != nil {
				return err
			}
			say(log, "%s waits for %s, which isn't ready: deleted", display(w), display(p))
		}
	}
	return nil
}

// observed waits until the controller has seen what a workload is to be.
func (c *client) observed(ctx context.Context, w *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var last *unstructured.Unstructured
	err := c.Watch(ctx, w, func(live *unstructured.Unstructured) (bool, error) {
		if live == nil {
			return false, fault.New(fault.NotFound, "%s isn't there any more", display(w))
		}
		last = live
		seen, _ := number(live, "status", "observedGeneration")
		return seen >= live.GetGeneration(), nil
	})
	return last, err
}

// deletePod deletes a pod, unless another one has its name by now.
func (c *client) deletePod(ctx context.Context, p *unstructured.Unstructured) error {
	uid := p.GetUID()
	err := c.Dynamic.Resource(pods()).Namespace(p.GetNamespace()).
		Delete(ctx, p.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return applying.About(p, applying.Classify(err))
}
