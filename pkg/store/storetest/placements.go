package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

func placementCases() []testCase {
	return []testCase{
		{"a placement is read as it was saved", savePlacement},
		{"a large placement is read as it was saved", saveLargePlacement},
		{"of many who save the same version of a placement one wins", racePlacement},
		{"placements are listed by scope, service and environment", listPlacements},
		{"the watch list has every placement of the account with its watcher", watchList},
		{"a placement is deleted in the version that was read", deletePlacement},
		{"a service's history is listed newest first", listMoments},
		{"a save that is refused leaves no history", refusedMoment},
	}
}

func (b *bench) placement(service, environment, target string) store.Placement {
	replicas := int64(2)
	return store.Placement{
		Key: store.PlacementKey{Scope: b.scope(), Service: service, Environment: environment, Infrastructure: "cluster", Target: target},
		Deployed: store.Deployed{
			Artifact: "registry.example.com/web:2", Previous: "registry.example.com/web:1", Release: "web", Namespace: "shop", Revision: "7",
			Action: "applied", Pipeline: "deploy", Execution: "x1", Stage: "pipeline.stages.prod", Node: "pipeline.stages.prod.steps.roll",
			Actor: "ann", At: at(1), Task: "t1", TaskAt: at(0),
			Workloads: []task.Workload{{Resource: "apps/Deployment/shop/web", Images: []string{"registry.example.com/web:2"}, Replicas: &replicas}},
		},
		Look: store.Look{
			Kind: "kubernetes", Place: json.RawMessage(`{"cluster":{"url":"https://k8s","token":"((s1))"},"pods":[{"namespace":"shop","selector":"harness.io/release-name=web"}]}`),
			Secrets: map[string]string{"((s1))": "project/token"}, Selectors: []string{"prod"},
		},
		Seen: store.Seen{Instances: []task.Instance{{Name: "web-1", Namespace: "shop", Since: at(1), Ready: true, Properties: map[string]string{"zone": "a"}}}, At: at(2)},
	}
}

func savePlacement(b *bench) {
	p := b.placement("web", "prod", "kubernetes:shop/web")
	_, err := b.Store.Placement(b.ctx(), p.Key)
	b.refused(err, fault.NotFound)
	saved, err := b.Store.SavePlacement(b.ctx(), p, nil)
	b.ok(err)
	p.Version = 1
	same(b, "what is given back", p, saved)
	saved.Watcher, saved.Fence, saved.Seen.Instances, saved.Seen.EmptySince, saved.Seen.Trouble = "d1", 3, nil, at(9), "out of reach"
	saved, err = b.Store.SavePlacement(b.ctx(), saved, nil)
	b.ok(err)
	got, err := b.Store.Placement(b.ctx(), p.Key)
	b.ok(err)
	same(b, "placement", saved, got)
	same(b, "version", 2, got.Version)
	_, err = b.Store.SavePlacement(b.ctx(), p, nil)
	b.refused(err, fault.StaleVersion)
	p.Version = 0
	_, err = b.Store.SavePlacement(b.ctx(), p, nil)
	b.refused(err, fault.StaleVersion)
}

func saveLargePlacement(b *bench) {
	p := b.placement("web", "prod", "kubernetes:shop/web")
	for i := range task.MaxInstances {
		p.Seen.Instances = append(p.Seen.Instances, task.Instance{Name: fmt.Sprintf("web-%d-%s", i, strings.Repeat("x", 200)), Namespace: "shop"})
	}
	saved, err := b.Store.SavePlacement(b.ctx(), p, nil)
	b.ok(err)
	got, err := b.Store.Placement(b.ctx(), p.Key)
	b.ok(err)
	same(b, "placement", saved, got)
}

func racePlacement(b *bench) {
	p, err := b.Store.SavePlacement(b.ctx(), b.placement("web", "prod", "kubernetes:shop/web"), nil)
	b.ok(err)
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		mine := p
		mine.Watcher = fmt.Sprint("d", i)
		_, err := b.Store.SavePlacement(b.ctx(), mine, nil)
		return err
	})
	got, err := b.Store.Placement(b.ctx(), p.Key)
	b.ok(err)
	same(b, "watcher", fmt.Sprint("d", winner), got.Watcher)
}

// placements are in the order of lists.
func (b *bench) placements() []store.Placement {
	var out []store.Placement
	for _, p := range []store.Placement{
		b.placement("account.web", "prod", "kubernetes:shop/w"), b.placement("web", "prod", "kubernetes:shop/a#b"), b.placement("web", "prod", "kubernetes:shop/web"),
		b.placement("web", "qa", "kubernetes:qa/web"), b.placement("web2", "prod", "kubernetes:shop/web2"),
	} {
		saved, err := b.Store.SavePlacement(b.ctx(), p, nil)
		b.ok(err)
		out = append(out, saved)
	}
	other := b.placement("web", "prod", "kubernetes:shop/web")
	other.Key.Scope.Project = "web2"
	_, err := b.Store.SavePlacement(b.ctx(), other, nil)
	b.ok(err)
	return out
}

func listPlacements(b *bench) {
	all := b.placements()
	for _, c := range []struct {
		service, environment string
		want                 []store.Placement
	}{
		{"", "", all}, {"web", "", all[1:4]}, {"web", "prod", all[1:3]}, {"", "qa", all[3:4]}, {"we", "", nil}, {"web", "dev", nil},
	} {
		for size := 1; size <= len(all); size++ {
			var got []store.Placement
			for page := (store.Page{Limit: size}); ; {
				part, next, err := b.Store.ListPlacements(b.ctx(), b.scope(), c.service, c.environment, page)
				b.ok(err)
				got = append(got, part...)
				if next == "" {
					break
				}
				same(b, "placements of a page that isn't the last", size, len(part))
				page.Token = next
			}
			same(b, fmt.Sprintf("placements of %q in %q, %d to a page", c.service, c.environment, size), c.want, got)
		}
	}
}

func watchList(b *bench) {
	all := b.placements()
	type watcher struct {
		Delegate string
		Fence    int64
	}
	want := map[store.PlacementKey]watcher{}
	for i, p := range all {
		p.Watcher, p.Fence = fmt.Sprint("d", i), int64(i)
		_, err := b.Store.SavePlacement(b.ctx(), p, nil)
		b.ok(err)
		want[p.Key] = watcher{p.Watcher, p.Fence}
	}
	other := all[2].Key
	other.Scope.Project = "web2"
	want[other] = watcher{}
	for _, size := range []int{2, 100} {
		got := map[store.PlacementKey]watcher{}
		for page := (store.Page{Limit: size}); ; {
			part, next, err := b.Store.WatchList(b.ctx(), b.account, page)
			b.ok(err)
			for _, w := range part {
				got[w.Key] = watcher{w.Watcher, w.Fence}
			}
			if page.Token = next; next == "" {
				break
			}
		}
		same(b, "watch list", want, got)
	}
}

func deletePlacement(b *bench) {
	p, err := b.Store.SavePlacement(b.ctx(), b.placement("web", "prod", "kubernetes:shop/web"), nil)
	b.ok(err)
	b.refused(b.Store.DeletePlacement(b.ctx(), p.Key, p.Version+1), fault.StaleVersion)
	b.ok(b.Store.DeletePlacement(b.ctx(), p.Key, p.Version))
	b.ok(b.Store.DeletePlacement(b.ctx(), p.Key, p.Version))
	_, err = b.Store.Placement(b.ctx(), p.Key)
	b.refused(err, fault.NotFound)
	list, _, err := b.Store.WatchList(b.ctx(), b.account, store.Page{})
	b.ok(err)
	same(b, "watch list", nil, list)
}

func (b *bench) moment(p store.Placement, id string, seconds, instances int) store.Moment {
	return store.Moment{
		Key: p.Key, At: at(seconds), ID: id, Instances: instances, Versions: map[string]int{"web:2": instances}, Artifact: "web:2", Cause: "applied", Execution: "x1",
	}
}

func listMoments(b *bench) {
	p, q := b.placement("web", "prod", "kubernetes:shop/web"), b.placement("web", "qa", "kubernetes:qa/web")
	var want []store.Moment
	for i, to := range []*store.Placement{&p, &q, &p, &p} {
		m := b.moment(*to, fmt.Sprint("m", i), i, i)
		saved, err := b.Store.SavePlacement(b.ctx(), *to, &m)
		b.ok(err)
		*to = saved
		want = append(want, m)
	}
	slices.Reverse(want)
	for size := 1; size <= len(want)+1; size++ {
		var got []store.Moment
		for page := (store.Page{Limit: size}); ; {
			part, next, err := b.Store.ListMoments(b.ctx(), b.scope(), "web", time.Time{}, page)
			b.ok(err)
			got = append(got, part...)
			if page.Token = next; next == "" {
				break
			}
		}
		same(b, "history", want, got)
	}
	got, _, err := b.Store.ListMoments(b.ctx(), b.scope(), "web", at(2), store.Page{})
	b.ok(err)
	same(b, "history since", want[:2], got)
}

func refusedMoment(b *bench) {
	p := b.placement("web", "prod", "kubernetes:shop/web")
	p.Version = 4
	m := b.moment(p, "m", 1, 1)
	_, err := b.Store.SavePlacement(b.ctx(), p, &m)
	b.refused(err, fault.StaleVersion)
	got, _, err := b.Store.ListMoments(b.ctx(), b.scope(), "web", time.Time{}, store.Page{})
	b.ok(err)
	same(b, "history", nil, got)
}
