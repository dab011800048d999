package login

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
)

const (
	// term is how long a pair of keys is the one that signs, from the same moment in
	// every installation on, and after how long it reads what is encrypted for it.
	// Its certificate is good for both.
	term, after = 4 * 365 * 24 * time.Hour, 365 * 24 * time.Hour
	// soon is how long the next pair is published before.
	soon = 90 * 24 * time.Hour
	// pairBits is what providers take.
	pairBits = 2048
)

// Pair is a key by which a provider of SAML knows Slipway, with its certificate: it
// signs requests, and reads what is encrypted for Slipway.
type Pair struct {
	Key         *rsa.PrivateKey
	Certificate *x509.Certificate
	// Past says that it reads, and that nothing is to be signed or encrypted by it
	// any more.
	Past bool
}

// Pairs gives those for a provider: first the one that signs now, then the next one,
// once that is to be published, and the one before, while it still reads.
type Pairs func(ctx context.Context) ([]Pair, error)

// keyring keeps pairs, each of which is made when it is first needed.
type keyring struct {
	account string
	store   store.Keys
	secret  *secret.Keeper
	now     func() time.Time
}

func (d *Desk) pairs(p sso.Provider, made time.Time) Pairs {
	k := keyring{d.Account, d.Store.Keys, d.Secret, d.Now}
	of := fmt.Sprintf("%s %d", p.ID, made.UnixMilli()) // another of that name has others
	return func(ctx context.Context) ([]Pair, error) { return k.pairs(ctx, of) }
}

func (k keyring) pairs(ctx context.Context, of string) ([]Pair, error) {
	now := k.now()
	number := now.Unix() / int64(term/time.Second)
	began := time.Unix(number*int64(term/time.Second), 0)
	signs, err := k.pair(ctx, of, number)
	if err != nil {
		return nil, err
	}
	out := []Pair{signs}
	if !now.Before(began.Add(term - soon)) {
		next, err := k.pair(ctx, of, number+1)
		if err != nil {
			return nil, err
		}
		out = append(out, next)
	}
	if now.Before(began.Add(after)) {
		before, err := k.kept(ctx, of, number-1)
		if err == nil {
			before.Past = true
			out = append(out, before)
		} else if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	return out, nil
}

// sealedPair is what is kept of a pair.
type sealedPair struct {
	Key         []byte `json:"key"` // PKCS #8
	Certificate []byte `json:"certificate"`
}

// pair is the pair of a number, which is made if there is none. Of several that are
// made at once one is kept.
func (k keyring) pair(ctx context.Context, of string, number int64) (Pair, error) {
	found, err := k.kept(ctx, of, number)
	if !fault.Is(err, fault.NotFound) {
		return found, err
	}
	key, err := rsa.GenerateKey(rand.Reader, pairBits)
	if err != nil {
		return Pair{}, fmt.Errorf("make a key: %w", err)
	}
	began := time.Unix(number*int64(term/time.Second), 0)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: "Slipway"}, NotBefore: began.Add(-soon), NotAfter: began.Add(term + after),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
	var p sealedPair
	if p.Certificate, err = x509.CreateCertificate(rand.Reader, about, about, key.Public(), key); err != nil {
		return Pair{}, fmt.Errorf("make a certificate: %w", err)
	}
	if p.Key, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return Pair{}, fmt.Errorf("encode a key: %w", err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return Pair{}, errors.New("a key can't be encoded") // the error could say what is in it
	}
	sealed, err := k.secret.Seal(ctx, k.sealedAs(of, number), text)
	if err != nil {
		return Pair{}, err
	}
	if _, _, err = k.store.PutAnswer(ctx, store.Answer{Key: k.keptAs(of, number), Body: sealed, Expires: about.NotAfter}); err != nil {
		return Pair{}, fmt.Errorf("keep a key: %w", err)
	}
	return k.kept(ctx, of, number)
}

// kept is a pair that there is.
func (k keyring) kept(ctx context.Context, of string, number int64) (Pair, error) {
	found, err := k.store.Answer(ctx, k.keptAs(of, number), k.now())
	if err != nil {
		return Pair{}, err
	}
	text, err := k.secret.Open(ctx, k.sealedAs(of, number), found.Body)
	if err != nil {
		return Pair{}, err
	}
	var p sealedPair
	if json.Unmarshal(text, &p) != nil {
		return Pair{}, fault.New(fault.Internal, "the key for the login provider can't be read")
	}
	key, err := x509.ParsePKCS8PrivateKey(p.Key)
	if err != nil {
		return Pair{}, fault.New(fault.Internal, "the key for the login provider can't be read")
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return Pair{}, fault.New(fault.Internal, "the key for the login provider isn't one of RSA")
	}
	certificate, err := x509.ParseCertificate(p.Certificate)
	if err != nil {
		return Pair{}, fmt.Errorf("read the certificate for the login provider: %w", err)
	}
	return Pair{Key: private, Certificate: certificate}, nil
}

func (k keyring) keptAs(of string, number int64) string {
	return fmt.Sprintf("login key of %s, %s, %d", k.account, of, number)
}

func (k keyring) sealedAs(of string, number int64) store.EntityKey {
	return store.EntityKey{Scope: ref.Scope{Account: k.account}, Kind: "loginKey", ID: fmt.Sprintf("%s %d", of, number)}
}
