package secret

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// keySize is the size of a master key, and of its file.
const keySize = 32

// KeyID tells master keys apart. It says nothing about the key.
type KeyID [keyIDSize]byte

// String is the id in hexadecimal, e.g. "1f0a9c3d5e7b2468".
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// Master wraps the data keys of values. Each wrapped key is bound to whose
// value it is for: unwrapping it for another one fails.
type Master interface {
	// ID tells master keys apart.
	ID() KeyID
	Wrap(ctx context.Context, dataKey, bound []byte) ([]byte, error)
	Unwrap(ctx context.Context, wrapped, bound []byte) ([]byte, error)
	fmt.Stringer // names the key and shows nothing of it
}

// Key is a Master whose key is in a file.
type Key struct {
	id   KeyID
	aead cipher.AEAD
}

// String shows the key's id only.
func (k Key) String() string { return "key " + k.id.String() }

// GoString is String: %#v must not show what is inside either.
func (k Key) GoString() string { return k.String() }

// ID is made of the key by a hash (Master).
func (k Key) ID() KeyID { return k.id }

// Wrap encrypts a data key (Master).
func (k Key) Wrap(_ context.Context, dataKey, bound []byte) ([]byte, error) {
	return k.aead.Seal(nil, nil, dataKey, bound), nil //nolint:gosec // it picks its nonces itself
}

// Unwrap decrypts what Wrap made (Master).
func (k Key) Unwrap(_ context.Context, wrapped, bound []byte) ([]byte, error) {
	dataKey, err := k.aead.Open(nil, nil, wrapped, bound)
	if err != nil {
		return nil, ErrDamaged
	}
	return dataKey, nil
}

func newKey(raw []byte) (Key, error) {
	aead, err := newAEAD(raw)
	if err != nil {
		return Key{}, err
	}
	k := Key{aead: aead}
	sum := sha256.Sum256(append([]byte("slipway master key id\n"), raw...))
	copy(k.id[:], sum[:])
	return k, nil
}

// LoadKey reads a master key from its file, which it makes at the first start.
// The file is all that opens the secrets: without it they are lost, and it is
// refused if others than its owner may read it.
func LoadKey(path string) (Key, error) {
	raw, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKeyFile(path); err != nil {
			return Key{}, fmt.Errorf("make key file: %w", err)
		}
		raw, err = readKeyFile(path)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read key file: %w", err)
	}
	return newKey(raw)
}

func readKeyFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return nil, fmt.Errorf("%s has mode %04o: others may read it; want 0600", path, info.Mode().Perm())
	}
	raw, err := os.ReadFile(path)
	if err == nil && len(raw) != keySize {
		return nil, fmt.Errorf("%s has %d bytes, want %d", path, len(raw), keySize)
	}
	return raw, err
}

// makeKeyFile writes a new key beside path and then links it there, so that
// nobody ever finds half a key and of two starts at once one key stays.
func makeKeyFile(path string) error {
	raw := make([]byte, keySize)
	if _, err := rand.Read(raw); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // the link stays
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a new name in a directory outlive a crash.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
