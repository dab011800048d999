package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// routed is what is kept of the newest routing of a release name, in a Secret
// of its own, so that a later step can change its weights.
type routed struct {
	Execution string               `json:"executionId"`
	Routing   *lane.TrafficRouting `json:"routing"`
	version   string
}

func (s *session) routedName() string { return "harness.traffic." + s.p.Target.ReleaseName }

// routing reads what is kept; nil if there is nothing.
func (s *session) routing(ctx context.Context) (*routed, error) {
	o, err := s.client.dynamic.Resource(secrets()).Namespace(s.p.Target.Namespace).Get(ctx, s.routedName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, classify(err)
	}
	doc, err := decode64(text(o, "data", "routing"))
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", s.routedName(), err)
	}
	r := &routed{version: o.GetResourceVersion()}
	if err := json.Unmarshal(doc, r); err != nil {
		return nil, fmt.Errorf("secret %s: %w", s.routedName(), err)
	}
	return r, nil
}

// routes are the objects of the routing that is kept, and its record.
func (s *session) routes(ctx context.Context) ([]*unstructured.Unstructured, error) {
	kept, err := s.routing(ctx)
	if err != nil || kept == nil {
		return nil, err
	}
	record := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	record.SetName(s.routedName())
	record.SetNamespace(s.p.Target.Namespace)
	objects, err := s.mesh(kept.Routing)
	if errors.Is(err, errNoKind) { // and so its objects have gone
		return []*unstructured.Unstructured{record}, nil
	}
	return append(objects, record), err
}

// keepRouting keeps a routing as the newest; a lost race is a conflict.
func (s *session) keepRouting(ctx context.Context, before *routed, t *lane.TrafficRouting) error {
	doc, err := json.Marshal(routed{Execution: s.work.Execution, Routing: t})
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "harness.io/traffic", "stringData": map[string]any{"routing": string(doc)},
	}}
	o.SetName(s.routedName())
	o.SetNamespace(s.p.Target.Namespace)
	o.SetLabels(map[string]string{labelRelease: s.p.Target.ReleaseName, "app.kubernetes.io/managed-by": manager})
	res := s.client.dynamic.Resource(secrets()).Namespace(s.p.Target.Namespace)
	if before == nil {
		_, err = res.Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
	} else {
		o.SetResourceVersion(before.version)
		_, err = res.Update(ctx, o, metav1.UpdateOptions{FieldManager: manager})
	}
	return classify(err)
}
