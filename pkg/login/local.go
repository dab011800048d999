package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

const (
	// minPassword and maxPassword bound a password: characters at least, bytes at
	// most.
	minPassword, maxPassword = 12, 512
)

// credential is by what a user logs in whose password Slipway keeps. It is sealed
// as a whole.
type credential struct {
	// Since is when the password was set. A user who was made later is another.
	Since time.Time `json:"since"`
	Hash  string    `json:"hash"`
	// Seed is that of the second factor; empty: there is none.
	Seed string `json:"seed,omitempty"`
	// Confirmed says that a code was shown that is of the seed: from then on one is
	// asked for.
	Confirmed bool `json:"confirmed,omitempty"`
	// Recovery are the hashes of the recovery codes that weren't used.
	Recovery []string `json:"recovery,omitempty"`

	version int64
}

// local is a user and by what that one logs in; no hash: by nothing.
type local struct {
	credential

	key      store.EntityKey
	mail     string
	disabled bool
}

// named is the user whom somebody calls by the mail address or the identifier;
// nobody: there is none, or there are several.
func (d *Desk) named(ctx context.Context, name string) (local, error) {
	name = strings.TrimSpace(name)
	if !strings.Contains(name, "@") {
		if ref.CheckID(ref.User, name) != nil {
			return local{}, nil
		}
		return d.local(ctx, name)
	}
	var found []string
	for saved, err := range store.All(ctx, d.Store, ref.Scope{Account: d.Account}, ref.User, "") {
		if err != nil {
			return local{}, err
		}
		if e := grants.Decoded(saved); e != nil && e.User != nil && strings.EqualFold(e.User.Email, name) {
			found = append(found, saved.Key.ID)
		}
	}
	if len(found) != 1 {
		return local{}, nil
	}
	return d.local(ctx, found[0])
}

// local is a user by the identifier; nobody: there is none.
func (d *Desk) local(ctx context.Context, id string) (local, error) {
	key := store.EntityKey{Scope: ref.Scope{Account: d.Account}, Kind: ref.User, ID: id}
	saved, err := d.Store.Entity(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return local{}, nil
	}
	if err != nil {
		return local{}, err
	}
	e := grants.Decoded(saved)
	who := local{key: key, disabled: e == nil || e.User == nil || e.User.Disabled}
	if e != nil && e.User != nil {
		who.mail = e.User.Email
	}
	at := access.CredentialKey(d.Account, id)
	stored, err := d.Store.Entity(ctx, at)
	if fault.Is(err, fault.NotFound) {
		return who, nil
	}
	if err != nil {
		return local{}, err
	}
	text, err := d.Secret.Of(ctx, at)
	if err != nil {
		return local{}, err
	}
	var c credential
	if json.Unmarshal([]byte(text), &c) != nil { // the error would say what is in it
		return local{}, fault.New(fault.Internal, "by what user %s logs in can't be read", id)
	}
	if saved.CreatedAt.After(c.Since) {
		c = credential{}
	}
	who.credential, who.version = c, stored.Version
	return who, nil
}

// keep keeps by what a user logs in, unless that has changed since it was read.
func (d *Desk) keep(ctx context.Context, who local, by audit.Author, what string) error {
	text, err := json.Marshal(who.credential)
	if err != nil {
		return fmt.Errorf("encode by what user %s logs in: %w", who.key.ID, err)
	}
	at, now := access.CredentialKey(d.Account, who.key.ID), d.Now()
	sealed, err := d.Secret.Sealed(ctx, at, string(text))
	if err != nil {
		return err
	}
	_, err = d.Store.SaveEntity(ctx, store.Entity{Key: at, Version: who.version, YAML: []byte("{}"), UpdatedBy: by.Actor, CreatedAt: now, UpdatedAt: now},
		d.record(by.Actor, audit.Update, string(ref.User), who.key.ID, by.Request, "", what), sealed)
	return err
}

// Local logs somebody in by a password that Slipway keeps. Who there isn't, or has
// none, gets the same answer after the same time.
func (d *Desk) Local(ctx context.Context, t Typed) (Person, error) {
	who, err := d.named(ctx, t.User)
	if err != nil {
		return Person{}, err
	}
	err = d.proves(ctx, who, t, func() error { return d.second(ctx, who, string(t.Code), t.Request) })
	if err == nil {
		if who.disabled {
			err = refuse(Disabled, fmt.Errorf("user %s is disabled", who.key.ID))
		} else {
			err = d.mayBe(ctx, who.mail)
		}
		if err != nil {
			err = d.refused(ctx, sso.Passwords(), Claims{Subject: who.key.ID}, t.Request, err)
		}
	}
	amr := []string{byPassword}
	if who.Confirmed {
		amr = append(amr, byCode)
	}
	return Person{User: who.key, Provider: sso.Passwords(), AMR: amr, since: who.Since}, err
}

// proves says whether what is typed is the password of a user, and then whether
// what comes after it is right.
func (d *Desk) proves(ctx context.Context, who local, t Typed, then func() error) error {
	return d.counted(ctx, who, t, func() error {
		right, err := d.matches(ctx, who.Hash, string(t.Password))
		if err != nil {
			return err
		}
		if !right {
			return refuse(Wrong, errors.New("the password is wrong, or there is none"))
		}
		return then()
	})
}

// counted tries what somebody shows, one at a time. What is wrong counts against
// the user and the network.
func (d *Desk) counted(ctx context.Context, who local, t Typed, try func() error) error {
	p, as := sso.Passwords(), "as =local typed "+strings.ToLower(strings.TrimSpace(t.User))
	if who.key.ID != "" {
		as = "as =local user " + who.key.ID
	}
	counts := []string{"from " + t.From, as}
	leave, err := d.admit(ctx, p, t, counts)
	if err != nil {
		return err
	}
	defer leave()
	err = try()
	var r *Refusal
	if !errors.As(err, &r) || r.Failure == Second {
		return err // nobody has guessed anything
	}
	c := Claims{Subject: who.key.ID}
	if failed := d.count(ctx, p, t, c, counts); failed != nil {
		return failed
	}
	return d.refused(ctx, p, c, t.Request, err)
}

// Stays says whether somebody still logs in by what was shown. A session that was
// begun while the password changed must not outlive that.
func (d *Desk) Stays(ctx context.Context, p Person) error {
	if p.Provider.Type != sso.Local {
		return nil
	}
	now, err := d.local(ctx, p.User.ID)
	if err == nil && (now.Hash == "" || !now.Since.Equal(p.since)) {
		err = refuse(Wrong, errors.New("the password was changed meanwhile"))
	}
	return err
}

// HasPassword says whether a user logs in by a password that Slipway keeps.
func (d *Desk) HasPassword(ctx context.Context, user string) (bool, error) {
	who, err := d.someone(ctx, user)
	return who.Hash != "", err
}

// someone is a user that there is.
func (d *Desk) someone(ctx context.Context, id string) (local, error) {
	if ref.CheckID(ref.User, id) != nil {
		return local{}, fault.New(fault.NotFound, "there is no user %q", id)
	}
	who, err := d.local(ctx, id)
	if err == nil && who.key.ID == "" {
		err = fault.New(fault.NotFound, "there is no user %q", id)
	}
	return who, err
}

// SetPassword sets the password of a user, in place of one that there is. It is for
// who may be everybody.
func (d *Desk) SetPassword(ctx context.Context, user string, next Password, by audit.Author) error {
	who, err := d.someone(ctx, user)
	if err != nil {
		return err
	}
	return d.change(ctx, who, next, by)
}

// ChangePassword sets one's own password, who types the one that there is. Of who
// has a second factor it wants no code: whoever asks is logged in.
func (d *Desk) ChangePassword(ctx context.Context, t Typed, next Password) error {
	who, err := d.someone(ctx, t.User)
	if err != nil {
		return err
	}
	if err := checkPassword(next); err != nil {
		return err
	}
	if err := d.proves(ctx, who, t, func() error { return nil }); err != nil {
		return err
	}
	return d.change(ctx, who, next, audit.Author{Actor: who.key.ID, Request: t.Request})
}

// change keeps another password, and ends what was begun by the one before.
func (d *Desk) change(ctx context.Context, who local, next Password, by audit.Author) error {
	if err := checkPassword(next); err != nil {
		return err
	}
	hash, err := d.hashed(ctx, string(next))
	if err != nil {
		return err
	}
	what, had := "a first password", who.Hash != ""
	if had {
		what = "another password"
	}
	leaves := Leaves{Store: d.Store, Now: d.Now}
	why := "user " + who.key.ID + " has another password"
	if had { // also before, so that what dies in between leaves nothing of before
		if err := leaves.end(ctx, who.key, why); err != nil {
			return err
		}
	}
	who.Hash, who.Since = hash, d.Now()
	if err := d.keep(ctx, who, by, what); err != nil {
		return raced(err)
	}
	if !had {
		return nil
	}
	return leaves.end(ctx, who.key, why)
}

// raced tells that somebody else came first.
func raced(err error) error {
	if fault.Is(err, fault.StaleVersion) {
		return fault.New(fault.Conflict, "the password or the second factor was changed meanwhile; try again")
	}
	return err
}

// checkPassword says what is wrong with a new password.
func checkPassword(p Password) error {
	switch n := utf8.RuneCountInString(string(p)); {
	case !utf8.ValidString(string(p)):
		return fault.New(fault.Invalid, "the new password isn't UTF-8")
	case n < minPassword:
		return fault.New(fault.Invalid, "the new password has %d characters; want at least %d", n, minPassword)
	case len(p) > maxPassword:
		return fault.New(fault.Invalid, "the new password has %d bytes; want at most %d", len(p), maxPassword)
	case len(slices.Compact(slices.Sorted(slices.Values([]rune(string(p)))))) < 4:
		return fault.New(fault.Invalid, "the new password is of fewer than 4 different characters")
	}
	return nil
}
