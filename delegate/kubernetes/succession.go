package kubernetes

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
)

// succession is what a progressive canary takes the place of, as it was when
// the first phase began. It is nil for the first deployment of all.
type succession struct {
	// Workload is the Deployment that served.
	Workload map[string]any `json:"workload"`
	// Scalers are its autoscalers, with the bounds that they had.
	Scalers []map[string]any `json:"scalers,omitempty"`
	// Budgets are its disruption budgets.
	Budgets []map[string]any `json:"budgets,omitempty"`
}

func (o *succession) workload() *unstructured.Unstructured {
	return (&unstructured.Unstructured{Object: o.Workload}).DeepCopy()
}

// predecessor finds the Deployment that serves: the one of the newest good
// release, be it a version of its own or the manifests' name.
func (c *client) predecessor(ctx context.Context, all []*release, w *unstructured.Unstructured) (*succession, error) {
	candidate := w
	for _, r := range all {
		if r.Status == releaseSucceeded && (r.Mode == modeRolling || r.Mode == modeProgressive) {
			if list := managed(r.objects()); len(list) == 1 {
				candidate = list[0]
			}
			break
		}
	}
	live, err := c.Get(ctx, candidate)
	if err == nil && live == nil {
		live, err = c.Get(ctx, w)
	}
	if err != nil || live == nil {
		return nil, err
	}
	out := &succession{Workload: applying.Plain(live)}
	if out.Scalers, err = c.followers(ctx, "autoscaling", "HorizontalPodAutoscaler", func(o *unstructured.Unstructured) bool { return scales(o, "Deployment", live.GetName()) }, live); err != nil {
		return nil, err
	}
	out.Budgets, err = c.followers(ctx, "policy", "PodDisruptionBudget", func(o *unstructured.Unstructured) bool { return protects(o, live) }, live)
	return out, err
}

// followers lists objects of a kind in a workload's namespace.
func (c *client) followers(ctx context.Context, group, kind string, follows func(*unstructured.Unstructured) bool, w *unstructured.Unstructured) ([]map[string]any, error) {
	m, err := c.Mapping(schema.GroupVersionKind{Group: group, Kind: kind})
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	_, err = applying.List(ctx, c.Dynamic.Resource(m.Resource).Namespace(w.GetNamespace()), metav1.ListOptions{}, func(o *unstructured.Unstructured) {
		if follows(o) {
			out = append(out, applying.Plain(o))
		}
	})
	return out, applying.Classify(err)
}

func (o *succession) scalers() []*unstructured.Unstructured { return asObjects(o.Scalers) }

func asObjects(list []map[string]any) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, m := range list {
		out = append(out, (&unstructured.Unstructured{Object: m}).DeepCopy())
	}
	return out
}
