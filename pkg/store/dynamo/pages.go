package dynamo

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// The bounds of a page (store.Page).
const (
	usualPage   = 50
	largestPage = 500
)

func bounded(limit int) int {
	if limit <= 0 {
		return usualPage
	}
	return min(limit, largestPage)
}

// leastPageKey is how many bytes Config.PageKey has at least.
const leastPageKey = 16

// pageCipher seals page tokens.
func (s *Store) pageCipher() (cipher.AEAD, error) {
	if n := len(s.cfg.PageKey); n < leastPageKey {
		return nil, fmt.Errorf("the key of page tokens has %d bytes, want at least %d", n, leastPageKey)
	}
	secret := sha256.Sum256(s.cfg.PageKey)
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// after opens a page token: the place after which the page begins, "" for the
// first one. A token is good for the list only that it was made for.
func (s *Store) after(list, token string) (string, error) {
	aead, err := s.pageCipher()
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

// nextPage cuts what was read with one more than the page holds, and gives the
// token of the next page if there is one.
func nextPage[T any](s *Store, list string, found []T, limit int, placeOf func(T) string) ([]T, string, error) {
	if len(found) <= limit {
		return found, "", nil
	}
	aead, err := s.pageCipher()
	if err != nil {
		return nil, "", err
	}
	found = found[:limit]
	place := []byte(placeOf(found[limit-1]))
	sealed := aead.Seal(nil, nil, place, []byte(list)) //nolint:gosec // this cipher makes the nonce itself
	return found, base64.RawURLEncoding.EncodeToString(sealed), nil
}
