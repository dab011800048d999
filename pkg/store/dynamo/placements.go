package dynamo

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// placementDoc is what no condition asks a placement for.
type placementDoc struct {
	Deployed store.Deployed `json:"deployed"`
	Look     store.Look     `json:"look"`
	Seen     store.Seen     `json:"seen"`
}

func readPlacement(ctx context.Context, s *Store, it item) (store.Placement, error) {
	k, err := placementKey(text(it, "pk"), text(it, "sk"))
	if err != nil {
		return store.Placement{}, err
	}
	var d placementDoc
	err = s.decode(ctx, it, "doc", &d)
	return store.Placement{
		Key: k, Version: number(it, "version"), Watcher: text(it, "watcher"), Fence: number(it, "fence"),
		Deployed: d.Deployed, Look: d.Look, Seen: d.Seen,
	}, err
}

// SavePlacement writes one of the version that was read.
func (s *Store) SavePlacement(ctx context.Context, p store.Placement, h *store.Moment) (store.Placement, error) {
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
	if err := s.encode(ctx, it, "doc", placementDoc{Deployed: p.Deployed, Look: p.Look, Seen: p.Seen}, largestValue); err != nil {
		return store.Placement{}, err
	}
	writes := []write{s.put(it, condition, values, lost)}
	if h != nil {
		moment, err := s.momentItem(ctx, *h)
		if err != nil {
			return store.Placement{}, err
		}
		writes = append(writes, s.put(moment, "", nil, nil))
	}
	if err := again(ctx, func() error { return s.transact(ctx, writes...) }); err != nil {
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

func (s *Store) momentItem(ctx context.Context, m store.Moment) (item, error) {
	it := momentAt(m).item()
	it["at"], it["id"], it[Expires] = num(millis(m.At)), str(m.ID), num(m.At.Add(store.MomentsKept).Unix())
	return it, s.encode(ctx, it, "doc", momentDoc{
		Place: placementAt(m.Key).sk, Instances: m.Instances, Versions: m.Versions, Artifact: m.Artifact, Cause: m.Cause, Execution: m.Execution,
	}, largestPart)
}

// Placement reads one.
func (s *Store) Placement(ctx context.Context, k store.PlacementKey) (store.Placement, error) {
	it, err := s.find(ctx, placementAt(k), "%s", k)
	if err != nil {
		return store.Placement{}, err
	}
	return readPlacement(ctx, s, it)
}

// ListPlacements lists those of a scope or of a service in it.
func (s *Store) ListPlacements(ctx context.Context, scope ref.Scope, service, environment string, page store.Page) ([]store.Placement, string, error) {
	list := placementsPK(scope)
	token := join(list, service, environment)
	after, err := s.after(token, page.Token)
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
	found, err := s.query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	found, next, err := nextPage(s, token, found, limit, func(it item) string { return text(it, "sk") })
	if err != nil {
		return nil, "", err
	}
	placements, err := decodeAll(ctx, s, found, readPlacement)
	return placements, next, err
}

// WatchList lists an account's placements with who watches them: all that it
// needs is in the keys of the index.
func (s *Store) WatchList(ctx context.Context, account string, page store.Page) ([]store.WatchedPlacement, string, error) {
	list := watchListPK(account)
	after, err := s.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	q := query{index: IndexUnderWay, pk: list, limit: limit + 1}
	if after != "" {
		q.sk, q.values = "sk2 > :after", item{":after": str(after)}
	}
	found, err := s.query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	found, next, err := nextPage(s, list, found, limit, func(it item) string { return text(it, "sk2") })
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
func (s *Store) DeletePlacement(ctx context.Context, k store.PlacementKey, version int64) error {
	it, err := s.get(ctx, placementAt(k))
	if err != nil || it == nil {
		return err
	}
	lost := store.Stale(k.String(), version)
	return again(ctx, func() error {
		return s.transact(ctx, s.remove(placementAt(k), "#version = :read", item{":read": num(version)}, lost))
	})
}

// ListMoments lists a service's history, newest first.
func (s *Store) ListMoments(ctx context.Context, scope ref.Scope, service string, since time.Time, page store.Page) ([]store.Moment, string, error) {
	found, next, err := s.newestFirst(ctx, momentsPK(scope, service), since, page)
	if err != nil {
		return nil, "", err
	}
	moments, err := decodeAll(ctx, s, found, func(ctx context.Context, s *Store, it item) (store.Moment, error) {
		var d momentDoc
		if err := s.decode(ctx, it, "doc", &d); err != nil {
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
