package issuer

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

const (
	// each key signs for as long, from the same moment in every installation on.
	each = 365 * 24 * time.Hour
	// beside is how long a key is published before it signs and after it did, for
	// those who keep what they have read.
	beside = 25 * time.Hour
	bits   = 2048 // what AWS, Google and Azure take
)

// Key is a public key, as relying parties read it (RFC 7517). A private one has
// no place in it.
type Key struct {
	Type      string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	ID        string `json:"kid"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
}

// KeySet is what relying parties read.
type KeySet struct {
	Keys []Key `json:"keys" nullable:"false"`
}

// key is one with which tokens are signed.
type key struct {
	private *rsa.PrivateKey
	public  Key
}

// year is the number of the key that signs at a time.
func year(now time.Time) int64 { return now.Unix() / int64(each/time.Second) }

// began is when a key begins to sign.
func began(year int64) time.Time { return time.Unix(year*int64(each/time.Second), 0) }

// KeySet are the keys by which tokens are verified: the one that signs, for a
// while the one before it, and soon the one after it. No account is known but
// the issuer's own.
func (i *Issuer) KeySet(ctx context.Context, account string) (KeySet, error) {
	if err := i.own(account); err != nil {
		return KeySet{}, err
	}
	now := i.Now()
	this := year(now)
	k, err := i.key(ctx, this)
	if err != nil {
		return KeySet{}, err
	}
	set := KeySet{Keys: []Key{k.public}}
	if now.Before(began(this).Add(beside)) {
		switch k, err := i.made(ctx, this-1); {
		case err == nil:
			set.Keys = append(set.Keys, k.public)
		case !fault.Is(err, fault.NotFound): // a new installation had none
			return KeySet{}, err
		}
	}
	if next := this + 1; !now.Before(began(next).Add(-beside)) {
		k, err := i.key(ctx, next)
		if err != nil {
			return KeySet{}, err
		}
		set.Keys = append(set.Keys, k.public)
	}
	return set, nil
}

// key is the key of a year, which is made at its first use. Of several that are
// made at once one is kept, and all use that.
func (i *Issuer) key(ctx context.Context, year int64) (*key, error) {
	k, err := i.made(ctx, year)
	if !fault.Is(err, fault.NotFound) {
		return k, err
	}
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	sealed, err := i.Secret.Seal(ctx, i.sealedAs(year), plain)
	if err != nil {
		return nil, err
	}
	kept, _, err := i.Store.PutAnswer(ctx, store.Answer{Key: i.keptAs(year), Body: sealed, Expires: began(year + 1).Add(beside)})
	if err != nil {
		return nil, fmt.Errorf("keep a key: %w", err)
	}
	return i.open(ctx, year, kept.Body)
}

// made is the key of a year if there is one, else fault.NotFound.
func (i *Issuer) made(ctx context.Context, year int64) (*key, error) {
	i.mu.Lock()
	k := i.keys[year]
	i.mu.Unlock()
	if k != nil {
		return k, nil
	}
	kept, err := i.Store.Answer(ctx, i.keptAs(year), i.Now())
	if err != nil {
		return nil, err
	}
	return i.open(ctx, year, kept.Body)
}

// open opens a sealed key. The public one is made of it and never read from
// the store: who could write there could have others published.
func (i *Issuer) open(ctx context.Context, year int64, sealed []byte) (*key, error) {
	plain, err := i.Secret.Open(ctx, i.sealedAs(year), sealed)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(plain)
	if err != nil {
		return nil, fmt.Errorf("decode a key: %w", err)
	}
	private, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key of tokens is a %T; want RSA", parsed)
	}
	k := &key{private: private}
	if k.public, err = publish(private); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[year] = k
	return k, nil
}

// publish gives the public part of a key, under an id that is made of it.
func publish(private *rsa.PrivateKey) (Key, error) {
	public := jose.JSONWebKey{Key: private.Public(), Algorithm: string(jose.RS256), Use: "sig"}
	sum, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return Key{}, fmt.Errorf("name a key: %w", err)
	}
	public.KeyID = base64.RawURLEncoding.EncodeToString(sum)
	doc, err := json.Marshal(public)
	if err != nil {
		return Key{}, fmt.Errorf("encode a key: %w", err)
	}
	var k Key
	return k, json.Unmarshal(doc, &k)
}

// keptAs is under which key of the store a year's key is. The API's own keys of
// answers are hashes.
func (i *Issuer) keptAs(year int64) string {
	return fmt.Sprintf("issuer of %s, key %d", i.Account, year)
}

// sealedAs is whose value a year's key is, see secret.Keeper.Seal.
func (i *Issuer) sealedAs(year int64) store.EntityKey {
	return store.EntityKey{Scope: ref.Scope{Account: i.Account}, Kind: "issuer", ID: strconv.FormatInt(year, 10)}
}
