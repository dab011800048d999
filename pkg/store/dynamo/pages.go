package dynamo

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// The bounds of a page (store.Page).
const (
	usualPage   = 50
	largestPage = store.MaxPage
)

func bounded(limit int) int {
	if limit <= 0 {
		return usualPage
	}
	return min(limit, largestPage)
}

// leastPageKey is how many bytes Config.PageKey has at least.
const leastPageKey = 16

// pages are the parts in which lists are given.
type pages struct{ key []byte }

// cipher seals page tokens.
func (p pages) cipher() (cipher.AEAD, error) {
	if n := len(p.key); n < leastPageKey {
		return nil, fmt.Errorf("the key of page tokens has %d bytes, want at least %d", n, leastPageKey)
	}
	secret := sha256.Sum256(p.key)
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// after opens a page token: the place after which the page begins, "" for the
// first one. A token is good for the list only that it was made for.
func (p pages) after(list, token string) (string, error) {
	aead, err := p.cipher()
	if err != nil || token == "" {
		return "", err
	}
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(sealed) < aead.Overhead() {
		return "", badToken()
	}
	place, err := aead.Open(nil, nil, sealed, []byte(list))
	if err != nil {
		return "", badToken()
	}
	return string(place), nil
}

func badToken() error {
	return fault.New(fault.Invalid, "the page token isn't one that this list gave")
}

// newestFirst reads a page of a list whose places are moments: those since a
// time, the newest first, and the token of the next page.
func (t *table) newestFirst(ctx context.Context, list string, since time.Time, page store.Page) ([]item, string, error) {
	before, err := t.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	from, limit := momentText(since, ""), bounded(page.Limit)
	q := query{pk: list, sk: "sk >= :from", values: item{":from": str(from)}, backwards: true, limit: limit + 1}
	if before != "" {
		if before <= from {
			return nil, "", nil
		}
		// The place itself has been given; a range includes both of its ends.
		q.sk, q.values[":before"] = "sk BETWEEN :from AND :before", str(before)
		q.limit++
	}
	found, err := t.query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	if before != "" && len(found) > 0 && text(found[0], "sk") == before {
		found = found[1:]
	}
	return nextPage(t.pages, list, found, limit, func(it item) string { return text(it, "sk") })
}

// nextPage cuts what was read with one more than the page holds, and gives the
// token of the next page if there is one.
func nextPage[T any](p pages, list string, found []T, limit int, placeOf func(T) string) ([]T, string, error) {
	if len(found) <= limit {
		return found, "", nil
	}
	aead, err := p.cipher()
	if err != nil {
		return nil, "", err
	}
	found = found[:limit]
	place := []byte(placeOf(found[limit-1]))
	sealed := aead.Seal(nil, nil, place, []byte(list)) //nolint:gosec // this cipher makes the nonce itself
	return found, base64.RawURLEncoding.EncodeToString(sealed), nil
}
