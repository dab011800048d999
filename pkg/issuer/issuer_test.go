package issuer_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

// bench is an issuer whose time the test sets.
type bench struct {
	*issuer.Issuer
	store *sqlite.Store
	key   secret.Key

	mu  sync.Mutex
	now time.Time
}

// rotation is when a key's year ends and the next one's begins.
func rotation() time.Time { return time.Unix(57*365*24*60*60, 0) }

func newBench(t *testing.T, now time.Time) *bench {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{now: now}
	if b.store, err = sqlite.New(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if b.key, err = secret.LoadKey(filepath.Join(t.TempDir(), "secret.key")); err != nil {
		t.Fatal(err)
	}
	b.Issuer = b.process()
	return b
}

// process is an issuer over the same store, as another process has.
func (b *bench) process() *issuer.Issuer {
	return issuer.New(issuer.Config{
		URL: "https://slipway.example.com", Account: "default", Store: b.store, Secret: secret.New(b.key, b.store, b.time), Now: b.time,
	})
}

func (b *bench) time() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) set(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = now
}

// published are the keys as a relying party reads them.
func (b *bench) published(t *testing.T) jose.JSONWebKeySet {
	t.Helper()
	set, err := b.KeySet(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	var read jose.JSONWebKeySet
	if err := json.Unmarshal(doc, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func (b *bench) sign(t *testing.T, i identity.Identity) string {
	t.Helper()
	token, err := b.Sign(t.Context(), i, "t1")
	if err != nil {
		t.Fatal(err)
	}
	if token.Good != 15*time.Minute {
		t.Errorf("a token is good for %s", token.Good)
	}
	return token.Text
}

// verify is what a relying party does: it takes RS256 alone, and checks issuer,
// audience and time.
func (b *bench) verify(t *testing.T, text string) (map[string]any, error) {
	t.Helper()
	parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return nil, err
	}
	var claims jwt.Claims
	var all map[string]any
	if err := parsed.Claims(b.published(t), &claims, &all); err != nil {
		return nil, err
	}
	return all, claims.ValidateWithLeeway(jwt.Expected{
		Issuer: "https://slipway.example.com/oidc/account/default", AnyAudience: jwt.Audience{identity.AWSAudience}, Time: b.time(),
	}, 0)
}

func deployer() identity.Identity {
	return identity.Identity{
		Audience: identity.AWSAudience, Subject: "account:default:org:shop:project:web",
		Claims: map[string]string{
			identity.Account: "default", identity.Org: "shop", identity.Project: "web", identity.Environment: "prod", identity.Context: "execution",
		},
		Tags: []string{identity.Environment, identity.Service}, // the task has no service
	}
}

func TestATokenIsVerified(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(30*24*time.Hour))
	got, err := b.verify(t, b.sign(t, deployer()))
	if err != nil {
		t.Fatal(err)
	}
	at := float64(b.time().Unix())
	want := map[string]any{
		"iss": "https://slipway.example.com/oidc/account/default", "sub": "account:default:org:shop:project:web", "aud": "sts.amazonaws.com",
		"jti": "t1", "iat": at, "nbf": at, "exp": at + 900,
		"account_id": "default", "organization_id": "shop", "project_id": "web", "environment_id": "prod", "context": "execution",
		"https://aws.amazon.com/tags": map[string]any{
			"principal_tags": map[string]any{"environment_id": []any{"prod"}}, "transitive_tag_keys": []any{"environment_id"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("claims (-want +got):\n%s", d)
	}
}

// Nothing that is claimed replaces what relying parties go by.
func TestClaimsDontReplaceTheSubject(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation())
	i := deployer()
	for _, name := range []string{"sub", "aud", "iss", "exp", "jti"} {
		i.Claims[name] = "evil"
	}
	got, err := b.verify(t, b.sign(t, i))
	if err != nil || got["sub"] != i.Subject || got["jti"] != "t1" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestATokenEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(30*24*time.Hour))
	text := b.sign(t, deployer())
	for after, good := range map[time.Duration]bool{0: true, 15*time.Minute - time.Second: true, 15*time.Minute + time.Second: false, -time.Second: false} {
		b.set(rotation().Add(30*24*time.Hour + after))
		if _, err := b.verify(t, text); (err == nil) != good {
			t.Errorf("after %s: %v; want that it is good: %t", after, err, good)
		}
	}
}

// Both keys are published for 25 h on both sides of a rotation, and what either
// has signed is verified as long as it is good.
func TestRotation(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(-100*24*time.Hour))
	old := b.published(t).Keys[0].KeyID
	fresh := ""
	for _, at := range []struct {
		after time.Duration
		keys  int
		signs string // old or new
	}{
		{-25*time.Hour - time.Second, 1, "old"},
		{-25 * time.Hour, 2, "old"},
		{-time.Second, 2, "old"},
		{0, 2, "new"},
		{25*time.Hour - time.Second, 2, "new"},
		{25 * time.Hour, 1, "new"},
		{300 * 24 * time.Hour, 1, "new"},
	} {
		b.set(rotation().Add(at.after))
		keys := b.published(t).Keys
		if len(keys) != at.keys {
			t.Fatalf("at %s: %d keys, want %d", at.after, len(keys), at.keys)
		}
		text := b.sign(t, deployer())
		if _, err := b.verify(t, text); err != nil {
			t.Errorf("at %s: %v", at.after, err)
		}
		parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
		if err != nil {
			t.Fatal(err)
		}
		by := parsed.Headers[0].KeyID
		if fresh == "" && by != old {
			fresh = by
		}
		if want := map[string]string{"old": old, "new": fresh}[at.signs]; by != want || want == "" {
			t.Errorf("at %s: signed by %s, want the %s one of %s and %s", at.after, by, at.signs, old, fresh)
		}
		if at.after >= 25*time.Hour && keys[0].KeyID == old {
			t.Errorf("at %s: the old key is published", at.after)
		}
	}
	// What was signed in the last moment of a key is verified as long as it is good.
	b = newBench(t, rotation().Add(-time.Second))
	text := b.sign(t, deployer())
	b.set(rotation().Add(14 * time.Minute))
	if _, err := b.verify(t, text); err != nil {
		t.Error(err)
	}
}

// signer is the id of the key that signs.
func (b *bench) signer(t *testing.T) string {
	t.Helper()
	text := b.sign(t, deployer())
	if _, err := b.verify(t, text); err != nil {
		t.Errorf("at %s: %v", b.time(), err)
	}
	parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Headers[0].KeyID
}

// ids are those of the keys that are published, which is what is told of them.
func (b *bench) ids(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, k := range b.published(t).Keys {
		out = append(out, k.KeyID)
	}
	status, err := b.Status(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, term := range status.Keys {
		told = append(told, term.ID)
		if signs := !term.SignsFrom.After(b.time()) && b.time().Before(term.SignsUntil); term.Signs != signs {
			t.Errorf("at %s: %+v; want that it signs: %t", b.time(), term, signs)
		}
	}
	if d := cmp.Diff(out, told); d != "" {
		t.Errorf("what is told of the keys (-published +told):\n%s", d)
	}
	return out
}

// A key that is made by hand is published for 25 h before it signs, and the one
// before it for 25 h after that. Other processes know without being told.
func TestRotationByHand(t *testing.T) {
	t.Parallel()
	start := rotation().Add(30 * 24 * time.Hour)
	b := newBench(t, start)
	old := b.signer(t)
	made, err := b.process().Rotate(t.Context(), "default", false)
	terms := made.Keys
	if err != nil || len(terms) != 2 || !terms[0].Signs || terms[1].Signs || !terms[1].SignsFrom.Equal(start.Add(25*time.Hour)) {
		t.Fatalf("made %+v, %v", terms, err)
	}
	fresh := terms[1].ID
	if _, err := b.Rotate(t.Context(), "default", false); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), fresh) {
		t.Errorf("before the new key signs another is made: %v", err)
	}
	for _, at := range []struct {
		after time.Duration
		keys  []string
		signs string
	}{
		{0, []string{old, fresh}, old},
		{25*time.Hour - time.Second, []string{old, fresh}, old},
		{25 * time.Hour, []string{old, fresh}, fresh},
		{50*time.Hour - time.Second, []string{old, fresh}, fresh},
		{50 * time.Hour, []string{fresh}, fresh},
		{300 * 24 * time.Hour, []string{fresh}, fresh},
	} {
		b.set(start.Add(at.after))
		if d := cmp.Diff(at.keys, b.ids(t)); d != "" {
			t.Errorf("at %s the keys are (-want +got):\n%s", at.after, d)
		}
		if got := b.signer(t); got != at.signs {
			t.Errorf("at %s %s signs, want %s", at.after, got, at.signs)
		}
	}
	// The year's end makes another, as it would have.
	end := rotation().Add(365 * 24 * time.Hour)
	b.set(end.Add(-time.Hour))
	if _, err := b.Rotate(t.Context(), "default", false); !fault.Is(err, fault.Conflict) {
		t.Errorf("a key is made beside the next year's: %v", err)
	}
	both := b.ids(t)
	if len(both) != 2 || both[0] != fresh || b.signer(t) != fresh {
		t.Errorf("before the year ends the keys are %v", both)
	}
	b.set(end.Add(time.Hour))
	if got := b.ids(t); !cmp.Equal(got, both) || b.signer(t) != both[1] {
		t.Errorf("after the year's end the keys are %v, want %v", got, both)
	}
	b.set(end.Add(25 * time.Hour))
	if got := b.ids(t); !cmp.Equal(got, both[1:]) {
		t.Errorf("a day later the keys are %v, want %v", got, both[1:])
	}
}

// A key that has leaked verifies nothing any more, and neither do those that
// were made with it, at whichever time of the year.
func TestALeakedKey(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Duration{
		"in the middle": 30 * 24 * time.Hour, "before the year ends": -time.Hour, "after it began": time.Hour, "at its beginning": 0,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, rotation().Add(-100*24*time.Hour))
			b.signer(t)
			b.set(rotation().Add(at))
			if name == "in the middle" { // one that waits leaks with the one that signs
				if _, err := b.Rotate(t.Context(), "default", false); err != nil {
					t.Fatal(err)
				}
			}
			leaked := b.ids(t)
			text := b.sign(t, deployer())
			made, err := b.process().Rotate(t.Context(), "default", true)
			if err != nil || !made.Keys[0].Signs {
				t.Fatalf("made %+v, %v", made, err)
			}
			seen := map[string]bool{}
			for _, after := range []time.Duration{0, time.Minute, 2 * time.Hour, 26 * time.Hour, 100 * 24 * time.Hour} {
				b.set(rotation().Add(at + after))
				for _, id := range append(b.ids(t), b.signer(t)) {
					if seen[id] = true; slices.Contains(leaked, id) {
						t.Errorf("after %s the leaked key %s is used", after, id)
					}
				}
			}
			want := 1
			if at < 0 {
				want = 2 // this year's and the next one's
			}
			if len(seen) != want {
				t.Errorf("%d keys were made, want %d", len(seen), want)
			}
			b.set(rotation().Add(at))
			if _, err := b.verify(t, text); err == nil {
				t.Error("what the leaked key has signed is taken for good")
			}
		})
	}
}

// Processes that begin at once, and those that begin later, have one key.
func TestOneKeyIsMade(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(30*24*time.Hour))
	ids := make([]string, 4)
	var all sync.WaitGroup
	for n := range ids {
		p := b.process()
		all.Go(func() {
			set, err := p.KeySet(context.WithoutCancel(t.Context()), "default")
			if err != nil || len(set.Keys) != 1 {
				t.Errorf("%+v, %v", set, err)
				return
			}
			ids[n] = set.Keys[0].ID
		})
	}
	all.Wait()
	for _, id := range append(ids, b.published(t).Keys[0].KeyID) {
		if id == "" || id != ids[0] {
			t.Errorf("the keys are %v", ids)
		}
	}
}

// Where keys are kept nothing can be read of them, and one that somebody put
// there without the installation's key is neither published nor used.
func TestKeysAreSealed(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(30*24*time.Hour))
	b.published(t)
	const name = "issuer of default, key 57"
	kept, err := b.store.Answer(t.Context(), name, b.time())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(kept.Body), "SLS1") || strings.Contains(string(kept.Body), "RSA") {
		t.Errorf("what is kept isn't sealed: %.80q", kept.Body)
	}
	other := newBench(t, rotation().Add(30*24*time.Hour))
	if _, _, err := other.store.PutAnswer(t.Context(), store.Answer{Key: name, Body: kept.Body, Expires: kept.Expires}); err != nil {
		t.Fatal(err)
	}
	if set, err := other.KeySet(t.Context(), "default"); err == nil {
		t.Errorf("a foreign key is published: %+v", set)
	}
	if _, err := other.Sign(t.Context(), deployer(), "t1"); err == nil {
		t.Error("a foreign key signs")
	}
}

// A key that a release without rotation by hand has made still signs.
func TestAKeyOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(-time.Hour))
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := secret.New(b.key, b.store, b.time).Seal(t.Context(), store.EntityKey{Scope: ref.Scope{Account: "default"}, Kind: "issuer", ID: "56"}, plain)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.store.PutAnswer(t.Context(), store.Answer{Key: "issuer of default, key 56", Body: sealed, Expires: rotation().Add(25 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Sign(t.Context(), identity.Identity{Audience: "vault", Subject: "account:default"}, "t1"); err != nil {
		t.Error(err)
	} else if parsed, err := jwt.ParseSigned(got.Text, []jose.SignatureAlgorithm{jose.RS256}); err != nil {
		t.Error(err)
	} else if err := parsed.Claims(&private.PublicKey, &jwt.Claims{}); err != nil {
		t.Errorf("another key signs: %v", err)
	}
}

// A relying party that takes what it is told to take lets none of these in.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(30*24*time.Hour))
	good := strings.Split(b.sign(t, deployer()), ".")
	public := b.published(t).Keys[0]
	encode := base64.RawURLEncoding.EncodeToString
	claims, err := base64.RawURLEncoding.DecodeString(good[1])
	if err != nil {
		t.Fatal(err)
	}
	// The public key as the secret of an HMAC, in the form in which it is published.
	asSecret, err := public.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	hmac, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: jose.JSONWebKey{Key: asSecret, KeyID: public.KeyID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	confused, err := hmac.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := confused.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	foreign := newBench(t, b.time())
	for name, text := range map[string]string{
		"no algorithm":             encode([]byte(`{"alg":"none","kid":"`+public.KeyID+`"}`)) + "." + good[1] + ".",
		"no signature":             good[0] + "." + good[1] + ".",
		"another subject":          good[0] + "." + encode([]byte(strings.Replace(string(claims), "project:web", "project:pay", 1))) + "." + good[2],
		"the public key as HMAC's": compact,
		"another server's key":     foreign.sign(t, deployer()),
	} {
		if got, err := b.verify(t, text); err == nil {
			t.Errorf("%s: taken for good: %v", name, got)
		}
	}
	if d, err := b.Discovery("default"); err != nil || !cmp.Equal(d.Algorithms, []string{"RS256"}) {
		t.Errorf("the algorithms are %v, %v", d.Algorithms, err)
	}
}

func TestWhoHasNoIssuer(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation())
	nameless := issuer.New(issuer.Config{Account: "default", Store: b.store, Now: b.time})
	for name, ask := range map[string]func() error{
		"another account's keys":     func() error { _, err := b.KeySet(t.Context(), "acme"); return err },
		"another account":            func() error { _, err := b.Discovery("acme"); return err },
		"keys of an unnamed server":  func() error { _, err := nameless.KeySet(t.Context(), "default"); return err },
		"an unnamed server":          func() error { _, err := nameless.Discovery("default"); return err },
		"another account's rotation": func() error { _, err := b.Rotate(t.Context(), "acme", true); return err },
		"another account's status":   func() error { _, err := b.Status(t.Context(), "acme"); return err },
		"an account without a name":  func() error { _, err := b.KeySet(t.Context(), ""); return err },
	} {
		if err := ask(); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v; want that there is none", name, err)
		}
	}
	if _, err := nameless.Rotate(t.Context(), "default", false); !fault.Is(err, fault.Unsupported) {
		t.Errorf("a server that doesn't know its URL makes keys: %v", err)
	}
	if _, err := nameless.Sign(t.Context(), deployer(), "t1"); !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "--url") {
		t.Errorf("a server that doesn't know its URL signs: %v", err)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"": true, "https://slipway.example.com": true, "https://slipway.example.com:8443/slipway": true,
		"http://slipway.example.com": false, "https://slipway.example.com/": false, "slipway.example.com": false, "https://": false,
		"https://a@slipway.example.com": false, "https://slipway.example.com?x=1": false, "https://slipway.example.com#x": false,
	} {
		if err := issuer.CheckURL(text); (err == nil) != good {
			t.Errorf("%q: %v; want that it is right: %t", text, err, good)
		}
	}
}
