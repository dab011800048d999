package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// Orphans are the objects of a namespace that nobody owns, no application has, and that
// count, by kind and name. They are listed without their bodies.
func Orphans(ctx context.Context, c *applying.Cluster, namespace string, counts func(object.Key) bool) ([]protocol.Node, error) {
	lists, err := c.Kinds.ServerPreferredResources()
	if len(lists) == 0 && err != nil { // some of them may be out of reach
		return nil, fmt.Errorf("ask for the cluster's kinds: %w", applying.Classify(err))
	}
	client, err := metadata.NewForConfigAndClient(c.Config, c.HTTP)
	if err != nil {
		return nil, fmt.Errorf("make a client of metadata: %w", err)
	}
	var mu sync.Mutex
	var out []protocol.Node
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range l.APIResources {
			if !r.Namespaced || !slices.Contains(r.Verbs, "list") || strings.Contains(r.Name, "/") || passing(r.Kind) {
				continue
			}
			g.Go(func() error {
				found, err := strays(ctx, client.Resource(gv.WithResource(r.Name)).Namespace(namespace), gv.WithKind(r.Kind), counts)
				if missing(err) {
					return nil // or nothing that the agent may see
				}
				if err != nil {
					return fault.Wrap(err, "list %s of %s", r.Kind, namespace)
				}
				mu.Lock()
				defer mu.Unlock()
				if out = append(out, found...); len(out) > mostListed {
					return fault.New(fault.TooLarge, "there are more than %d objects in the namespace %s that belong to no application", mostListed, namespace)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b protocol.Node) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// passing are kinds whose objects come and go by themselves without saying whose they
// are.
func passing(kind string) bool {
	return slices.Contains([]string{"Event", "Endpoints", "PodMetrics"}, kind)
}

// strays are the orphans of a kind.
func strays(ctx context.Context, of metadata.ResourceInterface, gvk schema.GroupVersionKind, counts func(object.Key) bool) ([]protocol.Node, error) {
	var out []protocol.Node
	for next := ""; ; {
		page, err := of.List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return nil, applying.Classify(err)
		}
		for i := range page.Items {
			o := &page.Items[i]
			k := object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Namespace, Name: o.Name}
			if len(o.OwnerReferences) > 0 || given(k) || tracked(o, k) || !counts(k) {
				continue
			}
			out = append(out, protocol.Node{
				Key: k, Version: gvk.Version, UID: string(o.UID), ResourceVersion: o.ResourceVersion, CreatedAt: o.CreationTimestamp.Time,
			})
		}
		if next = page.Continue; next == "" || len(out) > mostListed {
			return out, nil
		}
	}
}

// given are objects that Kubernetes itself makes in each namespace, or in its own.
func given(k object.Key) bool {
	switch k.Kind {
	case "ServiceAccount":
		return k.Name == "default"
	case "Secret":
		return strings.HasPrefix(k.Name, "default-token-")
	case "ConfigMap":
		return k.Name == "kube-root-ca.crt"
	case "Service":
		return k.Namespace == "default" && k.Name == "kubernetes"
	case "EndpointSlice":
		return k.Namespace == "default" && k.Name == "kubernetes"
	}
	return false
}

// tracked says whether an object is an application's, any agent's or Argo CD's, or what
// an agent keeps.
func tracked(o *metav1.PartialObjectMetadata, k object.Key) bool {
	if _, of, ok := object.ParseTrackingID(o.Annotations[object.AnnotationTracking]); ok && of == k {
		return true
	}
	for label := range o.Labels {
		if strings.HasPrefix(label, object.Prefix) && label != object.LabelAgent {
			return true
		}
	}
	return false
}
