package issuer

import (
	"context"
	"crypto"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/attest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Attestations of approvals are signed by the keys that sign tokens, and are read
// for longer than those are kept. So the public part of each key that has signed
// one is listed for good, sealed as the keys are: who writes to the store can't
// have another one trusted.

// keptFor is how long a public key is listed: longer than anything is audited.
const keptFor = 30 * 365 * 24 * time.Hour

// listed is an entry of the list: a key that has signed attestations, or that all
// which were made before a time have leaked.
type listed struct {
	Made   time.Time        `json:"made"`
	Leaked bool             `json:"leaked,omitempty"` // those made before
	Key    attest.PublicKey `json:"key"`
}

// SignDigest signs a SHA-256 digest by the key that signs now.
func (i *Issuer) SignDigest(ctx context.Context, sum []byte) (signature []byte, keyID string, err error) {
	k, err := i.signs(ctx, i.Now())
	if err != nil {
		return nil, "", err
	}
	if err := i.list(ctx, k); err != nil {
		return nil, "", err
	}
	signature, err = rsa.SignPKCS1v15(nil, k.private, crypto.SHA256, sum)
	if err != nil {
		return nil, "", fmt.Errorf("sign an attestation: %w", err)
	}
	return signature, k.public.ID, nil
}

// list lists a key, once.
func (i *Issuer) list(ctx context.Context, k *key) error {
	i.mu.Lock()
	known := i.attesting[k.public.ID]
	i.mu.Unlock()
	if known {
		return nil
	}
	entry := listed{Made: k.Made, Key: attest.PublicKey{ID: k.public.ID, Type: k.public.Type, Modulus: k.public.Modulus, Exponent: k.public.Exponent}}
	if err := i.enter(ctx, entry, func(l listed) bool { return l.Key.ID == entry.Key.ID }); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.attesting[k.public.ID] = true
	return nil
}

// enter adds an entry at the end of the list, unless one there is the same.
func (i *Issuer) enter(ctx context.Context, entry listed, same func(listed) bool) error {
	plain, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode a public key: %w", err)
	}
	for n := 0; ; n++ {
		there, err := i.listedAt(ctx, n)
		if fault.Is(err, fault.NotFound) {
			sealed, err := i.Secret.Seal(ctx, i.listedAs(n), plain)
			if err != nil {
				return err
			}
			_, first, err := i.Store.PutAnswer(ctx, store.Answer{Key: i.listedKey(n), Body: sealed, Expires: i.Now().Add(keptFor)})
			if err != nil {
				return fmt.Errorf("list a public key: %w", err)
			}
			if first {
				return nil
			}
			there, err = i.listedAt(ctx, n) // another was quicker
			if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		if same(there) {
			return nil
		}
	}
}

func (i *Issuer) listedAt(ctx context.Context, n int) (listed, error) {
	kept, err := i.Store.Answer(ctx, i.listedKey(n), i.Now())
	if err != nil {
		return listed{}, err
	}
	plain, err := i.Secret.Open(ctx, i.listedAs(n), kept.Body)
	if err != nil {
		return listed{}, err
	}
	var l listed
	if err := json.Unmarshal(plain, &l); err != nil {
		return listed{}, fmt.Errorf("decode public key %d: %w", n, err)
	}
	return l, nil
}

// leaked lists that all keys which were made before a time are others', too.
func (i *Issuer) leaked(ctx context.Context, before time.Time) error {
	return i.enter(ctx, listed{Made: before, Leaked: true}, func(l listed) bool { return l.Leaked && !l.Made.Before(before) })
}

// Attesting are the keys by which attestations are verified, in the order in which
// they signed first.
func (i *Issuer) Attesting(ctx context.Context) (attest.Trusted, error) {
	out := attest.Trusted{Keys: []attest.PublicKey{}}
	var made []time.Time
	var leaked time.Time // those that were made before
	for n := 0; ; n++ {
		l, err := i.listedAt(ctx, n)
		if fault.Is(err, fault.NotFound) {
			break
		}
		if err != nil {
			return attest.Trusted{}, err
		}
		if l.Leaked {
			leaked = l.Made
			continue
		}
		out.Keys, made = append(out.Keys, l.Key), append(made, l.Made)
	}
	for at := range out.Keys {
		out.Keys[at].Leaked = made[at].Before(leaked)
	}
	return out, nil
}

// listedKey is under which key of the store an entry is, and listedAs whose value
// it is, see secret.Keeper.Seal.
func (i *Issuer) listedKey(n int) string {
	return fmt.Sprintf("attestations of %s, key %d", i.Account, n)
}

func (i *Issuer) listedAs(n int) store.EntityKey {
	return store.EntityKey{Scope: ref.Scope{Account: i.Account}, Kind: "attestation", ID: fmt.Sprint(n)}
}
