package secret

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// A sealed value is
//
//	magic | key id, 8 bytes | length of the wrapped data key, 2 bytes | wrapped data key | nonce | ciphertext | tag
//
// The data key is this value's own. Another master key, such as one that
// never leaves a key service, only has to wrap and unwrap 32 bytes. Both
// layers are bound to what precedes them and to the entity's key, so that
// nothing of a sealed value can be put in another one's place.
const (
	magic      = "SLS1"
	keyIDSize  = 8
	headerSize = len(magic) + keyIDSize
)

// ErrDamaged is the error of a sealed value that was changed, or that belongs
// to another entity.
var ErrDamaged = errors.New("the sealed value is damaged")

// Seal encrypts the value that belongs to an entity's key. Sealing the same
// value twice gives different bytes.
func (k *Keeper) Seal(ctx context.Context, key store.EntityKey, plaintext []byte) ([]byte, error) {
	dataKey := make([]byte, 32)
	if _, err := rand.Read(dataKey); err != nil {
		return nil, fmt.Errorf("make a data key: %w", err)
	}
	data, err := newAEAD(dataKey)
	if err != nil {
		return nil, err
	}
	id := k.master.ID()
	out := append([]byte(magic), id[:]...)
	wrapped, err := k.master.Wrap(ctx, dataKey, bind(out, key))
	if err != nil {
		return nil, fmt.Errorf("wrap the data key of %s: %w", describe(key), err)
	}
	if len(wrapped) > math.MaxUint16 {
		return nil, fmt.Errorf("the wrapped data key of %s has %d bytes", describe(key), len(wrapped))
	}
	out = binary.BigEndian.AppendUint16(out, uint16(len(wrapped))) //nolint:gosec // checked above
	out = append(out, wrapped...)
	return data.Seal(out, nil, plaintext, bind(out, key)), nil //nolint:gosec // as above
}

// Open decrypts what Seal made for the same entity's key.
func (k *Keeper) Open(ctx context.Context, key store.EntityKey, sealed []byte) ([]byte, error) {
	if len(sealed) < headerSize+2 || string(sealed[:len(magic)]) != magic {
		return nil, fmt.Errorf("open %s: %w: its header is missing", describe(key), ErrDamaged)
	}
	if by := KeyID(sealed[len(magic):headerSize]); by != k.master.ID() {
		return nil, fault.New(fault.Unavailable, "%s was sealed with key %s, but this installation has key %s; restore key %s",
			describe(key), by, k.master.ID(), by)
	}
	size := int(binary.BigEndian.Uint16(sealed[headerSize:]))
	body := headerSize + 2 + size
	if len(sealed) < body {
		return nil, fmt.Errorf("open %s: %w: it ends early", describe(key), ErrDamaged)
	}
	dataKey, err := k.master.Unwrap(ctx, sealed[headerSize+2:body], bind(sealed[:headerSize], key))
	if err != nil {
		return nil, fmt.Errorf("open the data key of %s: %w", describe(key), err)
	}
	data, err := newAEAD(dataKey)
	if err != nil {
		return nil, err
	}
	plaintext, err := data.Open(nil, nil, sealed[body:], bind(sealed[:body], key))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: its content was changed", describe(key), ErrDamaged)
	}
	return plaintext, nil
}

// bind is what a ciphertext is authenticated with: what precedes it and whose
// it is.
func bind(before []byte, key store.EntityKey) []byte {
	owner, err := json.Marshal([]string{key.Scope.Account, key.Scope.Org, key.Scope.Project, string(key.Kind), key.Env, key.ID})
	if err != nil { // strings always encode
		return nil
	}
	return append(append([]byte{}, before...), owner...)
}

// newAEAD is AES-256-GCM that picks its own random nonces.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	return aead, nil
}
