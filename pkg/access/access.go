// Package access makes and checks the tokens by which callers are known.
//
// A token of a user or a service account may what that one may by roles
// (pkg/access/grants), within its scope; one that is nobody's may do everything
// there (pkg/access/right decides).
//
// It keeps nothing: pkg/store holds the tokens, as hashes only. Who asks for
// a token, and over which protocol, is pkg/api's matter.
package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Whoami is who a caller is, as far as the token tells.
type Whoami struct {
	Actor     string          `json:"actor" doc:"As audits name them"`
	Principal string          `json:"principal,omitempty" doc:"The user or the service account whose roles say what the token may; none: it may do everything within its scope"`
	Kind      store.TokenKind `json:"kind" enum:"user,session"`
	Token     string          `json:"token" doc:"The name of the token that proved it"`
	Account   string          `json:"account"`
	Org       string          `json:"org,omitempty" doc:"All that the token is for is in this organization"`
	Project   string          `json:"project,omitempty" doc:"All that the token is for is in this project"`
	ExpiresAt time.Time       `json:"expiresAt,omitzero" doc:"When the session ends"`
	Version   string          `json:"version" doc:"Of the server"`
	Banner    *setting.Banner `json:"banner,omitempty" doc:"What people are told; none: nothing"`
	Live      string          `json:"live" enum:"events,socket" doc:"How pages hear of changes: by the server-sent events of /v1/live, or over a WebSocket with a ticket of /v1/live/tickets"`
}

// How pages hear of changes.
const (
	LiveEvents = "events"
	LiveSocket = "socket"
)

// Permit is whether somebody may do something.
type Permit struct {
	Allowed bool     `json:"allowed"`
	By      string   `json:"by,omitempty" doc:"The assignment that allows it"`
	Missing []string `json:"missing" nullable:"false" doc:"Permissions, any of which would have been enough"`
	Rights  []string `json:"rights,omitempty" nullable:"false" doc:"Of somebody who is asked about: the assignments that give anything there"`
}

// LoginLink logs a browser on the server's own machine in, once.
type LoginLink struct {
	Code      string    `json:"code" doc:"The link is the server's address with /login# and it: what follows # is sent to nobody"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// prefix tells the kinds of token apart, for people and for secret scanners.
func prefix(kind store.TokenKind, principal store.EntityKey) string {
	switch kind {
	case store.TokenDelegate:
		return "dlg"
	case store.TokenSession:
		return "ses"
	case store.TokenUser:
	}
	if principal.Kind == ref.ServiceAccount {
		return "sat"
	}
	return "pat"
}

// Grant says what a new token is for.
type Grant struct {
	Kind  store.TokenKind
	Scope ref.Scope // what the bearer may touch
	Name  string
	Actor string // who the bearer is, for audits
	// ID is that of the token in whose place this one comes; empty: a new one.
	ID string
	// Binding is what the delegates of a delegate's token may be; nil: what they say.
	Binding *store.Binding
	// Of is a session's.
	Of string
	// ExpiresAt is when it opens nothing any more; zero: never.
	ExpiresAt time.Time
	// Principal is whose it is; none: nobody's.
	Principal store.EntityKey
	// Login is how the bearer has logged in, if it comes of that.
	Login store.LoggedIn
}

// Mint makes a token: the record to keep, and the text that only its bearer
// will know, e.g. "pat.default.4KQ2.XNB...".
func Mint(g Grant, now time.Time) (store.AccessToken, string) {
	id := cmp.Or(g.ID, rand.Text()[:12])
	text := strings.Join([]string{prefix(g.Kind, g.Principal), g.Scope.Account, id, rand.Text()}, ".")
	return store.AccessToken{
		ID: id, Hash: digest(text), Kind: g.Kind, Scope: g.Scope, Name: g.Name, Actor: g.Actor, CreatedAt: now, Binding: g.Binding,
		Of: g.Of, ExpiresAt: g.ExpiresAt, Principal: g.Principal, Login: g.Login,
	}, text
}

func digest(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

// Verify finds the token that a text is; a session's isn't one, browsers send
// it by themselves. Whatever is wrong with it, the answer is the same
// fault.Unauthenticated, so that guesses learn nothing; who knows a token is told
// that it has ended (fault.ExpiredToken).
func Verify(ctx context.Context, keys store.Keys, text string, now time.Time) (store.AccessToken, error) {
	if text == "" {
		return store.AccessToken{}, fault.New(fault.Unauthenticated, "there is no token; want the header Authorization: Bearer TOKEN, or X-Api-Key: TOKEN")
	}
	t, err := find(ctx, keys, text)
	if err == nil && t.Kind == store.TokenSession {
		err = unknown()
	}
	if err == nil {
		err = Ended(t, now)
	}
	return t, err
}

// Use keeps that a token opened something, once a day; those of sessions aren't
// kept. To lose a day is no harm, so nobody needs to fail because of the error.
func Use(ctx context.Context, keys store.Keys, t store.AccessToken, now time.Time) error {
	day := now.UTC().Truncate(24 * time.Hour)
	if t.Kind == store.TokenSession || !t.LastUsed.Before(day) {
		return nil
	}
	if err := keys.UseToken(ctx, t.ID, day); err != nil {
		return fmt.Errorf("keep that the token %s was used: %w", t.ID, err)
	}
	return nil
}

// Ended is the error of a token whose time is over.
func Ended(t store.AccessToken, now time.Time) error {
	if t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt) {
		return nil
	}
	return fault.New(fault.ExpiredToken, "the token %q ended at %s; make another", t.Name, t.ExpiresAt.UTC().Format(time.RFC3339))
}

// VerifySession finds the session that a text is, if it goes on.
func VerifySession(ctx context.Context, keys store.Keys, text string, now time.Time) (store.AccessToken, error) {
	t, err := find(ctx, keys, text)
	if err == nil && (t.Kind != store.TokenSession || !now.Before(t.ExpiresAt)) {
		err = unknown()
	}
	if err == nil {
		err = opened(ctx, keys, t, now)
	}
	if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.ExpiredToken) {
		err = fault.New(fault.Unauthenticated, "the session has ended; log in again")
	}
	return t, err
}

func find(ctx context.Context, keys store.Keys, text string) (store.AccessToken, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return store.AccessToken{}, unknown()
	}
	t, err := keys.Token(ctx, parts[2])
	if fault.Is(err, fault.NotFound) {
		return store.AccessToken{}, unknown()
	}
	if err != nil {
		return store.AccessToken{}, err
	}
	known := subtle.ConstantTimeCompare(digest(text), t.Hash) == 1
	if !known || t.Revoked || parts[0] != prefix(t.Kind, t.Principal) || parts[1] != t.Scope.Account {
		return store.AccessToken{}, unknown()
	}
	return t, nil
}

func unknown() error {
	return fault.New(fault.Unauthenticated, "the token isn't known or was revoked")
}

// Recheck gives a token that Verify found as it is now, if it may still be used: an
// answer that goes on for long ends when its token is revoked, or that of its session.
// Another one that has the id by now, since that of what has ended is used again, isn't it.
func Recheck(ctx context.Context, keys store.Keys, was Made, now time.Time) (store.AccessToken, error) {
	t, err := lives(ctx, keys, was.ID, now)
	if err == nil && t.CreatedAt.UnixMilli() != was.At.UnixMilli() {
		err = unknown()
	}
	if err == nil && t.Kind == store.TokenSession {
		err = opened(ctx, keys, t, now)
	}
	return t, err
}

// Made tells a token from others, also from those that have its id later.
type Made struct {
	ID string
	At time.Time // when it was made, to the millisecond
}

// MadeOf is what tells a token from others.
func MadeOf(t store.AccessToken) Made { return Made{t.ID, t.CreatedAt} }

// opened says whether there still is the token that a session was opened with, if any.
func opened(ctx context.Context, keys store.Keys, session store.AccessToken, now time.Time) error {
	if session.Of == "" {
		return nil
	}
	of, err := lives(ctx, keys, session.Of, now)
	if err == nil && of.CreatedAt.After(session.CreatedAt) { // another one, in its place
		err = unknown()
	}
	return err
}

// lives gives a token that nobody has revoked, and whose time isn't over.
func lives(ctx context.Context, keys store.Keys, id string, now time.Time) (store.AccessToken, error) {
	t, err := keys.Token(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && t.Revoked {
		return store.AccessToken{}, unknown()
	}
	if err == nil {
		err = Ended(t, now)
	}
	return t, err
}

// ActorOf is how audits name a principal. A service account's name is none that
// a user can have, so that groups of people don't have it by chance.
func ActorOf(principal store.EntityKey) string {
	if principal.Kind == ref.User {
		return principal.ID
	}
	return "service account " + principal.Scope.String() + "/" + principal.ID
}

// Check says whether the bearer of t may touch what is in the scope.
func Check(t store.AccessToken, scope ref.Scope) error {
	if !t.Scope.Covers(scope) {
		return fault.New(fault.Forbidden, "the token %q is for %s, not for %s", t.Name, t.Scope, scope)
	}
	return nil
}
