package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// AttemptAge is how long somebody may take at the provider.
const AttemptAge = 10 * time.Minute

// Attempt is a login that was begun in a browser, which keeps it sealed.
type Attempt struct {
	Provider string    `json:"provider"`
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Redirect string    `json:"redirect"` // where the provider sends the browser
	Next     string    `json:"next"`     // the page that was wanted
	Until    time.Time `json:"until"`
}

// Back is what a provider sends a browser back with.
type Back struct {
	Code, State, Error string
	Sealed             string // the Attempt, from the browser
	Request            string // for the audit trail
}

// Start begins a login: the address at the provider, and the attempt for the
// browser to keep.
func (d *Desk) Start(ctx context.Context, typ, provider, base, next string) (address, sealed string, err error) {
	p, made, err := d.speaking(ctx, typ, provider)
	if err != nil {
		return "", "", err
	}
	a := Attempt{
		Provider: p.ID, State: random(), Nonce: random(), Verifier: random(), Next: next, Until: d.Now().Add(AttemptAge),
		Redirect: base + p.Served("callback"),
	}
	if typ == sso.SAML {
		address, err = d.Assertions.Begin(ctx, p, base, d.pairs(p, made), a)
	} else {
		address, err = d.Tokens.Begin(ctx, p, a)
	}
	if err != nil {
		return "", "", d.fails(ctx, p, err)
	}
	text, err := json.Marshal(a)
	if err != nil {
		return "", "", fmt.Errorf("encode a login: %w", err)
	}
	closed, err := d.Secret.Seal(ctx, d.attemptKey(p.ID), text)
	return address, base64.RawURLEncoding.EncodeToString(closed), err
}

// random are 32 bytes that nobody guesses.
func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // which never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// attemptKey is what attempts at a provider are sealed for.
func (d *Desk) attemptKey(provider string) store.EntityKey {
	return store.EntityKey{Scope: ref.Scope{Account: d.Account}, Kind: "loginAttempt", ID: provider}
}

// Finish takes what a provider sent a browser back with: who it is, and the page
// that was wanted. Its errors are Refusals, as far as people can do something.
func (d *Desk) Finish(ctx context.Context, typ, provider string, b Back) (Person, string, error) {
	p, made, err := d.speaking(ctx, typ, provider)
	if err != nil {
		return Person{}, "", err
	}
	var a Attempt
	if b.State != "" || !p.Federation.Unasked {
		a, err = d.opened(ctx, p, b)
	}
	if err != nil {
		return Person{}, "", d.fails(ctx, p, err)
	}
	if b.Error != "" {
		return Person{}, "", d.fails(ctx, p, refuse(Denied, fmt.Errorf("the provider says %.200q", b.Error)))
	}
	claims, next, err := d.redeem(ctx, p, b.Code, a)
	if err != nil {
		return Person{}, "", d.refused(ctx, p, claims, b.Request, err)
	}
	user, err := d.enter(ctx, p, made, claims, b.Request)
	return Person{User: user, Provider: p, AMR: claims.amr()}, next, err
}

// redeem gives what a provider says of who comes back with a code, and the page
// that was wanted.
func (d *Desk) redeem(ctx context.Context, p sso.Provider, code string, a Attempt) (Claims, string, error) {
	if p.Type == sso.SAML {
		return d.collect(ctx, p, code, a)
	}
	clientSecret, err := d.secret(ctx, p)
	if err != nil {
		return Claims{}, "", err
	}
	claims, err := d.Tokens.Redeem(ctx, p, clientSecret, code, a)
	return claims, a.Next, err
}

// opened is the attempt that a browser has kept, if it is what the provider
// answers. It counts once: who has seen the address that the provider sent the
// browser to can't open it again.
func (d *Desk) opened(ctx context.Context, p sso.Provider, b Back) (Attempt, error) {
	closed, err := base64.RawURLEncoding.DecodeString(b.Sealed)
	if err != nil || len(closed) == 0 {
		return Attempt{}, refuse(Expired, errors.New("the browser brings no login that was begun"))
	}
	text, err := d.Secret.Open(ctx, d.attemptKey(p.ID), closed)
	var a Attempt
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	switch {
	case err != nil:
		return Attempt{}, refuse(Expired, fmt.Errorf("what the browser brings can't be opened: %w", err))
	case a.Provider != p.ID || b.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(b.State)) != 1:
		return Attempt{}, refuse(Expired, errors.New("the state isn't that of the login which the browser began"))
	case !d.Now().Before(a.Until):
		return Attempt{}, refuse(Expired, errors.New("it took too long"))
	}
	return a, d.first(ctx, "state", a.State, a.Until)
}

// first notes that something was shown, which counts once.
func (d *Desk) first(ctx context.Context, what, text string, until time.Time) error {
	first, err := d.remember(ctx, fmt.Sprintf("login %s %x", what, sha256.Sum256([]byte(text))), until.Add(AttemptAge))
	if err == nil && !first {
		return refuse(Expired, fmt.Errorf("the same %s was shown before", what))
	}
	return err
}

// remember notes something until a time; false: it is noted already. It forgets some of
// what has ended, so that no more is noted than there are logins at once.
func (d *Desk) remember(ctx context.Context, key string, until time.Time) (bool, error) {
	_, err := d.Store.Answer(ctx, key, d.Now())
	if err == nil || !fault.Is(err, fault.NotFound) {
		return false, err
	}
	_, first, err := d.Store.PutAnswer(ctx, store.Answer{Key: key, Expires: until})
	return first, err
}

// secret is that by which the provider knows Slipway.
func (d *Desk) secret(ctx context.Context, p sso.Provider) (string, error) {
	if p.Secret.ID == "" {
		return "", nil
	}
	value, err := d.Secret.Of(ctx, store.EntityKey{Scope: p.Secret.Scope, Kind: ref.Secret, ID: p.Secret.ID})
	if fault.Is(err, fault.NotFound) {
		return "", refuse(Broken, fmt.Errorf("the secret %q has no value here: it must be one of the built-in manager, with an inline value", p.Secret.ID))
	}
	return value, err
}

// Exchange takes the token that a provider gave to a client at a terminal: who
// it is. It counts once.
func (d *Desk) Exchange(ctx context.Context, provider, idToken, request string) (Person, error) {
	p, made, err := d.speaking(ctx, sso.OIDC, provider)
	if err != nil {
		return Person{}, err
	}
	if p.CLIClientID == "" {
		return Person{}, fault.New(fault.Invalid, "the login provider %q is for browsers alone; its document has no cliClientId", p.ID)
	}
	claims, err := d.Tokens.Verify(ctx, p, idToken)
	if err == nil {
		err = d.first(ctx, "token", idToken, d.Now().Add(time.Hour))
	}
	if err != nil {
		return Person{}, d.fails(ctx, p, err)
	}
	user, err := d.enter(ctx, p, made, claims, request)
	return Person{User: user, Provider: p, AMR: claims.amr()}, err
}

// fails logs why a login came to nothing before the provider said who it is:
// anybody can bring that about, so the audit trail isn't told.
func (d *Desk) fails(ctx context.Context, p sso.Provider, err error) error {
	d.Log.WarnContext(ctx, "a login came to nothing", "provider", p.ID, "error", err)
	return err
}

// refused is fails for what a provider has said of somebody, with a record.
func (d *Desk) refused(ctx context.Context, p sso.Provider, c Claims, request string, err error) error {
	var r *Refusal
	if !errors.As(err, &r) || c.Subject == "" {
		return d.fails(ctx, p, err)
	}
	record := d.record(p.Actor(), audit.LoginFailed, "session", shown(c.Subject), request, "", string(r.Failure)+" "+shown(c.text(p.EmailClaim)))
	if _, failed := d.Store.AppendAudit(ctx, record); failed != nil {
		return failed
	}
	return d.fails(ctx, p, err)
}

// shown is a text of others as the audit trail takes it.
func shown(text string) string { return fmt.Sprintf("%.200q", text) }
