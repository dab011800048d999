package storetest

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func secretCases() []testCase {
	return []testCase{
		{"a ciphertext is read as it was", putSecret},
		{"a deleted ciphertext is gone", deleteSecret},
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

func deleteSecret(b *bench) {
	v := store.Secret{Key: b.key(ref.Secret, "token"), Ciphertext: []byte("x"), UpdatedAt: at(1)}
	b.ok(b.Store.PutSecret(b.ctx(), v))
	for range 2 {
		b.ok(b.Store.DeleteSecret(b.ctx(), v.Key))
	}
	_, err := b.Store.Secret(b.ctx(), v.Key)
	b.refused(err, fault.NotFound)
}
