package dynamo

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/store"
)

// PutSecret stores a ciphertext over the one before.
func (s *Store) PutSecret(ctx context.Context, v store.Secret) error {
	it, err := s.secretItem(ctx, v)
	if err != nil {
		return err
	}
	_, _, err = s.place(ctx, it, "")
	return err
}

func (s *Store) secretItem(ctx context.Context, v store.Secret) (item, error) {
	it := secretAt(v.Key).item()
	it["updated"] = num(millis(v.UpdatedAt))
	var err error
	it["ciphertext"], err = s.packed(ctx, v.Ciphertext, largestValue)
	return it, err
}

// Secret reads one.
func (s *Store) Secret(ctx context.Context, k store.EntityKey) (store.Secret, error) {
	it, err := s.find(ctx, secretAt(k), "the value of %s", k.Describe())
	if err != nil {
		return store.Secret{}, err
	}
	v := store.Secret{Key: k, UpdatedAt: fromMillis(number(it, "updated"))}
	v.Ciphertext, err = s.unpacked(ctx, it, "ciphertext")
	return v, err
}
