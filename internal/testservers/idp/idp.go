// Package idp is an identity provider on loopback that speaks OpenID Connect: the
// code flow with PKCE and the device flow. It lets everybody in whom the test
// names, and misbehaves as the test says.
package idp

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/slipway-cd/slipway/internal/testservers/certified"
)

// Claims are those of a token.
type Claims = map[string]any

// The clients that the provider knows: one of the server, with a secret, and one
// of the command line.
const (
	ClientID     = "slipway"
	ClientSecret = "s3cret"
	CLIClientID  = "slipway-cli"
)

// Provider is the identity provider. What it does is set before it is asked.
type Provider struct {
	URL string
	tb  testing.TB

	mu sync.Mutex
	// person is who is logged in there.
	person Claims
	info   Claims
	now    func() time.Time
	// bend changes a token's claims before it is signed; forge signs it.
	bend  func(Claims)
	forge func(Claims) string
	// noDevice takes the device flow away; answers are those of its polls, before
	// the token.
	noDevice bool
	bare     bool // see Bare
	answers  []string
	hold     chan struct{} // keys aren't told before it is closed

	alg   jose.SignatureAlgorithm
	key   any
	kid   int
	codes map[string]grant
	Asked map[string]int // requests by path
}

// grant is what a code stands for.
type grant struct{ client, redirect, challenge, nonce string }

// New starts a provider.
func New(tb testing.TB) *Provider {
	tb.Helper()
	p, server := unstarted(tb)
	server.Start()
	p.URL = server.URL
	return p
}

// NewAt starts one that others reach by TLS at an address.
func NewAt(tb testing.TB, at *certified.Address) *Provider {
	tb.Helper()
	p, server := unstarted(tb)
	p.URL = at.Start(server)
	return p
}

func unstarted(tb testing.TB) (*Provider, *httptest.Server) {
	tb.Helper()
	p := &Provider{tb: tb, now: time.Now, codes: map[string]grant{}, Asked: map[string]int{}}
	p.Rotate(jose.ES256)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("POST /device", p.device)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, p.userInfo()) })
	mux.HandleFunc("GET /jwks", p.keys)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.Asked[r.URL.Path]++
		p.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	tb.Cleanup(server.Close)
	return p, server
}

func (p *Provider) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// Person says who is logged in.
func (p *Provider) Person(c Claims) { p.set(func() { p.person = c }) }

// Info says what is told of that one apart from the token.
func (p *Provider) Info(c Claims) { p.set(func() { p.info = c }) }

// At gives the provider another clock.
func (p *Provider) At(now func() time.Time) { p.set(func() { p.now = now }) }

// Bend changes the claims of tokens before they are signed; nil: not.
func (p *Provider) Bend(f func(Claims)) { p.set(func() { p.bend = f }) }

// Forge makes the tokens instead of the provider's own signature; nil: not.
func (p *Provider) Forge(f func(Claims) string) { p.set(func() { p.forge = f }) }

// Device says what polls of the device flow are answered before there is a token;
// without the flow there is no endpoint.
func (p *Provider) Device(flow bool, answers ...string) {
	p.set(func() { p.noDevice, p.answers = !flow, answers })
}

// Bare has the provider be an issuer of tokens for programs alone, as those of CI are.
func (p *Provider) Bare() { p.set(func() { p.bare = true }) }

// Hold has the keys wait for until is closed.
func (p *Provider) Hold(until chan struct{}) { p.set(func() { p.hold = until }) }

// Count is how often a path was asked for.
func (p *Provider) Count(path string) (n int) {
	p.set(func() { n = p.Asked[path] })
	return n
}

// Rotate gives the provider another key, and forgets the one before.
func (p *Provider) Rotate(alg jose.SignatureAlgorithm) {
	p.tb.Helper()
	var key any
	var err error
	switch alg {
	case jose.RS256, jose.RS512:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case jose.EdDSA:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		p.tb.Fatal(err)
	}
	p.set(func() { p.alg, p.key = alg, key; p.kid++ })
}

// JWK is the key that signs.
func (p *Provider) JWK() (k jose.JSONWebKey) {
	p.set(func() {
		k = jose.JSONWebKey{Key: p.key, KeyID: fmt.Sprint(p.kid), Algorithm: string(p.alg), Use: "sig"}
	})
	return k
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	doc := Claims{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/jwks",
		"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256", "ES256", "EdDSA", "HS256", "none"},
	}
	p.set(func() {
		if p.bare {
			for _, end := range []string{"authorization_endpoint", "token_endpoint", "userinfo_endpoint"} {
				delete(doc, end)
			}
		}
		if !p.noDevice && !p.bare {
			doc["device_authorization_endpoint"] = p.URL + "/device"
		}
	})
	answer(w, http.StatusOK, doc)
}

// authorize is the page where people log in: they are already.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("client_id") == "" {
		answer(w, http.StatusBadRequest, Claims{"error": "invalid_request"})
		return
	}
	p.set(func() {
		p.codes[code] = grant{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("nonce")}
	})
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		answer(w, http.StatusBadRequest, Claims{"error": "invalid_request"})
		return
	}
	to.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound) //nolint:gosec // a real provider knows the addresses of its clients
}

func (p *Provider) device(w http.ResponseWriter, r *http.Request) {
	code := rand.Text()
	p.set(func() { p.codes[code] = grant{client: r.FormValue("client_id")} })
	answer(w, http.StatusOK, Claims{
		"device_code": code, "user_code": "ABCD-EFGH", "verification_uri": p.URL + "/verify", "verification_uri_complete": p.URL + "/verify?user_code=ABCD-EFGH", "expires_in": 600, "interval": 1,
	})
}

// token swaps a code, once.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	code := r.FormValue("code")
	device := r.FormValue("grant_type") == "urn:ietf:params:oauth:grant-type:device_code"
	if device {
		code = r.FormValue("device_code")
		pending := ""
		p.set(func() {
			if len(p.answers) > 0 {
				pending, p.answers = p.answers[0], p.answers[1:]
			}
		})
		if pending != "" {
			answer(w, http.StatusBadRequest, Claims{"error": pending})
			return
		}
	}
	var g grant
	var known bool
	p.set(func() { g, known = p.codes[code]; delete(p.codes, code) })
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	switch {
	case !known, g.client != id, !device && g.redirect != r.FormValue("redirect_uri"):
		answer(w, http.StatusBadRequest, Claims{"error": "invalid_grant"})
	case id == ClientID && secret != ClientSecret:
		answer(w, http.StatusUnauthorized, Claims{"error": "invalid_client"})
	case !device && g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]):
		answer(w, http.StatusBadRequest, Claims{"error": "invalid_grant", "error_description": "code_verifier"})
	default:
		answer(w, http.StatusOK, Claims{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 300, "id_token": p.IDToken(g.client, g.nonce)})
	}
}

// IDToken is a token for a client about who is logged in.
func (p *Provider) IDToken(client, nonce string) string {
	key := p.JWK()
	var now time.Time
	var person Claims
	var bend func(Claims)
	var forge func(Claims) string
	p.set(func() { now, person, bend, forge = p.now(), p.person, p.bend, p.forge }) // which ask the provider, too
	c := Claims{"iss": p.URL, "aud": client, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix()}
	if nonce != "" {
		c["nonce"] = nonce
	}
	maps.Copy(c, person)
	if bend != nil {
		bend(c)
	}
	if forge != nil {
		return forge(c)
	}
	return Sign(p.tb, jose.SignatureAlgorithm(key.Algorithm), key, c)
}

// Sign signs claims.
func Sign(tb testing.TB, alg jose.SignatureAlgorithm, key any, c Claims) string {
	tb.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		tb.Error(err)
		return ""
	}
	text, err := jwt.Signed(signer).Claims(c).Serialize()
	if err != nil {
		tb.Error(err)
	}
	return text
}

func (p *Provider) userInfo() (c Claims) {
	p.set(func() {
		c = Claims{"sub": p.person["sub"]}
		maps.Copy(c, p.info)
	})
	return c
}

func (p *Provider) keys(w http.ResponseWriter, r *http.Request) {
	var hold chan struct{}
	p.set(func() { hold = p.hold })
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	key := p.JWK()
	answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
}

func answer(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}
