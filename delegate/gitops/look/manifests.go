package look

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// MostText bounds the texts of an answer.
const MostText = 1 << 20

func isNoKind(err error) bool { return errors.Is(err, applying.ErrNoKind) }

// Live reads the application's own objects that are chosen and are there.
func Live(ctx context.Context, c *applying.Cluster, resources []gitops.ResourceStatus, which protocol.Which) ([]*unstructured.Unstructured, error) {
	var chosen []gitops.ResourceStatus
	for _, r := range resources {
		if which.Has(r.Key) {
			chosen = append(chosen, r)
		}
	}
	found, err := rootsOf(ctx, c, chosen)
	var out []*unstructured.Unstructured
	for _, o := range found {
		if o != nil {
			out = append(out, o)
		}
	}
	return out, err
}

// Manifests writes objects as people read them.
func Manifests(objects []*unstructured.Unstructured) ([]protocol.Manifest, error) {
	out := make([]protocol.Manifest, 0, len(objects))
	room := MostText
	for _, o := range objects {
		m := protocol.Manifest{Key: KeyOf(o)}
		text, err := applying.YAML(shown(o).Object)
		if err != nil {
			return nil, err
		}
		if m.Cut = len(text) > room; !m.Cut {
			m.Text = text
			room -= len(text)
		}
		out = append(out, m)
	}
	return out, nil
}

// shown is an object without what nobody reads, and nobody is to read.
func shown(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	if o.GetKind() == "Secret" {
		applying.Hide(nil, o.Object)
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	}
	return o
}

// Bound cuts differences for which there is no room.
func Bound(all []protocol.Difference) []protocol.Difference {
	room := MostText
	for i := range all {
		d := &all[i]
		if d.Cut = len(d.Text) > room; d.Cut {
			d.Text = ""
		}
		room -= len(d.Text)
	}
	return all
}
