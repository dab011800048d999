package storetest

import (
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func secretCases() []testCase {
	return []testCase{
		{"a ciphertext is read as it was", putSecret},
		{"a ciphertext comes and goes with its secret", func(b *bench) { secretWithEntity(b, b.entity(ref.Secret, "token")) }},
		{"what is kept apart of a document comes and goes with it", func(b *bench) {
			e := b.entity(ref.GitOpsRepository, "token")
			e.Key.Env = "eu1"
			secretWithEntity(b, e)
		}},
	}
}

func putSecret(b *bench) {
	v := store.Secret{Key: b.key(ref.Secret, "token"), Ciphertext: []byte("\x00\xff bytes"), UpdatedAt: at(1)}
	_, err := b.Store.Secret(b.ctx(), v.Key)
	b.refused(err, fault.NotFound)
	b.ok(b.Store.PutSecret(b.ctx(), v))
	got, err := b.Store.Secret(b.ctx(), v.Key)
	b.ok(err)
	same(b, "read", v, got)
	v.Ciphertext, v.UpdatedAt = []byte("new"), at(2)
	b.ok(b.Store.PutSecret(b.ctx(), v))
	got, err = b.Store.Secret(b.ctx(), v.Key)
	b.ok(err)
	same(b, "read after the second", v, got)
	elsewhere := v.Key
	elsewhere.Scope.Project = ""
	_, err = b.Store.Secret(b.ctx(), elsewhere)
	b.refused(err, fault.NotFound)
}

// secretWithEntity: of two saves that race, the value of the one that lost
// isn't kept.
func secretWithEntity(b *bench, e store.Entity) {
	value := func(text string) store.Secret {
		return store.Secret{Key: e.Key, Ciphertext: []byte(text), UpdatedAt: at(1)}
	}
	saved, err := b.Store.SaveEntity(b.ctx(), e, b.record(audit.Create, "token"), value("first"))
	b.ok(err)
	_, err = b.Store.SaveEntity(b.ctx(), e, b.record(audit.Create, "token"), value("late"))
	b.refused(err, fault.StaleVersion)
	got, err := b.Store.Secret(b.ctx(), e.Key)
	b.ok(err)
	same(b, "after the race", value("first"), got)
	saved, err = b.Store.SaveEntity(b.ctx(), saved, b.record(audit.Update, "token"), value("second"))
	b.ok(err)
	saved, err = b.Store.SaveEntity(b.ctx(), saved, b.record(audit.Update, "token"))
	b.ok(err)
	got, err = b.Store.Secret(b.ctx(), e.Key)
	b.ok(err)
	same(b, "after a change of the document alone", value("second"), got)
	b.ok(b.Store.DeleteEntity(b.ctx(), e.Key, saved.Version, b.record(audit.Delete, "token")))
	_, err = b.Store.Secret(b.ctx(), e.Key)
	b.refused(err, fault.NotFound)
}
