package dynamo

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// placements is store.Placements.
type placements struct{ table *table }

// placementDoc is what no condition asks a placement for.
type placementDoc struct {
	Deployed store.Deployed `json:"deployed"`
	Look     store.Look     `json:"look"`
	Seen     store.Seen     `json:"seen"`
}

func readPlacement(ctx context.Context, b bodies, it item) (store.Placement, error) {
	k, err := placementKey(text(it, "pk"), text(it, "sk"))
	if err != nil {
		return store.Placement{}, err
	}
	var d placementDoc
	err = b.decode(ctx, it, "doc", &d)
	return store.Placement{
		Key: k, Version: number(it, "version"), Watcher: text(it, "watcher"), Fence: number(it, "fence"),
		Deployed: d.Deployed, Look: d.Look, Seen: d.Seen,
	}, err
}

// SavePlacement writes one of the version that was read.
func (s placements) SavePlacement(ctx context.Context, p store.Placement, h *store.Moment) (store.Placement, error) {
	lost := store.Stale(p.Key.String(), p.Version)
	condition, values := missing, item(nil)
	if p.Version > 0 {
		condition, values = "#version = :read", item{":read": num(p.Version)}
	}
	p.Version++
	at := placementAt(p.Key)
	it := at.item()
	it["version"], it["watcher"], it["fence"] = num(p.Version), str(p.Watcher), num(p.Fence)
	it["environment"] = str(p.Key.Environment)
	it["pk2"], it["sk2"] = str(watchListPK(p.Key.Scope.Account)), str(watchListSK(p))
	if expires := p.Expires(); !expires.IsZero() {
		it[Expires] = num(expires.Unix())
	}
	if err := s.table.encode(ctx, it, "doc", placementDoc{Deployed: p.Deployed, Look: p.Look, Seen: p.Seen}, largestValue); err != nil {
		return store.Placement{}, err
	}
	writes := []write{s.table.put(it, condition, values, lost)}
	if h != nil {
		moment, err := s.momentItem(ctx, *h)
		if err != nil {
			return store.Placement{}, err
		}
		writes = append(writes, s.table.put(moment, "", nil, nil))
	}
	if err := again(ctx, func() error { return s.table.transact(ctx, writes...) }); err != nil {
		return store.Placement{}, err
	}
	return p, nil
}

// momentDoc is what no condition asks a moment for.
type momentDoc struct {
	Place     string         `json:"place"`
	Instances int            `json:"instances"`
	Versions  map[string]int `json:"versions,omitempty"`
	Artifact  string         `json:"artifact,omitempty"`
	Cause     string         `json:"cause"`
	Execution string         `json:"execution,omitempty"`
}

func (s placements) momentItem(ctx context.Context, m store.Moment) (item, error) {
	it := momentAt(m).item()
	it["at"], it["id"], it[Expires] = num(millis(m.At)), str(m.ID), num(m.At.Add(store.MomentsKept).Unix())
	return it, s.table.encode(ctx, it, "doc", momentDoc{
		Place: placementAt(m.Key).sk, Instances: m.Instances, Versions: m.Versions, Artifact: m.Artifact, Cause: m.Cause, Execution: m.Execution,
	}, largestPart)
}

// Placement reads one.
func (s placements) Placement(ctx context.Context, k store.PlacementKey) (store.Placement, error) {
	it, err := s.table.find(ctx, placementAt(k), "%s", k)
	if err != nil {
		return store.Placement{}, err
	}
	return readPlacement(ctx, s.table.bodies, it)
}

// ListPlacements lists those of a scope or of a service in it.
func (s placements) ListPlacements(ctx context.Context, scope ref.Scope, service, environment string, page store.Page) ([]store.Placement, string, error) {
	list := placementsPK(scope)
	token := join(list, service, environment)
	after, err := s.table.after(token, page.Token)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	from, to := placementsOf(service)
	if after != "" {
		from = after + "\x00" // a range includes both of its ends
	}
	q := query{pk: list, sk: "sk BETWEEN :from AND :to", values: item{":from": str(from), ":to": str(to)}, limit: limit + 1}
	if environment != "" {
		q.filter, q.values[":environment"] = "#environment = :environment", str(environment)
	}
	found, err := s.table.query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	found, next, err := nextPage(s.table.pages, token, found, limit, func(it item) string { return text(it, "sk") })
	if err != nil {
		return nil, "", err
	}
	placements, err := decodeAll(ctx, s.table.bodies, found, readPlacement)
	return placements, next, err
}

// WatchList lists an account's placements with who watches them: all that it
// needs is in the keys of the index.
func (s placements) WatchList(ctx context.Context, account string, page store.Page) ([]store.WatchedPlacement, string, error) {
	list := watchListPK(account)
	after, err := s.table.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	q := query{index: IndexUnderWay, pk: list, limit: limit + 1}
	if after != "" {
		q.sk, q.values = "sk2 > :after", item{":after": str(after)}
	}
	found, err := s.table.query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	found, next, err := nextPage(s.table.pages, list, found, limit, func(it item) string { return text(it, "sk2") })
	if err != nil {
		return nil, "", err
	}
	out := make([]store.WatchedPlacement, len(found))
	for i, it := range found {
		if out[i].Key, err = placementKey(text(it, "pk"), text(it, "sk")); err != nil {
			return nil, "", err
		}
		if out[i].Watcher, out[i].Fence, err = watcherOf(text(it, "sk2")); err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}

// DeletePlacement forgets one of a version.
func (s placements) DeletePlacement(ctx context.Context, k store.PlacementKey, version int64) error {
	it, err := s.table.get(ctx, placementAt(k))
	if err != nil || it == nil {
		return err
	}
	lost := store.Stale(k.String(), version)
	return again(ctx, func() error {
		return s.table.transact(ctx, s.table.remove(placementAt(k), "#version = :read", item{":read": num(version)}, lost))
	})
}

// ListMoments lists a service's history, newest first.
func (s placements) ListMoments(ctx context.Context, scope ref.Scope, service string, since time.Time, page store.Page) ([]store.Moment, string, error) {
	found, next, err := s.table.newestFirst(ctx, momentsPK(scope, service), since, page)
	if err != nil {
		return nil, "", err
	}
	moments, err := decodeAll(ctx, s.table.bodies, found, func(ctx context.Context, b bodies, it item) (store.Moment, error) {
		var d momentDoc
		if err := b.decode(ctx, it, "doc", &d); err != nil {
			return store.Moment{}, err
		}
		k, err := placementKey(placementsPK(scope), d.Place)
		return store.Moment{
			Key: k, At: fromMillis(number(it, "at")), ID: text(it, "id"), Instances: d.Instances, Versions: d.Versions,
			Artifact: d.Artifact, Cause: d.Cause, Execution: d.Execution,
		}, err
	})
	return moments, next, err
}
