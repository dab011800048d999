package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// Judge says how an object fares; nil: its kind doesn't.
type Judge func(o *unstructured.Unstructured) *gitops.HealthStatus

// owned are the kinds that Kubernetes' own controllers make for others.
func owned() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"},
		{Version: "v1", Kind: "PersistentVolumeClaim"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
		{Group: "batch", Version: "v1", Kind: "Job"},
		{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
	}
}

// ownedByOthers are those that controllers of other kinds make besides.
func ownedByOthers() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "Secret"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	}
}

const (
	// mostNodes bounds a tree, and mostListed the objects that are read for it.
	mostNodes  = 5000
	mostListed = 50000
	// pageSize is how many objects a list gives at once.
	pageSize = 500
	// atOnce is how many requests are made of a cluster at once.
	atOnce = 16
)

// Tree is the application's objects with what they own, and what that owns.
func Tree(ctx context.Context, c *applying.Cluster, resources []gitops.ResourceStatus, judge Judge) (protocol.Tree, error) {
	roots, err := rootsOf(ctx, c, resources)
	if err != nil {
		return protocol.Tree{}, err
	}
	all, err := candidates(ctx, c, roots)
	if err != nil {
		return protocol.Tree{}, err
	}
	children := map[types.UID][]*unstructured.Unstructured{}
	for _, o := range all {
		for _, owner := range o.GetOwnerReferences() {
			children[owner.UID] = append(children[owner.UID], o)
		}
	}
	var out protocol.Tree
	seen := map[types.UID]bool{}
	var queue []*unstructured.Unstructured
	for i, o := range roots {
		if o == nil {
			out.Nodes = append(out.Nodes, protocol.Node{Key: resources[i].Key, Version: resources[i].Version, Health: resources[i].Health, Status: resources[i].Status, Hook: resources[i].Hook})
			continue
		}
		seen[o.GetUID()] = true
		n := node(o, judge)
		if h := resources[i].Health; h == nil || h.Status != gitops.Missing {
			n.Health = h
		}
		n.Status, n.Hook = resources[i].Status, resources[i].Hook
		out.Nodes = append(out.Nodes, n)
		queue = append(queue, o)
	}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		below := children[parent.GetUID()]
		slices.SortFunc(below, func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
		})
		for _, o := range below {
			if seen[o.GetUID()] {
				continue
			}
			seen[o.GetUID()] = true
			queue = append(queue, o)
			n := node(o, judge)
			for _, owner := range o.GetOwnerReferences() {
				if seen[owner.UID] {
					gv, _ := schema.ParseGroupVersion(owner.APIVersion) // the server has checked it
					n.ParentRefs = append(n.ParentRefs, protocol.Parent{UID: string(owner.UID), Key: object.Key{Group: gv.Group, Kind: owner.Kind, Namespace: o.GetNamespace(), Name: owner.Name}})
				}
			}
			out.Nodes = append(out.Nodes, n)
		}
	}
	out.Omitted = max(0, len(out.Nodes)-mostNodes)
	out.Nodes = out.Nodes[:len(out.Nodes)-out.Omitted]
	return out, nil
}

// KeyOf names an object.
func KeyOf(o *unstructured.Unstructured) object.Key {
	gvk := o.GroupVersionKind()
	return object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// rootsOf reads the application's own objects as they are; those that aren't there
// are nil. What is said to be missing is looked for too: what a sync has just created
// may not have been seen yet, and who asks comes right after it.
func rootsOf(ctx context.Context, c *applying.Cluster, resources []gitops.ResourceStatus) ([]*unstructured.Unstructured, error) {
	out := make([]*unstructured.Unstructured, len(resources))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, r := range resources {
		g.Go(func() error {
			var err error
			out[i], err = c.Get(ctx, applying.Named(schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}, r.Key))
			if missing(err) {
				return nil
			}
			return err
		})
	}
	return out, g.Wait()
}

// candidates are all objects that may be owned by some, in their namespaces.
func candidates(ctx context.Context, c *applying.Cluster, roots []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, gvk := range owned() {
		kinds[gvk] = true
	}
	namespaces, others := map[string]bool{}, map[string]bool{}
	for _, o := range roots {
		if o == nil {
			continue
		}
		if o.GetNamespace() != "" {
			namespaces[o.GetNamespace()] = true
		}
		if group := o.GroupVersionKind().Group; strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
			others[group] = true
		}
	}
	if len(others) > 0 {
		for _, gvk := range ownedByOthers() {
			kinds[gvk] = true
		}
		if err := addGroups(c, others, kinds); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	var out []*unstructured.Unstructured
	var g errgroup.Group
	g.SetLimit(atOnce)
	for namespace := range namespaces {
		for gvk := range kinds {
			g.Go(func() error {
				found, err := list(ctx, c, gvk, namespace)
				mu.Lock()
				defer mu.Unlock()
				if out = append(out, found...); len(out) > mostListed {
					return fault.New(fault.TooLarge, "there are more than %d objects in the namespaces of the application", mostListed)
				}
				return err
			})
		}
	}
	return out, g.Wait()
}

// addGroups adds all kinds of some groups that live in namespaces: what such an
// object owns is mostly of its own group.
func addGroups(c *applying.Cluster, groups map[string]bool, to map[schema.GroupVersionKind]bool) error {
	lists, err := c.Kinds.ServerPreferredResources()
	if len(lists) == 0 && err != nil { // some of them may be out of reach
		return fmt.Errorf("ask for the cluster's kinds: %w", applying.Classify(err))
	}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil || !groups[gv.Group] {
			continue
		}
		for _, r := range l.APIResources {
			if r.Namespaced && slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") {
				to[gv.WithKind(r.Kind)] = true
			}
		}
	}
	return nil
}

// list lists the objects of a kind that somebody owns.
func list(ctx context.Context, c *applying.Cluster, gvk schema.GroupVersionKind, namespace string) ([]*unstructured.Unstructured, error) {
	m, err := c.Mapping(gvk)
	if missing(err) || err == nil && m.Scope.Name() != meta.RESTScopeNameNamespace {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for next := ""; ; {
		page, err := c.Dynamic.Resource(m.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err = applying.Classify(err); missing(err) {
			return out, nil
		}
		if err != nil {
			return nil, fault.Wrap(err, "list %s of %s", gvk.Kind, namespace)
		}
		for i := range page.Items {
			if o := &page.Items[i]; len(o.GetOwnerReferences()) > 0 {
				out = append(out, o)
			}
		}
		if next = page.GetContinue(); next == "" || len(out) > mostListed {
			return out, nil
		}
	}
}

// missing says whether an error is that there is nothing, or nothing that the agent
// may see.
func missing(err error) bool {
	return err != nil && (fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) || isNoKind(err))
}

// node is an object in a tree.
func node(o *unstructured.Unstructured, judge Judge) protocol.Node {
	return protocol.Node{
		Key: KeyOf(o), Version: o.GroupVersionKind().Version, UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(),
		CreatedAt: o.GetCreationTimestamp().Time, Health: judge(o), Images: images(o), Info: info(o),
	}
}

func images(o *unstructured.Unstructured) []string {
	var out []string
	for _, c := range containers(o, "spec", "containers") {
		if image, _ := c["image"].(string); o.GetKind() == "Pod" && image != "" && !slices.Contains(out, image) {
			out = append(out, image)
		}
	}
	return out
}

func containers(o *unstructured.Unstructured, path ...string) []map[string]any {
	all, _, _ := unstructured.NestedSlice(o.Object, path...)
	var out []map[string]any
	for _, one := range all {
		if c, ok := one.(map[string]any); ok {
			out = append(out, c)
		}
	}
	return out
}

// info is what people look for in pods and in sets of them, in Argo CD's words.
func info(o *unstructured.Unstructured) []gitops.Info {
	switch o.GetKind() {
	case "ReplicaSet":
		if n := o.GetAnnotations()[applying.AnnotationRevision]; n != "" {
			return []gitops.Info{{Name: "Revision", Value: "Rev:" + n}}
		}
	case "Pod":
		ready, restarts := 0, int64(0)
		reason, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		statuses := containers(o, "status", "containerStatuses")
		for _, c := range statuses {
			if is, _ := c["ready"].(bool); is {
				ready++
			}
			if why, _, _ := unstructured.NestedString(c, "state", "waiting", "reason"); why != "" {
				reason = why
			}
			n, _, _ := unstructured.NestedInt64(c, "restartCount")
			restarts += n
		}
		if o.GetDeletionTimestamp() != nil {
			reason = "Terminating"
		}
		out := []gitops.Info{{Name: "Status Reason", Value: reason}, {Name: "Containers", Value: fmt.Sprintf("%d/%d", ready, len(containers(o, "spec", "containers")))}}
		if n, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName"); n != "" {
			out = append(out, gitops.Info{Name: "Node", Value: n})
		}
		if restarts > 0 {
			out = append(out, gitops.Info{Name: "Restart Count", Value: fmt.Sprint(restarts)})
		}
		return out
	}
	return nil
}
