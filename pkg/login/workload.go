package login

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// maxWorkloads is how many tokens of one trust rule there are at once.
const maxWorkloads = 1000

// Shown is the token that a program shows to log in.
type Shown struct {
	Rule    string // the provider by whose document; empty: the one that takes it
	Token   Password
	From    string // where the request comes from
	Request string // for the audit trail
}

// Workload swaps the token that an issuer has given to a program, such as one of
// CI, for one of the service account that a trust rule names. It may be shown again
// while it counts: what fails on the way is tried again.
func (d *Desk) Workload(ctx context.Context, s Shown) (store.AccessToken, string, error) {
	leave, err := d.turns.take(ctx, "workload from "+s.From) // no network has many tokens looked at at once
	if err != nil {
		return store.AccessToken{}, "", err
	}
	defer leave()
	rules, err := d.rules(ctx, s)
	if err != nil {
		return store.AccessToken{}, "", err
	}
	p, c, err := d.taken(ctx, rules, s)
	if err != nil {
		return store.AccessToken{}, "", d.untaken(ctx, p, c, s, err)
	}
	account := store.EntityKey{Scope: p.Trust.Account.Scope, Kind: ref.ServiceAccount, ID: p.Trust.Account.ID}
	if _, err := d.Store.Entity(ctx, account); fault.Is(err, fault.NotFound) {
		return store.AccessToken{}, "", d.untaken(ctx, p, c, s, refuse(Broken, fmt.Errorf("there is no %s", account.Describe())))
	} else if err != nil {
		return store.AccessToken{}, "", err
	}
	return d.act(ctx, p, c, account, s)
}

// rules are the trust rules that may take a token, by what it says of itself, which
// proves nothing yet: so nobody is asked whom no rule names.
func (d *Desk) rules(ctx context.Context, s Shown) ([]sso.Provider, error) {
	issuer := issuerOf(string(s.Token))
	var out []sso.Provider
	for saved, err := range store.All(ctx, d.Store, ref.Scope{Account: d.Account}, ref.LoginProvider, "") {
		if err != nil {
			return nil, err
		}
		e := grants.Decoded(saved)
		if e == nil || e.LoginProvider == nil || e.LoginProvider.Type != sso.Workload {
			continue
		}
		if p := *e.LoginProvider; p.Issuer == issuer && (s.Rule == "" || s.Rule == p.ID) {
			out = append(out, p)
		}
	}
	return out, nil
}

// issuerOf is whom a token says that it is of.
func issuerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var said struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(text, &said) != nil {
		return ""
	}
	return said.Issuer
}

// taken is the rule that takes a token, and what that says.
func (d *Desk) taken(ctx context.Context, rules []sso.Provider, s Shown) (sso.Provider, Claims, error) {
	var found []sso.Provider
	var said Claims
	none := sso.Provider{ID: cmp.Or(s.Rule, "?"), Type: sso.Workload}
	why := refuse(Untrusted, errors.New("no rule names its issuer"))
	for _, p := range rules {
		c, err := d.Tokens.Workload(ctx, p, string(s.Token))
		if err != nil { // another rule may have another audience
			var r *Refusal
			if none, why = p, err; errors.As(err, &r) && r.Failure == Unproved {
				why = refuse(Unsigned, err)
			}
			continue
		}
		said = c
		if lacks := p.Trust.Lacks(c.All); lacks != "" {
			none, why = p, refuse(Untrusted, fmt.Errorf("the claim %s is %s", lacks, shown(fmt.Sprint(c.All[lacks]))))
			continue
		}
		found = append(found, p)
	}
	switch len(found) {
	case 0:
		return none, said, why
	case 1:
		return found[0], said, nil
	}
	names := make([]string, len(found))
	for i, p := range found {
		names[i] = p.ID
	}
	return none, said, fault.New(fault.Invalid, "the token is taken by several trust rules; want one of %s", strings.Join(names, ", "))
}

// untaken tells of a token that isn't taken: of whom an issuer has named each time,
// and else once in a while for a network, as anybody can bring that about.
func (d *Desk) untaken(ctx context.Context, p sso.Provider, c Claims, s Shown, err error) error {
	var r *Refusal
	if !errors.As(err, &r) {
		return err
	}
	if c.Subject != "" {
		return d.refused(ctx, p, c, s.Request, err)
	}
	first, failed := d.note(ctx, "workload from "+s.From, 1, told)
	if failed == nil && first {
		_, failed = d.Store.AppendAudit(ctx, d.record(p.Actor(), audit.LoginFailed, "token", "unknown", s.Request, "", string(r.Failure)+" from "+shown(s.From)))
	}
	if failed != nil {
		return failed
	}
	return d.fails(ctx, p, err)
}

// act makes the token by which a program acts as a service account, in the place of
// one that has ended, so that no more are kept than there were at once.
func (d *Desk) act(ctx context.Context, p sso.Provider, c Claims, account store.EntityKey, s Shown) (store.AccessToken, string, error) {
	name := "workload " + p.ID
	all, err := d.Store.ListTokens(ctx, d.Account, store.TokenUser)
	if err != nil {
		return store.AccessToken{}, "", err
	}
	all = slices.DeleteFunc(all, func(t store.AccessToken) bool {
		return t.Name != name || t.Principal != account || t.ExpiresAt.IsZero()
	})
	id, live := "", 0
	for _, t := range all {
		if d.Now().Before(t.ExpiresAt) {
			live++
			continue
		}
		if id != "" {
			continue
		}
		free, err := d.remember(ctx, fmt.Sprintf("workload token %s of %d", t.ID, t.CreatedAt.UnixNano()), d.Now().Add(24*time.Hour))
		if err != nil {
			return store.AccessToken{}, "", err
		}
		if free { // of several at once it is one's
			id = t.ID
		}
	}
	if live >= maxWorkloads {
		return store.AccessToken{}, "", fault.New(fault.TooMany, "there are %d tokens of the trust rule %q; wait until some end", live, p.ID)
	}
	t, text := access.Mint(access.Grant{
		Kind: store.TokenUser, ID: id, Scope: account.Scope, Name: name, Actor: access.ActorOf(account), Principal: account, ExpiresAt: d.Now().Add(p.Trust.TTL),
	}, d.Now())
	if err := d.Store.PutToken(ctx, t); err != nil {
		return store.AccessToken{}, "", err
	}
	record := d.record(t.Actor, audit.Login, string(t.Kind), t.ID, s.Request, "", "by the trust rule "+p.ID+", as "+shown(c.Subject)+" of "+p.Issuer)
	record.Scope = t.Scope
	_, err = d.Store.AppendAudit(ctx, record)
	return t, text, err
}
