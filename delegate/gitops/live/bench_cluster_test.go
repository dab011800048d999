package live

import (
	"fmt"
	"io"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// BenchmarkApply makes 1,000 ConfigMaps, 32 at once, beside a bare server-side apply
// of the same.
func BenchmarkApply(b *testing.B) {
	for _, tt := range []struct {
		name  string
		apply func(b *testing.B, s *site, o *unstructured.Unstructured) error
	}{
		{"ours", func(b *testing.B, s *site, o *unstructured.Unstructured) error {
			b.Helper()
			_, err := s.Apply(b.Context(), o, way(), io.Discard)
			return err
		}},
		{"bare", func(b *testing.B, s *site, o *unstructured.Unstructured) error {
			b.Helper()
			body, err := o.MarshalJSON()
			if err != nil {
				return err
			}
			res, err := s.Resource(o)
			if err != nil {
				return err
			}
			force := true
			_, err = res.Patch(b.Context(), o.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: object.Manager, Force: &force})
			return err
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := newSite(b)
				all := make([]*unstructured.Unstructured, 1000)
				for i := range all {
					all[i] = s.object(b, settings)
					all[i].SetName(fmt.Sprintf("settings-%d", i))
				}
				b.StartTimer()
				var g errgroup.Group
				g.SetLimit(32)
				for _, o := range all {
					g.Go(func() error { return tt.apply(b, s, o) })
				}
				check(b, g.Wait())
			}
		})
	}
}
