package dynamo

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/store"
)

// secrets is store.Secrets.
type secrets struct{ table *table }

// PutSecret stores a ciphertext over the one before.
func (s secrets) PutSecret(ctx context.Context, v store.Secret) error {
	it, err := secretItem(ctx, s.table.bodies, v)
	if err != nil {
		return err
	}
	_, _, err = s.table.place(ctx, it, "")
	return err
}

func secretItem(ctx context.Context, b bodies, v store.Secret) (item, error) {
	it := secretAt(v.Key).item()
	it["updated"] = num(millis(v.UpdatedAt))
	var err error
	it["ciphertext"], err = b.packed(ctx, v.Ciphertext, largestValue)
	return it, err
}

// Secret reads one.
func (s secrets) Secret(ctx context.Context, k store.EntityKey) (store.Secret, error) {
	it, err := s.table.find(ctx, secretAt(k), "the value of %s", k.Describe())
	if err != nil {
		return store.Secret{}, err
	}
	v := store.Secret{Key: k, UpdatedAt: fromMillis(number(it, "updated"))}
	v.Ciphertext, err = s.table.unpacked(ctx, it, "ciphertext")
	return v, err
}
