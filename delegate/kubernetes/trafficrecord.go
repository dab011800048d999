package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// routed is what is kept of the newest routing of a release name, in a Secret
// of its own, so that a later step can change its weights.
type routed struct {
	Execution string               `json:"executionId"`
	Routing   *lane.TrafficRouting `json:"routing"`
	version   string
}

func (n *network) routedName() string { return "harness.traffic." + n.p.Target.ReleaseName }

// routing reads what is kept; nil if there is nothing.
func (n *network) routing(ctx context.Context) (*routed, error) {
	o, err := n.client.Dynamic.Resource(secrets()).Namespace(n.p.Target.Namespace).Get(ctx, n.routedName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, applying.Classify(err)
	}
	doc, err := decode64(text(o, "data", "routing"))
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", n.routedName(), err)
	}
	r := &routed{version: o.GetResourceVersion()}
	if err := json.Unmarshal(doc, r); err != nil {
		return nil, fmt.Errorf("secret %s: %w", n.routedName(), err)
	}
	return r, nil
}

// routes are the objects of the routing that is kept, and its record.
func (n *network) routes(ctx context.Context) ([]*unstructured.Unstructured, error) {
	kept, err := n.routing(ctx)
	if err != nil || kept == nil {
		return nil, err
	}
	record := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	record.SetName(n.routedName())
	record.SetNamespace(n.p.Target.Namespace)
	objects, err := n.mesh(kept.Routing)
	if errors.Is(err, applying.ErrNoKind) { // and so its objects have gone
		return []*unstructured.Unstructured{record}, nil
	}
	return append(objects, record), err
}

// keepRouting keeps a routing as the newest; a lost race is a conflict.
func (n *network) keepRouting(ctx context.Context, before *routed, t *lane.TrafficRouting) error {
	doc, err := json.Marshal(routed{Execution: n.work.Execution, Routing: t})
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "harness.io/traffic", "stringData": map[string]any{"routing": string(doc)},
	}}
	o.SetName(n.routedName())
	o.SetNamespace(n.p.Target.Namespace)
	o.SetLabels(map[string]string{labelRelease: n.p.Target.ReleaseName, "app.kubernetes.io/managed-by": manager})
	res := n.client.Dynamic.Resource(secrets()).Namespace(n.p.Target.Namespace)
	if before == nil {
		_, err = res.Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
	} else {
		o.SetResourceVersion(before.version)
		_, err = res.Update(ctx, o, metav1.UpdateOptions{FieldManager: manager})
	}
	return applying.Classify(err)
}
