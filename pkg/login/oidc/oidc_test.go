package oidc_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-cd/slipway/internal/testservers/idp"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/login/oidc"
)

// desk is a client and a provider.
type desk struct {
	*testing.T
	idp    *idp.Provider
	client *oidc.Client
	now    time.Time
}

func setup(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, idp: idp.New(t), now: time.Now()}
	d.client = oidc.New(true, func() time.Time { return d.now })
	d.idp.Person(idp.Claims{"sub": "ada-1", "email": "ada@example.com", "groups": []string{"devs"}})
	return d
}

func (d *desk) provider() sso.Provider {
	return sso.Provider{ID: "corp", Issuer: d.idp.URL, ClientID: idp.ClientID, CLIClientID: idp.CLIClientID, EmailClaim: "email", GroupsClaim: "groups"}
}

func attempt() login.Attempt {
	return login.Attempt{State: "state", Nonce: "nonce", Verifier: strings.Repeat("v", 43), Redirect: "http://127.0.0.1:8484/v1/login/oidc/corp/callback"}
}

// code is one that the provider gives for an attempt.
func (d *desk) code(a login.Attempt) string {
	d.Helper()
	at, err := d.client.Begin(d.Context(), d.provider(), a)
	if err != nil {
		d.Fatal(err)
	}
	r, err := http.NewRequestWithContext(d.Context(), http.MethodGet, at, nil)
	if err != nil {
		d.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		d.Fatal(err)
	}
	_ = resp.Body.Close()
	to, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		d.Fatal(err)
	}
	if to.Query().Get("state") != a.State {
		d.Errorf("the provider sends to %s", to)
	}
	return to.Query().Get("code")
}

func (d *desk) redeem() (login.Claims, error) {
	d.Helper()
	return d.client.Redeem(d.Context(), d.provider(), idp.ClientSecret, d.code(attempt()), attempt())
}

func (d *desk) want(f login.Failure, err error) {
	d.Helper()
	var r *login.Refusal
	if !errors.As(err, &r) || r.Failure != f {
		d.Errorf("got %v; want %s", err, f)
	} else if strings.Contains(err.Error(), idp.ClientSecret) {
		d.Errorf("the error tells the secret: %v", err)
	}
}

func TestAProviderSaysWhoSomebodyIs(t *testing.T) {
	t.Parallel()
	for _, alg := range []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA} {
		d := setup(t)
		d.idp.Rotate(alg)
		c, err := d.redeem()
		if err != nil || c.Subject != "ada-1" || c.All["email"] != "ada@example.com" {
			t.Errorf("%s: got %+v, %v", alg, c, err)
		}
	}
}

// oidc_wrong_nonce_aud_iss_alg_none_each_refused
func TestTokensThatProveNothing(t *testing.T) {
	t.Parallel()
	bend := func(f func(d *desk, c idp.Claims)) func(d *desk) {
		return func(d *desk) { d.idp.Bend(func(c idp.Claims) { f(d, c) }) }
	}
	forge := func(f func(d *desk, c idp.Claims) string) func(d *desk) {
		return func(d *desk) { d.idp.Forge(func(c idp.Claims) string { return f(d, c) }) }
	}
	for name, evil := range map[string]func(d *desk){
		"wrong nonce":       bend(func(_ *desk, c idp.Claims) { c["nonce"] = "other" }),
		"no nonce":          bend(func(_ *desk, c idp.Claims) { delete(c, "nonce") }),
		"wrong aud":         bend(func(_ *desk, c idp.Claims) { c["aud"] = "other" }),
		"no aud":            bend(func(_ *desk, c idp.Claims) { delete(c, "aud") }),
		"many aud, no azp":  bend(func(_ *desk, c idp.Claims) { c["aud"] = []string{idp.ClientID, "other"} }),
		"wrong azp":         bend(func(_ *desk, c idp.Claims) { c["azp"] = "other" }),
		"wrong iss":         bend(func(_ *desk, c idp.Claims) { c["iss"] = "https://evil.example" }),
		"nobody":            bend(func(_ *desk, c idp.Claims) { delete(c, "sub") }),
		"expired":           bend(func(d *desk, c idp.Claims) { c["exp"] = d.now.Add(-time.Minute).Unix() }),
		"no exp":            bend(func(_ *desk, c idp.Claims) { delete(c, "exp") }),
		"made later":        bend(func(d *desk, c idp.Claims) { c["iat"] = d.now.Add(2 * time.Minute).Unix() }),
		"no iat":            bend(func(_ *desk, c idp.Claims) { delete(c, "iat") }),
		"not yet":           bend(func(d *desk, c idp.Claims) { c["nbf"] = d.now.Add(time.Hour).Unix() }),
		"no token":          forge(func(*desk, idp.Claims) string { return "" }),
		"alg none":          forge(func(_ *desk, c idp.Claims) string { return unsigned(c) }),
		"another key":       forge(func(d *desk, c idp.Claims) string { return idp.Sign(d, jose.ES256, stranger(d), c) }),
		"HS256, public key": forge(func(d *desk, c idp.Claims) string { return idp.Sign(d, jose.HS256, publicKey(d), c) }),
		"HS256, the secret": forge(func(d *desk, c idp.Claims) string {
			return idp.Sign(d, jose.HS256, []byte(strings.Repeat(idp.ClientSecret, 8)), c)
		}),
		"RS512": func(d *desk) { d.idp.Rotate(jose.RS512) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			evil(d)
			_, err := d.redeem()
			d.want(login.Unproved, err)
		})
	}
}

func TestTokensAtTheEdge(t *testing.T) {
	t.Parallel()
	for name, bend := range map[string]func(d *desk, c idp.Claims){
		"expired 59 s ago": func(d *desk, c idp.Claims) { c["exp"] = d.now.Add(-59 * time.Second).Unix() },
		"made in 59 s":     func(d *desk, c idp.Claims) { c["iat"] = d.now.Add(59 * time.Second).Unix() },
		"many aud, azp":    func(_ *desk, c idp.Claims) { c["aud"], c["azp"] = []string{"other", idp.ClientID}, idp.ClientID },
	} {
		d := setup(t)
		d.idp.Bend(func(c idp.Claims) { bend(d, c) })
		if _, err := d.redeem(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func unsigned(c idp.Claims) string {
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	return part(map[string]string{"alg": "none", "typ": "JWT"}) + "." + part(c) + "."
}

// stranger is a key with the name of the provider's.
func stranger(d *desk) jose.JSONWebKey {
	d.Helper()
	other := idp.New(d)
	k := other.JWK()
	k.KeyID = d.idp.JWK().KeyID
	return k
}

func publicKey(d *desk) []byte {
	d.Helper()
	key := d.idp.JWK()
	der, err := x509.MarshalPKIXPublicKey(key.Public().Key)
	if err != nil {
		d.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func TestACodeCountsOnceAndForWhoBegan(t *testing.T) {
	t.Parallel()
	d := setup(t)
	code := d.code(attempt())
	other := attempt()
	other.Verifier = strings.Repeat("w", 43)
	if _, err := d.client.Redeem(t.Context(), d.provider(), idp.ClientSecret, d.code(attempt()), other); err != nil {
		d.want(login.Unproved, err)
	} else {
		t.Error("a code is taken with another's verifier")
	}
	if _, err := d.client.Redeem(t.Context(), d.provider(), idp.ClientSecret, code, attempt()); err != nil {
		t.Fatal(err)
	}
	_, err := d.client.Redeem(t.Context(), d.provider(), idp.ClientSecret, code, attempt())
	d.want(login.Unproved, err)
	_, err = d.client.Redeem(t.Context(), d.provider(), "wrong", d.code(attempt()), attempt())
	d.want(login.Unproved, err)
}

func TestRotatedKeysAreAskedFor(t *testing.T) {
	t.Parallel()
	d := setup(t)
	for range 3 {
		if _, err := d.redeem(); err != nil {
			t.Fatal(err)
		}
	}
	if keys, itself := d.idp.Count("/jwks"), d.idp.Count("/.well-known/openid-configuration"); keys != 1 || itself != 1 {
		t.Errorf("the provider was asked %d times for its keys and %d times for itself; want one of each", keys, itself)
	}
	old := d.idp.JWK()
	d.idp.Rotate(jose.RS256)
	if _, err := d.redeem(); err != nil {
		t.Errorf("with the new key: %v", err)
	}
	d.idp.Forge(func(c idp.Claims) string { return idp.Sign(t, jose.ES256, old, c) })
	_, err := d.redeem()
	d.want(login.Unproved, err)
	d.idp.Forge(nil)
	d.now = d.now.Add(time.Hour)
	d.idp.At(func() time.Time { return d.now })
	if _, err := d.redeem(); err != nil || d.idp.Count("/.well-known/openid-configuration") != 2 {
		t.Errorf("after an hour: %v; asked %d times for itself", err, d.idp.Count("/.well-known/openid-configuration"))
	}
}

// A provider that keeps its keys waiting, or that isn't there, keeps nobody else.
func TestAProviderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	d := setup(t)
	hold := make(chan struct{})
	d.idp.Hold(hold)
	slow := make(chan error, 1)
	go func() { _, err := d.redeem(); slow <- err }()
	other := setup(t)
	other.client = d.client
	if _, err := other.redeem(); err != nil {
		t.Errorf("another provider: %v", err)
	}
	close(hold)
	if err := <-slow; err != nil {
		t.Errorf("once it answers: %v", err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	p := d.provider()
	p.Issuer = gone.URL
	_, err := d.client.Begin(t.Context(), p, attempt())
	d.want(login.Away, err)
	gone.Close()
	_, err = d.client.Begin(t.Context(), p, attempt())
	d.want(login.Away, err)
}

func TestWhereAProviderLeads(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(url string) map[string]string{
		"another issuer": func(string) map[string]string { return map[string]string{"issuer": "https://evil.example"} },
		"a page that isn't": func(string) map[string]string {
			return map[string]string{"authorization_endpoint": "javascript:alert(1)"}
		},
		"plain HTTP elsewhere": func(string) map[string]string { return map[string]string{"token_endpoint": "http://10.0.0.1/token"} },
		"keys by plain HTTP":   func(string) map[string]string { return map[string]string{"jwks_uri": "http://10.0.0.1/keys"} },
		"no keys":              func(string) map[string]string { return map[string]string{"jwks_uri": ""} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			s := httptest.NewServer(mux)
			t.Cleanup(s.Close)
			mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
				doc := map[string]string{"issuer": s.URL, "authorization_endpoint": s.URL + "/a", "token_endpoint": s.URL + "/t", "jwks_uri": s.URL + "/k"}
				for k, v := range f(s.URL) {
					doc[k] = v
				}
				_ = json.NewEncoder(w).Encode(doc)
			})
			_, err := oidc.New(true, time.Now).Begin(t.Context(), sso.Provider{Issuer: s.URL}, attempt())
			var r *login.Refusal
			if !errors.As(err, &r) {
				t.Errorf("got %v", err)
			}
		})
	}
	// What is for the machine's cloud, or in a function for the machine itself, is
	// reached by no name; and nobody is led there.
	d := setup(t)
	_, err := oidc.New(false, time.Now).Begin(t.Context(), d.provider(), attempt())
	d.want(login.Away, err)
	if n := d.idp.Count("/.well-known/openid-configuration"); n != 0 {
		t.Errorf("it was asked %d times", n)
	}
	for _, issuer := range []string{"http://10.0.0.1", "https://169.254.169.254", "ftp://x", "https://user:pass@x", ""} {
		if _, err := oidc.New(true, time.Now).Begin(t.Context(), sso.Provider{Issuer: issuer}, attempt()); err == nil {
			t.Errorf("%q is asked", issuer)
		}
	}
	moved := httptest.NewServer(http.RedirectHandler(d.idp.URL+"/.well-known/openid-configuration", http.StatusFound))
	t.Cleanup(moved.Close)
	_, err = d.client.Begin(t.Context(), sso.Provider{Issuer: moved.URL}, attempt())
	d.want(login.Away, err)
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "{\"issuer\": %q}", strings.Repeat("x", 2<<20))
	}))
	t.Cleanup(large.Close)
	_, err = d.client.Begin(t.Context(), sso.Provider{Issuer: large.URL}, attempt())
	d.want(login.Away, err)
}

func TestWhatTheTokenLeavesOutIsAskedFor(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.idp.Person(idp.Claims{"sub": "ada-1", "email": "ada@example.com"})
	d.idp.Info(idp.Claims{"groups": []string{"devs"}, "email": "other@example.com"})
	c, err := d.redeem()
	if err != nil || c.All["email"] != "ada@example.com" || fmt.Sprint(c.All["groups"]) != "[devs]" {
		t.Errorf("got %+v, %v", c, err)
	}
	d.idp.Info(idp.Claims{"sub": "eve-1"})
	_, err = d.redeem()
	d.want(login.Unproved, err)
}
