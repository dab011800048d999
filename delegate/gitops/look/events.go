package look

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// mostEvents is how many are shown, the newest.
const mostEvents = 100

// Events are those of the nodes of a tree that are chosen, the newest first.
func Events(ctx context.Context, c *applying.Cluster, t protocol.Tree, which protocol.Which) ([]protocol.Event, error) {
	about, namespaces := map[string]bool{}, map[string]bool{}
	for _, n := range t.Nodes {
		if n.UID != "" && which.Has(n.Key) {
			about[n.UID] = true
			if n.Namespace == "" {
				n.Namespace = metav1.NamespaceDefault // where those of clusters' objects are
			}
			namespaces[n.Namespace] = true
		}
	}
	m, err := c.Mapping(schema.GroupVersionKind{Version: "v1", Kind: "Event"})
	if err != nil {
		return nil, err
	}
	out := []protocol.Event{}
	for namespace := range namespaces {
		o := metav1.ListOptions{Limit: pageSize}
		if len(about) == 1 {
			for uid := range about {
				o.FieldSelector = fields.OneTermEqualSelector("involvedObject.uid", uid).String()
			}
		}
		for read := 0; ; {
			page, err := c.Dynamic.Resource(m.Resource).Namespace(namespace).List(ctx, o)
			if err != nil {
				return nil, applying.Classify(err)
			}
			for i := range page.Items {
				if e := event(&page.Items[i]); about[uidOf(&page.Items[i])] {
					out = append(out, e)
				}
			}
			read += len(page.Items)
			if o.Continue = page.GetContinue(); o.Continue == "" || read > mostListed {
				break
			}
		}
	}
	slices.SortStableFunc(out, func(a, b protocol.Event) int { return b.At.Compare(a.At) })
	return out[:min(len(out), mostEvents)], nil
}

func uidOf(e *unstructured.Unstructured) string {
	uid, _, _ := unstructured.NestedString(e.Object, "involvedObject", "uid")
	return uid
}

func event(e *unstructured.Unstructured) protocol.Event {
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(e.Object, path...)
		return s
	}
	gv, _ := schema.ParseGroupVersion(text("involvedObject", "apiVersion")) // the server has checked it
	out := protocol.Event{
		Key: object.Key{
			Group: gv.Group, Kind: text("involvedObject", "kind"), Namespace: text("involvedObject", "namespace"), Name: text("involvedObject", "name"),
		},
		Type: text("type"), Reason: text("reason"), Message: text("message"),
	}
	out.Count, _, _ = unstructured.NestedInt64(e.Object, "count")
	for _, at := range []string{text("series", "lastObservedTime"), text("lastTimestamp"), text("eventTime"), text("metadata", "creationTimestamp")} {
		if out.At.IsZero() {
			out.At, _ = time.Parse(time.RFC3339, at) // it may have none
		}
	}
	return out
}
