package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/live"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/health"
)

// site is a cluster with what is watched of it.
type site struct {
	cluster *applying.Cluster
	watcher *live.Watcher

	mu    sync.Mutex // one says at a time what is wanted
	kinds map[schema.GroupKind]int
}

// site gives the one of a destination, which begins to watch when it is first asked
// for.
func (r *Reconciler) site(ctx context.Context, loops *sync.WaitGroup, c Cluster) (*site, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sites[c.Server]; s != nil {
		return s, nil
	}
	w, err := live.New(live.Config{
		Cluster: c.Cluster, Agent: r.cfg.Agent, Changed: r.changed, Log: r.cfg.Log,
		HasHealth: func(gk schema.GroupKind) bool { return health.Has(gk.Group, gk.Kind) },
		Judge:     func(o *unstructured.Unstructured) *gitops.HealthStatus { return health.Of(o.Object) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch cluster %s: %w", c.Server, err)
	}
	loops.Go(func() { _ = w.Run(ctx) }) // it ends with the context
	s := &site{cluster: c.Cluster, watcher: w, kinds: map[schema.GroupKind]int{}}
	r.sites[c.Server] = s
	return s, nil
}

// want has kinds watched, and waits until their objects are known. They stay watched
// until as many let go of them.
func (s *site) want(ctx context.Context, has, wants map[schema.GroupKind]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	more := false
	for gk := range wants {
		if !has[gk] {
			more = more || s.kinds[gk] == 0
			s.kinds[gk]++
		}
	}
	for gk := range has {
		if wants[gk] {
			continue
		}
		if s.kinds[gk]--; s.kinds[gk] == 0 {
			delete(s.kinds, gk)
			more = true
		}
	}
	if !more {
		return nil
	}
	return s.watcher.Want(ctx, slices.Collect(maps.Keys(s.kinds)))
}

// namespaced says whether objects of a kind are in namespaces; false in known: the
// cluster doesn't have it.
func (s *site) namespaced(gvk schema.GroupVersionKind) (namespaced, known bool, err error) {
	m, err := s.cluster.Mapping(gvk)
	switch {
	case isNoKind(err):
		return true, false, nil
	case err != nil:
		return false, false, err
	}
	return m.Scope.Name() == meta.RESTScopeNameNamespace, true, nil
}
