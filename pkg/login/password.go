package login

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
)

const (
	// maxWrong is how many passwords may be wrong within LockedFor, of one user and
	// from one address; from then on no other is tried for so long.
	maxWrong = 5
	// LockedFor is how long that is.
	LockedFor = 15 * time.Minute
	// byPassword and byCode are how a login is made (RFC 8176).
	byPassword, byCode = "pwd", "otp"
	// told is how often the audit trail hears of names that nobody has, for an address.
	told = 10 * time.Minute
)

// Typed is what somebody types to log in. It has no String that shows the password.
type Typed struct {
	User     string
	Password Password
	// Code is that of a second factor; empty: none was typed.
	Code    Password
	From    string // where the request comes from: an address or a network
	Request string // for the audit trail
}

// Password is one that is shown nowhere.
type Password string

// String hides it.
func (Password) String() string { return "****" }

// GoString hides it.
func (Password) GoString() string { return "****" }

// Check logs somebody in whose password a directory takes. Who there isn't gets the
// same answer, after about the same time.
func (d *Desk) Check(ctx context.Context, provider string, t Typed) (Person, error) {
	if d.Directory == nil {
		return Person{}, fault.New(fault.Unsupported, "%s", NoDirectoryOnAWS)
	}
	p, made, err := d.speaking(ctx, sso.LDAP, provider)
	if err != nil {
		return Person{}, err
	}
	counts := []string{"from " + t.From, "as " + p.ID + " " + strings.ToLower(strings.TrimSpace(t.User))}
	leave, err := d.admit(ctx, p, t, counts)
	if err != nil {
		return Person{}, err
	}
	defer leave()
	searchPassword, err := d.secret(ctx, p)
	if err != nil {
		return Person{}, d.fails(ctx, p, err)
	}
	claims, err := d.Directory.Check(ctx, p, searchPassword, t.User, string(t.Password))
	var r *Refusal
	if errors.As(err, &r) && r.Failure == Wrong {
		if failed := d.count(ctx, p, t, claims, counts); failed != nil {
			return Person{}, failed
		}
	}
	if err != nil {
		return Person{}, d.refused(ctx, p, claims, t.Request, err)
	}
	user, err := d.enter(ctx, p, made, claims, t.Request)
	return Person{User: user, Provider: p, AMR: []string{byPassword}}, err
}

// admit waits for one's turn in each of what is counted, and refuses whom too many
// passwords are counted of.
func (d *Desk) admit(ctx context.Context, p sso.Provider, t Typed, counts []string) (leave func(), err error) {
	var turns []func()
	leave = func() {
		for _, end := range turns {
			end()
		}
	}
	for _, who := range counts { // always in this order, so that nobody waits for each other
		end, err := d.turns.take(ctx, who)
		if err != nil {
			leave()
			return nil, err
		}
		turns = append(turns, end)
	}
	for _, who := range counts {
		locked, err := d.locked(ctx, who)
		if err == nil && locked {
			d.Log.WarnContext(ctx, "too many passwords were wrong; no other is tried now", "provider", p.ID, "from", t.From)
			err = fault.New(fault.TooMany, "too many passwords were wrong; try again in %d minutes", int(LockedFor.Minutes()))
		}
		if err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// count notes that a password was wrong. The store has it, so that it outlives the
// process; a password that is right makes none of them forgotten, or else who has
// one could try others' from the same address for ever.
func (d *Desk) count(ctx context.Context, p sso.Provider, t Typed, c Claims, counts []string) error {
	for _, who := range counts {
		if _, err := d.note(ctx, who, maxWrong, LockedFor); err != nil {
			return err
		}
	}
	if c.Subject != "" {
		return nil // of whom the audit trail is told by name
	}
	// What isn't anybody's name may be a password that was typed in the wrong field,
	// so nothing of it is told.
	first, err := d.note(ctx, "unknown "+p.ID+" from "+t.From, 1, told)
	if err != nil || !first {
		return err
	}
	_, err = d.Store.AppendAudit(ctx, d.record(p.Actor(), audit.LoginFailed, "session", "unknown", t.Request, "", string(Wrong)+" from "+shown(t.From)))
	return err
}

// note keeps for a time that something happened, up to so often; false: it has
// happened so often within that time.
func (d *Desk) note(ctx context.Context, what string, most int, long time.Duration) (bool, error) {
	for n := range most {
		first, err := d.remember(ctx, wrongKey(what, n+1), d.Now().Add(long))
		if err != nil || first {
			return first, err
		}
	}
	return false, nil
}

// locked says whether no password of somebody is tried now.
func (d *Desk) locked(ctx context.Context, who string) (bool, error) {
	_, err := d.Store.Answer(ctx, wrongKey(who, maxWrong), d.Now())
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// wrongKey is where it is noted. It doesn't tell what was typed.
func wrongKey(what string, n int) string {
	return fmt.Sprintf("login wrong %x %d", sha256.Sum256([]byte(what)), n)
}

// turns let one login at a time be tried for each of what is counted, so that
// nobody tries many at once before the first was counted. One process logs people
// in.
type turns struct {
	mu   sync.Mutex
	busy map[string]*turn
}

type turn struct {
	free chan struct{} // has one while nobody is at it
	uses int
}

// take waits for one's turn.
func (t *turns) take(ctx context.Context, what string) (leave func(), err error) {
	t.mu.Lock()
	if t.busy == nil {
		t.busy = map[string]*turn{}
	}
	own := t.busy[what]
	if own == nil {
		own = &turn{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		t.busy[what] = own
	}
	own.uses++
	t.mu.Unlock()
	gone := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.uses--; own.uses == 0 {
			delete(t.busy, what)
		}
	}
	select {
	case <-own.free:
		return func() {
			own.free <- struct{}{}
			gone()
		}, nil
	case <-ctx.Done():
		gone()
		return nil, fmt.Errorf("wait for another login: %w", context.Cause(ctx))
	}
}
