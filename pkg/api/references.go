package api

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// references is what keeps an entity from being deleted.
type references struct {
	References    []EntityKey    `json:"references" nullable:"false" doc:"The entities that name it, of those that the caller may see"`
	Left          []fault.Detail `json:"left,omitempty" nullable:"false" doc:"What still is in an organization or a project; told to who may delete it"`
	NextPageToken string         `json:"nextPageToken,omitempty"`
}

func (s *documents) listReferences(ctx context.Context, in *struct {
	OfEntity
	Paged
}) (*struct{ Body references }, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.Store.Entity(ctx, key); err != nil {
		return nil, err
	}
	found, next, err := visible(ctx, in.page(), action.EntityView, func(k store.EntityKey) right.Resource { return grants.Resource(k) },
		func(page store.Page) ([]store.EntityKey, string, error) { return s.Store.Referrers(ctx, key, page) })
	if err != nil {
		return nil, err
	}
	out := references{References: make([]EntityKey, len(found)), NextPageToken: next}
	for i, k := range found {
		out.References[i] = keyOf(k)
	}
	may, err := asker(ctx).Decide(ctx, action.EntityDelete, grants.Resource(key))
	if err != nil || !may.Allowed || in.PageToken != "" {
		return &struct{ Body references }{out}, err
	}
	out.Left, err = catalog.Left(ctx, s.Catalog, key)
	return &struct{ Body references }{out}, err
}
