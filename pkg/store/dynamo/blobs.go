package dynamo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// An item may have 400 KB: one large value, and the rest for all others. What
// there may be more of in an item or a transaction has a smaller part: 90
// nodes change in one, which may have 4 MB.
const (
	largestValue = 350 << 10
	largestPart  = 32 << 10
)

// BlobPrefix is how the keys of all blobs begin: the rights of the functions
// and the bucket's rules are for these (infra).
const BlobPrefix = "blobs/"

// bodies are what items hold, and where it is kept if it is too large for them.
type bodies struct{ blobs Blobs }

// packed is the attribute of a body: the body itself (type B) or, if that has
// more than the given number of bytes, the key of the blob that it is put into
// (type S).
func (b bodies) packed(ctx context.Context, body []byte, most int) (types.AttributeValue, error) {
	if len(body) <= most {
		return bin(body), nil
	}
	return b.outside(ctx, blobKey(body), body)
}

// outside puts a body into a blob.
func (b bodies) outside(ctx context.Context, k string, body []byte) (types.AttributeValue, error) {
	if err := b.blobs.Put(ctx, k, body); err != nil {
		return nil, fmt.Errorf("keep %d bytes outside of the table: %w", len(body), err)
	}
	return str(k), nil
}

// unpacked is the body of an attribute.
func (b bodies) unpacked(ctx context.Context, it item, name string) ([]byte, error) {
	k := text(it, name)
	if k == "" {
		return bytes(it, name), nil
	}
	body, err := b.blobs.Get(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("read the %s of %s: %w", name, text(it, "pk"), err)
	}
	if have := blobKey(body); have != k && !strings.HasPrefix(k, have+ownMark) {
		return nil, fmt.Errorf("the %s of %s was changed: it has the key %s, its content has %s", name, text(it, "pk"), k, have)
	}
	return body, nil
}

func blobKey(body []byte) string {
	sum := sha256.Sum256(body)
	return BlobPrefix + "sha256/" + hex.EncodeToString(sum[:])
}

// ownMark stands in the key of a blob that only one version of one item refers
// to, before what makes it unique.
const ownMark = "-"

// encodeOwn packs JSON that changes again and again, such as a node's state.
// Nothing else has its blob, so that it can go when the item has changed.
func (b bodies) encodeOwn(ctx context.Context, it item, name string, v any, most int) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the %s of %s: %w", name, text(it, "pk"), err)
	}
	it[name], err = b.packedOwn(ctx, doc, most)
	return err
}

// packedOwn is packed with a blob of its own.
func (b bodies) packedOwn(ctx context.Context, body []byte, most int) (types.AttributeValue, error) {
	if len(body) <= most {
		return bin(body), nil
	}
	return b.outside(ctx, blobKey(body)+ownMark+rand.Text(), body)
}

// abandon gives up the blobs of writes that were refused for good: a version
// that has passed doesn't come back. A write whose answer got lost is refused
// when the SDK sends it again, though it was done; so the item as it is decides.
// A blob that stays costs little, and is no reason to fail.
func (t *table) abandon(ctx context.Context, writes ...write) {
	for _, w := range writes {
		at, name, own := w.ownBlob()
		if own == "" {
			continue
		}
		if it, err := t.get(ctx, at); err == nil && text(it, name) != own {
			_ = t.bodies.blobs.Retire(ctx, own) // see above
		}
	}
}

// ownBlob is the blob that a write's item has for itself, with the item's key
// and the attribute that refers to the blob.
func (w write) ownBlob() (at key, name, own string) {
	values, keys := item{}, item{}
	switch {
	case w.Put != nil:
		values, keys = w.Put.Item, w.Put.Item
	case w.Update != nil:
		values, keys = w.Update.ExpressionAttributeValues, w.Update.Key
	}
	for name, v := range values {
		if k, ok := v.(*types.AttributeValueMemberS); ok && strings.HasPrefix(k.Value, BlobPrefix) && strings.Contains(k.Value, ownMark) {
			return key{text(keys, "pk"), text(keys, "sk")}, strings.TrimPrefix(name, ":"), k.Value
		}
	}
	return key{}, "", ""
}

// Superseded are the keys of blobs to which nothing refers since a record of
// the table's stream. A file's content goes on to its past version.
func Superseded(r events.DynamoDBEventRecord) []string {
	before, after := attributes(r.Change.OldImage), attributes(r.Change.NewImage)
	var keys []string
	for _, name := range []string{"doc", "state", "content"} {
		k := text(before, name)
		if name == "content" && strings.HasPrefix(text(before, "pk"), filesPrefix) {
			continue
		}
		if strings.HasPrefix(k, BlobPrefix) && strings.Contains(k, ownMark) && k != text(after, name) {
			keys = append(keys, k)
		}
	}
	return keys
}

// decode reads an attribute that was packed from JSON.
func (b bodies) decode(ctx context.Context, it item, name string, into any) error {
	doc, err := b.unpacked(ctx, it, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(doc, into); err != nil {
		return fmt.Errorf("decode the %s of %s: %w", name, text(it, "pk"), err)
	}
	return nil
}

// encode packs JSON.
func (b bodies) encode(ctx context.Context, it item, name string, v any, most int) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the %s of %s: %w", name, text(it, "pk"), err)
	}
	it[name], err = b.packed(ctx, doc, most)
	return err
}

// decodeAll makes records of items.
func decodeAll[T any](ctx context.Context, b bodies, items []item, decode func(context.Context, bodies, item) (T, error)) ([]T, error) {
	var out []T
	for _, it := range items {
		v, err := decode(ctx, b, it)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
