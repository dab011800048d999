package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func saveCases() []testCase {
	return []testCase{
		{"entities that are saved together are read as they were, with their values and records", savedTogether},
		{"one that is stale keeps all from being saved", staleTogether},
		{"as many as one change takes are saved or none, whoever comes between", raceTogether},
		{"more than one change takes are saved in their order", manyTogether},
		{"references of entities that are saved together guard deletes", referencesTogether},
		{"many are read at once, without those that aren't there", readMany},
	}
}

func (b *bench) saves(all ...store.Entity) []store.Save {
	var out []store.Save
	for _, e := range all {
		out = append(out, store.Save{Entity: e, Audit: b.record(audit.Create, e.Key.ID)})
	}
	return out
}

func savedTogether(b *bench) {
	old := b.save(b.entity(ref.Service, "old"))
	changed := old
	changed.YAML, changed.UpdatedBy = []byte("service: {}\n"), "bob"
	token := b.entity(ref.Secret, "token")
	saves := b.saves(token, b.entity(ref.Pipeline, "deploy", old.Key, token.Key), changed)
	saves[0].Values = []store.Secret{{Key: token.Key, Ciphertext: []byte("sealed"), UpdatedAt: at(1)}}
	saved, err := b.Store.SaveEntities(b.ctx(), saves)
	b.ok(err)
	for i, want := range saves {
		want.Entity.Version++
		same(b, "saved", want.Entity, saved[i])
		read, err := b.Store.Entity(b.ctx(), want.Entity.Key)
		b.ok(err)
		same(b, "read", want.Entity, read)
	}
	v, err := b.Store.Secret(b.ctx(), token.Key)
	b.ok(err)
	same(b, "value", "sealed", string(v.Ciphertext))
	records, err := b.Store.ListAudit(b.ctx(), b.account, 1, 100)
	b.ok(err)
	var ids []string
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	same(b, "audited", []string{"old", "token", "deploy", "old"}, ids)
}

func staleTogether(b *bench) {
	there := b.save(b.entity(ref.Service, "there"))
	again := b.entity(ref.Service, "there") // as if there were none
	saved, err := b.Store.SaveEntities(b.ctx(), b.saves(b.entity(ref.Service, "new"), again))
	b.refused(err, fault.StaleVersion)
	same(b, "saved", nil, saved)
	_, err = b.Store.Entity(b.ctx(), b.key(ref.Service, "new"))
	b.refused(err, fault.NotFound)
	read, err := b.Store.Entity(b.ctx(), there.Key)
	b.ok(err)
	same(b, "read", there, read)
	b.audited(audit.Create)
}

// raceTogether has many save sets that meet in one entity.
func raceTogether(b *bench) {
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		var set []store.Entity
		for n := range 3 {
			set = append(set, b.entity(ref.Service, fmt.Sprintf("s%d_%d", i, n)))
		}
		_, err := b.Store.SaveEntities(b.ctx(), b.saves(append(set, b.entity(ref.Service, "shop"))...))
		return err
	})
	list, _, err := b.Store.ListEntities(b.ctx(), b.scope(), ref.Service, "", store.Page{Limit: 500})
	b.ok(err)
	same(b, "entities", 4, len(list))
	for _, e := range list {
		if e.Key.ID != "shop" && !strings.HasPrefix(e.Key.ID, fmt.Sprintf("s%d_", winner)) {
			b.Errorf("%s is of a set that was refused", e.Key.ID)
		}
	}
}

func manyTogether(b *bench) {
	var set []store.Entity
	for i := range 130 {
		set = append(set, b.entity(ref.Service, fmt.Sprintf("s%03d", i)))
	}
	saved, err := b.Store.SaveEntities(b.ctx(), b.saves(set...))
	b.ok(err)
	same(b, "saved", len(set), len(saved))
	for i, e := range saved {
		same(b, "saved", set[i].Key, e.Key)
	}
	records, err := b.Store.ListAudit(b.ctx(), b.account, 1, 200)
	b.ok(err)
	same(b, "records", len(set), len(records))
	last := set[len(set)-1]
	last.Version = 7
	set[0].Version = 1
	saved, err = b.Store.SaveEntities(b.ctx(), b.saves(set[0], last))
	b.refused(err, fault.StaleVersion)
	same(b, "saved of a set with a stale one", nil, saved)
}

func referencesTogether(b *bench) {
	target := b.save(b.entity(ref.Connector, "git"))
	var set []store.Entity
	for i := range 40 {
		set = append(set, b.entity(ref.Service, fmt.Sprintf("s%02d", i), target.Key, b.key(ref.Secret, fmt.Sprintf("x%d", i))))
	}
	saved, err := b.Store.SaveEntities(b.ctx(), b.saves(set...))
	b.ok(err)
	b.refused(b.Store.DeleteEntity(b.ctx(), target.Key, 1, b.record(audit.Delete, "git")), fault.Referenced)
	who, _, err := b.Store.Referrers(b.ctx(), target.Key, store.Page{Limit: 500})
	b.ok(err)
	same(b, "referrers", 40, len(who))
	who, _, err = b.Store.Referrers(b.ctx(), b.key(ref.Secret, "x39"), store.Page{})
	b.ok(err)
	same(b, "referrers", []store.EntityKey{set[39].Key}, who)
	for i := range saved {
		saved[i].Refs = nil
	}
	_, err = b.Store.SaveEntities(b.ctx(), b.saves(saved...))
	b.ok(err)
	b.ok(b.Store.DeleteEntity(b.ctx(), target.Key, 1, b.record(audit.Delete, "git")))
}

func readMany(b *bench) {
	none, err := b.Store.EntitiesAt(b.ctx(), nil)
	b.ok(err)
	same(b, "none", 0, len(none))
	var want []string
	var keys []store.EntityKey
	for i := range 120 { // more than DynamoDB reads at once
		id := fmt.Sprintf("s%03d", i)
		keys = append(keys, b.key(ref.Service, id))
		if i%2 == 0 {
			b.save(b.entity(ref.Service, id))
			want = append(want, id)
		}
	}
	found, err := b.Store.EntitiesAt(b.ctx(), keys)
	b.ok(err)
	var got []string
	for _, e := range found {
		got = append(got, e.Key.ID)
		same(b, "document", "service:\n  identifier: "+e.Key.ID+"\n", string(e.YAML))
	}
	slices.Sort(got)
	same(b, "found", want, got)
}
