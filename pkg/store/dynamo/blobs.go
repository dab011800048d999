package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// An item may have 400 KB: one large value, and the rest for all others. What
// there may be more of in an item or a transaction has a smaller part: 90
// nodes change in one, which may have 4 MB.
const (
	largestValue = 350 << 10
	largestPart  = 32 << 10
)

// packed is the attribute of a body: the body itself (type B) or, if that has
// more than the given number of bytes, the key of the blob that it is put into
// (type S).
func (s *Store) packed(ctx context.Context, body []byte, most int) (types.AttributeValue, error) {
	if len(body) <= most {
		return bin(body), nil
	}
	k := blobKey(body)
	if err := s.cfg.Blobs.Put(ctx, k, body); err != nil {
		return nil, fmt.Errorf("keep %d bytes outside of the table: %w", len(body), err)
	}
	return str(k), nil
}

// unpacked is the body of an attribute.
func (s *Store) unpacked(ctx context.Context, it item, name string) ([]byte, error) {
	k := text(it, name)
	if k == "" {
		return bytes(it, name), nil
	}
	body, err := s.cfg.Blobs.Get(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("read the %s of %s: %w", name, text(it, "pk"), err)
	}
	if have := blobKey(body); have != k {
		return nil, fmt.Errorf("the %s of %s was changed: it has the key %s, its content has %s", name, text(it, "pk"), k, have)
	}
	return body, nil
}

func blobKey(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256/" + hex.EncodeToString(sum[:])
}

// decode reads an attribute that was packed from JSON.
func (s *Store) decode(ctx context.Context, it item, name string, into any) error {
	doc, err := s.unpacked(ctx, it, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(doc, into); err != nil {
		return fmt.Errorf("decode the %s of %s: %w", name, text(it, "pk"), err)
	}
	return nil
}

// encode packs JSON.
func (s *Store) encode(ctx context.Context, it item, name string, v any, most int) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the %s of %s: %w", name, text(it, "pk"), err)
	}
	it[name], err = s.packed(ctx, doc, most)
	return err
}

// decodeAll makes records of items.
func decodeAll[T any](ctx context.Context, s *Store, items []item, decode func(context.Context, *Store, item) (T, error)) ([]T, error) {
	var out []T
	for _, it := range items {
		v, err := decode(ctx, s, it)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
