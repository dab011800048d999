package agent

import (
	"context"
	"encoding/base64"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/sets"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// home is what application sets may read of the agent's own namespace.
type home struct {
	cluster   *applying.Cluster
	namespace string
}

// Secret gives the values of a Secret that is for application sets, as one of these
// labels says. The agent's own are in the same namespace, and whoever writes a set says
// which host is asked by what a Secret has.
func (h home) Secret(ctx context.Context, name string) (map[string]string, error) {
	o, err := h.get(ctx, "Secret", name)
	if err != nil {
		return nil, err
	}
	has := o.GetLabels()
	if has["argocd.argoproj.io/secret-type"] != "scm-creds" && has["app.kubernetes.io/part-of"] != "argocd" {
		return nil, fault.New(fault.Forbidden, "Secret %s isn't for application sets; label it argocd.argoproj.io/secret-type: scm-creds, or app.kubernetes.io/part-of: argocd", name)
	}
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	out := make(map[string]string, len(data))
	for k, v := range data {
		text, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil, fault.New(fault.Invalid, "Secret %s, %s: it isn't base64", name, k)
		}
		out[k] = string(text)
	}
	return out, nil
}

// ConfigMap gives the values of a ConfigMap.
func (h home) ConfigMap(ctx context.Context, name string) (map[string]string, error) {
	o, err := h.get(ctx, "ConfigMap", name)
	if err != nil {
		return nil, err
	}
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	return data, nil
}

func (h home) get(ctx context.Context, kind, name string) (*unstructured.Unstructured, error) {
	o, err := h.cluster.Get(ctx, applying.Named(schema.GroupVersionKind{Version: "v1", Kind: kind}, object.Key{Kind: kind, Namespace: h.namespace, Name: name}))
	if err == nil && o == nil {
		err = fault.New(fault.NotFound, "the agent's namespace %s has no %s %s", h.namespace, kind, name)
	}
	return o, err
}

// list lists objects.
func (h home) list(ctx context.Context, which sets.Listing) ([]map[string]any, error) {
	gv, err := schema.ParseGroupVersion(which.APIVersion)
	if err != nil {
		return nil, fault.New(fault.Invalid, "found %q as an apiVersion: %w", which.APIVersion, err)
	}
	if gv.Group == "" && which.Kind == "Secret" {
		return nil, fault.New(fault.Forbidden, "Secrets decide on no clusters")
	}
	res, err := h.cluster.Resource(applying.Named(gv.WithKind(which.Kind), object.Key{Group: gv.Group, Kind: which.Kind, Namespace: h.namespace}))
	if err != nil {
		return nil, err
	}
	all := labels.NewSelector()
	for k, v := range which.Selector.MatchLabels {
		r, err := labels.NewRequirement(k, selection.Equals, []string{v})
		if err != nil {
			return nil, fault.New(fault.Invalid, "labelSelector: %w", err)
		}
		all = all.Add(*r)
	}
	for _, e := range which.Selector.MatchExpressions {
		how := map[string]selection.Operator{"In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists, "DoesNotExist": selection.DoesNotExist}[e.Operator]
		r, err := labels.NewRequirement(e.Key, how, e.Values)
		if err != nil {
			return nil, fault.New(fault.Invalid, "labelSelector: %w", err)
		}
		all = all.Add(*r)
	}
	opts := metav1.ListOptions{LabelSelector: all.String()}
	if which.Name != "" {
		opts = metav1.ListOptions{FieldSelector: "metadata.name=" + which.Name}
	}
	found, err := applying.ListAll(ctx, res, opts)
	if err != nil {
		return nil, fmt.Errorf("list what decides on clusters: %w", applying.Classify(err))
	}
	out := make([]map[string]any, len(found))
	for i := range found {
		out[i] = found[i].Object
	}
	return out, nil
}
