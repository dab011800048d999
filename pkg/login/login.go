// Package login logs people in by the identity providers of the account: it
// begins a login, takes what the provider answers, finds or makes the user, and
// keeps which groups the provider names for that one. It also keeps passwords of
// Slipway's own, with their second factors, and says as which service account a
// program acts that comes with the token of an issuer.
//
// How a provider is asked, and what it says is checked, is pkg/login/oidc's,
// pkg/login/saml's and pkg/login/ldap's, which no function needs that logs nobody in. Sessions and
// tokens are pkg/api's.
package login

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Protocols are how providers are asked, one for each of their types. Their errors
// are for the log: people are told a Failure.
type Protocols struct {
	Tokens     Tokens
	Assertions Assertions
	Directory  Directory
}

// Tokens asks a provider that speaks OpenID Connect.
type Tokens interface {
	// Begin is the address at the provider where a login begins.
	Begin(ctx context.Context, p sso.Provider, a Attempt) (string, error)
	// Redeem gives what the provider says of who comes back with a code.
	Redeem(ctx context.Context, p sso.Provider, clientSecret, code string, a Attempt) (Claims, error)
	// Verify gives what a token says that the provider has given to a client at a
	// terminal.
	Verify(ctx context.Context, p sso.Provider, idToken string) (Claims, error)
	// Workload gives what a token says that an issuer has given to a program.
	Workload(ctx context.Context, p sso.Provider, token string) (Claims, error)
}

// Assertions asks a provider that speaks SAML. Base is where browsers reach the
// console, and keys are by which the provider knows Slipway.
type Assertions interface {
	// Begin is the address at the provider where a login begins.
	Begin(ctx context.Context, p sso.Provider, base string, keys Pairs, a Attempt) (string, error)
	// Read gives what a response of the provider says, which it has signed.
	Read(ctx context.Context, p sso.Provider, base string, keys Pairs, response string) (Asserted, error)
	// Describe is what the provider's side is told of Slipway, as XML.
	Describe(ctx context.Context, p sso.Provider, base string, keys Pairs) ([]byte, error)
}

// Directory asks an LDAP directory.
type Directory interface {
	// Check gives what the directory says of whom a password lets in. With the error
	// Wrong, it is of whom it doesn't, if there is somebody of that name.
	Check(ctx context.Context, p sso.Provider, searchPassword, user, password string) (Claims, error)
	// Look gives what the directory says of those of the subjects whom it still has.
	Look(ctx context.Context, p sso.Provider, searchPassword string, subjects []string) (map[string]Claims, error)
}

// Asserted is what an assertion says.
type Asserted struct {
	Claims

	ID    string    // the provider gives it to no other
	Asked string    // the Nonce of the Attempt that it answers; empty: nobody asked
	Until time.Time // from then on it isn't taken
}

// Config is what a Desk needs.
type Config struct {
	Account string
	Store   store.Store
	// Join saves the document of a new user, which must not exist.
	Join   func(ctx context.Context, account ref.Scope, document []byte, by audit.Author) (store.EntityKey, error)
	Secret *secret.Keeper
	Protocols
	// URL is where browsers reach the console; empty: on the server's own machine alone.
	URL  string
	Cost Cost // of a password
	// NoPasswords says that Slipway keeps no passwords of its own here.
	NoPasswords bool
	Now         func() time.Time
	Log         *slog.Logger
}

// NoDirectoryOnAWS is why no LDAP directory can be saved where Slipway runs on AWS.
const NoDirectoryOnAWS = "an LDAP directory can't be asked where Slipway runs on AWS: no function has a way into its network; take a provider that speaks OpenID Connect or SAML, see docs/access.md"

// NoPasswords is why nobody has a password of Slipway's where it runs on AWS.
const NoPasswords = "people can't log in by a password of Slipway's own where it runs on AWS, so that one would count for nothing; they use an identity provider or tokens there, see docs/access.md"

// Desk logs people in.
type Desk struct {
	Config

	settings *grants.Reader
	turns    turns
	hash     chan struct{} // holds one for each password that is hashed now
}

// New makes a Desk.
func New(cfg Config) *Desk {
	return &Desk{Config: cfg, settings: grants.New(cfg.Store.Entities), hash: make(chan struct{}, maxHashed)}
}

// mayBe refuses somebody whose mail address is of no domain that the account's settings
// name, however that one logs in.
func (d *Desk) mayBe(ctx context.Context, mail string) error {
	s, err := d.settings.Settings(ctx, ref.Scope{Account: d.Account})
	if err == nil && !s.Takes(mail) {
		err = refuse(Domain, fmt.Errorf("the setting %s has none of %s", setting.EmailDomains, shown(mail)))
	}
	return err
}

// Way is a provider as whoever would log in sees it.
type Way struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Type     string   `json:"type" enum:"OIDC,SAML,LDAP" doc:"What the provider speaks"`
	Issuer   string   `json:"issuer,omitempty" doc:"The address of a provider that speaks OpenID Connect"`
	ClientID string   `json:"cliClientId,omitempty" doc:"The provider's client for the command line; none: it is for browsers alone"`
	Scopes   []string `json:"scopes" nullable:"false" doc:"What the command line asks for"`
}

// Logins are the ways to log in.
type Logins struct {
	Providers []Way           `json:"providers" nullable:"false"`
	Passwords bool            `json:"passwords" doc:"Whether people log in by a password that Slipway keeps"`
	Banner    *setting.Banner `json:"banner,omitempty" doc:"What people are told before they log in; none: nothing"`
	Problem   string          `json:"problem,omitempty" doc:"What the failure that was asked about means, for people"`
}

// Ways lists the providers.
func (d *Desk) Ways(ctx context.Context) ([]Way, error) {
	ways := []Way{}
	for saved, err := range store.All(ctx, d.Store, ref.Scope{Account: d.Account}, ref.LoginProvider, "") {
		if err != nil {
			return nil, err
		}
		if e := grants.Decoded(saved); e != nil && e.LoginProvider != nil && e.LoginProvider.Type != sso.Workload {
			p := e.LoginProvider
			w := Way{ID: p.ID, Name: p.Name, Type: p.Type, Scopes: []string{}}
			if p.Type == sso.OIDC { // what the command line asks
				w.Issuer, w.ClientID, w.Scopes = p.Issuer, p.CLIClientID, p.AllScopes()
			}
			ways = append(ways, w)
		}
	}
	return ways, nil
}

// speaking is a provider of a type.
func (d *Desk) speaking(ctx context.Context, typ, id string) (sso.Provider, time.Time, error) {
	p, made, err := d.provider(ctx, id)
	if err == nil && p.Type != typ {
		err = fault.New(fault.NotFound, "there is no login provider %q that speaks %s", id, typ)
	}
	return p, made, err
}

// provider is one of the account as it is now, with when it was made.
func (d *Desk) provider(ctx context.Context, id string) (sso.Provider, time.Time, error) {
	saved, err := d.Store.Entity(ctx, store.EntityKey{Scope: ref.Scope{Account: d.Account}, Kind: ref.LoginProvider, ID: id})
	if fault.Is(err, fault.NotFound) {
		return sso.Provider{}, time.Time{}, fault.New(fault.NotFound, "there is no login provider %q", id)
	}
	if err != nil {
		return sso.Provider{}, time.Time{}, err
	}
	e := grants.Decoded(saved)
	if e == nil || e.LoginProvider == nil {
		return sso.Provider{}, time.Time{}, fault.New(fault.NotFound, "there is no login provider %q that can be read", id)
	}
	return *e.LoginProvider, saved.CreatedAt, nil
}

// Base is where the browser of a request reaches the console: what the operator
// says, or else this machine, if the request was for it. What a request says of
// its host is otherwise believed by nobody.
func (d *Desk) Base(host string, tls bool) (string, error) {
	if d.URL != "" {
		return d.URL, nil
	}
	at, err := netip.ParseAddrPort(host)
	if err != nil || !at.Addr().IsLoopback() {
		return "", refuse(NoAddress, fmt.Errorf("the request is for %q", host))
	}
	if tls {
		return "https://" + at.String(), nil
	}
	return "http://" + at.String(), nil
}

// Failure is why somebody isn't logged in, as an address can have it.
type Failure string

// The failures.
const (
	Expired   Failure = "expired"
	NoAddress Failure = "no-address"
	Away      Failure = "away"
	Denied    Failure = "denied"
	Wrong     Failure = "wrong"
	Unproved  Failure = "unproved"
	NoMail    Failure = "no-mail"
	Domain    Failure = "domain"
	Factor    Failure = "factor"
	Second    Failure = "second"
	WrongCode Failure = "wrong-code"
	Stranger  Failure = "stranger"
	Elsewhere Failure = "elsewhere"
	Disabled  Failure = "disabled"
	Untrusted Failure = "untrusted"
	Unsigned  Failure = "unsigned"
	Broken    Failure = "broken"
)

// SecondWanted is the code of the detail of an error that a second factor is asked
// for by.
const SecondWanted = "SECOND_FACTOR"

// Sentence is what people are told; it says no more than they need.
func (f Failure) Sentence() string {
	switch f {
	case Expired:
		return "This login took too long, was finished before, or was begun in another browser. Log in again."
	case NoAddress:
		return "The server doesn't know the address of its console; whoever operates it says so with slipway serve --url."
	case Away:
		return "The identity provider can't be reached now. Try again in a minute."
	case Denied:
		return "The identity provider didn't let you in."
	case Wrong:
		return "The mail address or the password is wrong."
	case Unproved:
		return "The identity provider didn't prove who you are. Log in again; if that doesn't help, tell who administrates Slipway."
	case NoMail:
		return "The identity provider sent no mail address of yours that it has verified."
	case Domain:
		return "People with a mail address of your domain don't log in here."
	case Factor:
		return "Slipway wants a second factor: log in at the identity provider with one."
	case Second:
		return "Type the code that your authenticator shows, or one of your recovery codes."
	case WrongCode:
		return "The code is wrong, or was used before."
	case Stranger:
		return "You have no user here. Ask who administrates Slipway for one."
	case Elsewhere:
		return "Your user logs in another way. Ask who administrates Slipway."
	case Disabled:
		return "Your user is disabled. Ask who administrates Slipway."
	case Untrusted:
		return "No trust rule takes the token: its issuer and audience are of none, or its claims aren't as the rule wants them."
	case Unsigned:
		return "The token isn't one that its issuer has made for Slipway, or it has ended; get another one."
	case Broken:
	}
	return "You couldn't be logged in. Try again; if that doesn't help, tell who administrates Slipway."
}

// Refusal is the error of a login. What it wraps is for the log alone.
type Refusal struct {
	Failure Failure
	err     error
}

// Refuse makes one.
func refuse(f Failure, err error) error { return &Refusal{f, err} }

// Refuse is the error of a Protocol whose provider can't be reached or proves
// nothing.
func Refuse(f Failure, err error) error { return refuse(f, err) }

// Error is for the log.
func (r *Refusal) Error() string { return string(r.Failure) + ": " + r.err.Error() }

// Unwrap gives what it is about.
func (r *Refusal) Unwrap() error { return r.err }

// Person is who is logged in.
type Person struct {
	User     store.EntityKey
	Provider sso.Provider
	AMR      []string // how the login was made, as the provider says

	since time.Time // of the password that was shown
}

// record is one of the audit trail.
func (d *Desk) record(actor string, a audit.Action, kind, id, request, before, after string) audit.Record {
	return audit.Record{
		Time: d.Now(), Actor: actor, Scope: ref.Scope{Account: d.Account}, Action: a, Kind: kind, ID: id, Request: request, Before: before, After: after,
	}
}
