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
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

const (
	// each year's keys sign for as long, from the same moment in every installation on.
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

// place is where a key is kept: the first of a year is made at its first use,
// the others by hand.
type place struct {
	year int64
	n    int
}

func (p place) String() string {
	if p.n == 0 {
		return fmt.Sprint(p.year)
	}
	return fmt.Sprintf("%d.%d", p.year, p.n)
}

// key is one with which tokens are signed.
type key struct {
	place
	origin

	private *rsa.PrivateKey
	public  Key
}

// origin is what is sealed with a key.
type origin struct {
	Made  time.Time `json:"made"`
	Signs time.Time `json:"signs"` // from then on
	// Alone says that those made before it are known to others.
	Alone bool   `json:"alone,omitempty"`
	Key   []byte `json:"key"` // PKCS #8
}

// year is the number of the year of a time.
func year(now time.Time) int64 { return now.Unix() / int64(each/time.Second) }

// began is when a year's first key begins to sign.
func began(year int64) time.Time { return time.Unix(year*int64(each/time.Second), 0) }

// term is when a key signs, and how long it is published.
type term struct {
	*key

	until, published time.Time
}

// terms says it of keys that are published at a time, in the order in which they
// sign. The keys are whole years', as they were made.
func terms(keys []*key, now time.Time) []term {
	var alone time.Time
	for _, k := range keys {
		if k.Alone && k.Made.After(alone) {
			alone = k.Made
		}
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(k *key) bool { return k.Made.Before(alone) })
	var out []term
	for n, k := range keys {
		until := began(k.year + 1)
		if n+1 < len(keys) {
			until = keys[n+1].Signs
		}
		if published := until.Add(beside); now.Before(published) {
			out = append(out, term{k, until, published})
		}
	}
	return out
}

// published are the keys by which tokens are verified: the one that signs, for a
// while the one before it, and soon the one after it.
func (i *Issuer) published(ctx context.Context, now time.Time) ([]term, error) {
	this := year(now)
	all, err := i.keysOf(ctx, this)
	if err != nil {
		return nil, err
	}
	if now.Before(began(this).Add(beside)) {
		before, err := i.made(ctx, this-1)
		if err != nil {
			return nil, err
		}
		all = append(before, all...)
	}
	if next := this + 1; !now.Before(began(next).Add(-beside)) {
		after, err := i.keysOf(ctx, next)
		if err != nil {
			return nil, err
		}
		all = append(all, after...)
	}
	return terms(all, now), nil
}

// signs is the key that signs at a time.
func (i *Issuer) signs(ctx context.Context, now time.Time) (*key, error) {
	keys, err := i.keysOf(ctx, year(now))
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(terms(keys, now)) {
		if !t.Signs.After(now) {
			return t.key, nil
		}
	}
	return nil, fmt.Errorf("none of the %d keys of tokens signs at %s", len(keys), now)
}

// KeySet are the keys by which tokens are verified. No account is known but the
// issuer's own.
func (i *Issuer) KeySet(ctx context.Context, account string) (KeySet, error) {
	if err := i.own(account); err != nil {
		return KeySet{}, err
	}
	all, err := i.published(ctx, i.Now())
	if err != nil {
		return KeySet{}, err
	}
	set := KeySet{Keys: make([]Key, len(all))}
	for n, t := range all {
		set.Keys[n] = t.public
	}
	return set, nil
}

// Term is when a key signs tokens.
type Term struct {
	ID             string    `json:"id" doc:"The kid of the tokens that it signs"`
	Signs          bool      `json:"signs" doc:"It is the one that signs now"`
	SignsFrom      time.Time `json:"signsFrom"`
	SignsUntil     time.Time `json:"signsUntil"`
	PublishedUntil time.Time `json:"publishedUntil" doc:"It verifies tokens until then"`
}

// Status is what people are told of an issuer.
type Status struct {
	Issuer string `json:"issuer" doc:"The URL that clouds are given, letter by letter"`
	Keys   []Term `json:"keys" nullable:"false" doc:"Those that are published, in the order in which they sign"`
}

// Status tells of the issuer of an account.
func (i *Issuer) Status(ctx context.Context, account string) (Status, error) {
	issuer, err := i.Issuer()
	if err == nil {
		err = i.own(account)
	}
	if err != nil {
		return Status{}, err
	}
	now := i.Now()
	all, err := i.published(ctx, now)
	if err != nil {
		return Status{}, err
	}
	out := Status{Issuer: issuer, Keys: make([]Term, len(all))}
	for n, t := range all {
		out.Keys[n] = Term{
			ID: t.public.ID, Signs: !t.Signs.After(now) && now.Before(t.until),
			SignsFrom: t.Signs.UTC(), SignsUntil: t.until.UTC(), PublishedUntil: t.published.UTC(),
		}
	}
	return out, nil
}

// Rotate makes a new key. It is published at once and signs once everybody has
// read it; the one before it is published for as long again. If that has leaked
// the new one signs at once, and those before it are published no more.
func (i *Issuer) Rotate(ctx context.Context, account string, leaked bool) (Status, error) {
	_, err := i.Issuer()
	if err == nil {
		err = i.own(account)
	}
	if err != nil {
		return Status{}, err
	}
	now := i.Now()
	all, err := i.published(ctx, now)
	if err != nil {
		return Status{}, err
	}
	last := all[len(all)-1]
	if !leaked && last.Signs.After(now) {
		return Status{}, fault.New(fault.Conflict, "the next key, %s, is published already and signs from %s on", last.public.ID, last.Signs.UTC().Format(time.RFC3339))
	}
	o := origin{Made: now, Signs: now.Add(beside), Alone: leaked}
	years := []int64{year(now)}
	if leaked {
		o.Signs = now
		for _, t := range all { // whatever the clocks of other machines are
			if !t.Made.Before(o.Made) {
				o.Made = t.Made.Add(time.Nanosecond)
			}
		}
		if last.year > years[0] { // the next year's has been made, too
			years = append(years, last.year)
		}
		if err := i.leaked(ctx, o.Made); err != nil {
			return Status{}, err
		}
	}
	for _, y := range years {
		made, err := i.made(ctx, y)
		if err != nil {
			return Status{}, err
		}
		o := o
		if start := began(y); o.Signs.Before(start) {
			o.Signs = start
		}
		if _, first, err := i.make(ctx, place{y, len(made)}, o); err != nil {
			return Status{}, err
		} else if !first {
			return Status{}, fault.New(fault.Conflict, "somebody else has made a new key at the same time")
		}
	}
	return i.Status(ctx, account)
}

// keysOf are the keys of a year as they were made. The first is made at its
// first use.
func (i *Issuer) keysOf(ctx context.Context, year int64) ([]*key, error) {
	all, err := i.made(ctx, year)
	if err != nil || len(all) > 0 {
		return all, err
	}
	// Of several that are made at once one is kept, and all use that.
	k, _, err := i.make(ctx, place{year: year}, origin{Made: i.Now(), Signs: began(year)})
	return []*key{k}, err
}

// made are those keys of a year that there are.
func (i *Issuer) made(ctx context.Context, year int64) ([]*key, error) {
	var all []*key
	for at := (place{year: year}); ; at.n++ {
		i.mu.Lock()
		k := i.keys[at]
		i.mu.Unlock()
		if k == nil {
			kept, err := i.Store.Answer(ctx, i.keptAs(at), i.Now())
			if fault.Is(err, fault.NotFound) {
				return all, nil
			}
			if err != nil {
				return nil, fmt.Errorf("read a key of tokens: %w", err)
			}
			if k, err = i.open(ctx, at, kept.Body); err != nil {
				return nil, err
			}
		}
		all = append(all, k)
	}
}

// make makes a key, unless there is one at its place; it says whether this one
// is there now.
func (i *Issuer) make(ctx context.Context, at place, o origin) (*key, bool, error) {
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, false, fmt.Errorf("make a key: %w", err)
	}
	if o.Key, err = x509.MarshalPKCS8PrivateKey(private); err != nil {
		return nil, false, fmt.Errorf("encode a key: %w", err)
	}
	plain, err := json.Marshal(o)
	if err != nil {
		return nil, false, fmt.Errorf("encode a key: %w", err)
	}
	sealed, err := i.Secret.Seal(ctx, i.sealedAs(at), plain)
	if err != nil {
		return nil, false, err
	}
	kept, first, err := i.Store.PutAnswer(ctx, store.Answer{Key: i.keptAs(at), Body: sealed, Expires: began(at.year + 1).Add(beside)})
	if err != nil {
		return nil, false, fmt.Errorf("keep a key: %w", err)
	}
	k, err := i.open(ctx, at, kept.Body)
	return k, first, err
}

// open opens a sealed key. The public one is made of it and never read from
// the store: who could write there could have others published.
func (i *Issuer) open(ctx context.Context, at place, sealed []byte) (*key, error) {
	plain, err := i.Secret.Open(ctx, i.sealedAs(at), sealed)
	if err != nil {
		return nil, err
	}
	k := &key{place: at}
	if json.Unmarshal(plain, &k.origin) != nil { // of a release that made one a year
		k.origin = origin{Made: began(at.year), Signs: began(at.year), Key: plain}
	}
	parsed, err := x509.ParsePKCS8PrivateKey(k.Key)
	if err != nil {
		return nil, fmt.Errorf("decode a key: %w", err)
	}
	private, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key of tokens is a %T; want RSA", parsed)
	}
	k.private = private
	if k.public, err = publish(private); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[at] = k
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

// keptAs is under which key of the store one of ours is. The API's own keys of
// answers are hashes.
func (i *Issuer) keptAs(at place) string { return fmt.Sprintf("issuer of %s, key %s", i.Account, at) }

// sealedAs is whose value a key is, see secret.Keeper.Seal.
func (i *Issuer) sealedAs(at place) store.EntityKey {
	return store.EntityKey{Scope: ref.Scope{Account: i.Account}, Kind: "issuer", ID: at.String()}
}
