package login

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Claims are what a provider says of somebody.
type Claims struct {
	Subject string
	All     map[string]any
}

// text is a claim that is one text; empty: there is none.
func (c Claims) text(name string) string {
	s, _ := c.All[name].(string)
	return s
}

// list is a claim that is a list of texts, or one; false: it isn't there, or is
// something else.
func (c Claims) list(name string) ([]string, bool) {
	switch v := c.All[name].(type) {
	case string:
		return []string{v}, true
	case []any:
		out := []string{}
		for _, one := range v {
			s, ok := one.(string)
			if !ok {
				return nil, false
			}
			out = append(out, s)
		}
		return out, true
	}
	return nil, false
}

// amr is how a login was made, as far as a token may tell: as many words as matter.
func (c Claims) amr() []string {
	const most, longest = 8, 200
	used, _ := c.list("amr")
	used = slices.DeleteFunc(slices.Clone(used), func(m string) bool { return m == "" || len(m) > longest })
	return used[:min(len(used), most)]
}

// holds says whether a claim is a value, or a list with it.
func (c Claims) holds(name, value string) bool {
	switch v := c.All[name].(type) {
	case bool:
		return strconv.FormatBool(v) == value
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64) == value
	}
	list, _ := c.list(name)
	return slices.Contains(list, value)
}

// bounds of what is kept of a login.
const (
	maxGroups    = 1000
	maxGroupName = 256
)

// enter finds the user whom a provider names, makes or binds it, and keeps the
// groups.
func (d *Desk) enter(ctx context.Context, p sso.Provider, made time.Time, c Claims, request string) (store.EntityKey, error) {
	address, err := admitted(p, c)
	if err == nil {
		err = d.mayBe(ctx, address)
	}
	if err != nil {
		return store.EntityKey{}, d.refused(ctx, p, c, request, err)
	}
	for range maxRaces {
		user, err := d.settle(ctx, p, made, c, address, request)
		switch {
		case err == nil:
			return user, nil
		case !fault.Is(err, fault.StaleVersion):
			return store.EntityKey{}, d.refused(ctx, p, c, request, err)
		}
	}
	return store.EntityKey{}, fault.New(fault.Conflict, "the user changed %d times meanwhile; log in again", maxRaces)
}

// maxRaces bounds how often a login is tried that others get in the way of.
const maxRaces = 5

// admitted is the mail address of who may log in as far as the claims say.
func admitted(p sso.Provider, c Claims) (string, error) {
	address := c.text(p.EmailClaim)
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address {
		return "", refuse(NoMail, fmt.Errorf("the claim %s holds no mail address", p.EmailClaim))
	}
	if !p.Unverified && !c.holds("email_verified", "true") {
		return "", refuse(NoMail, errors.New("the provider doesn't say that the address is verified"))
	}
	if !p.Takes(address) {
		return "", refuse(Domain, fmt.Errorf("allowedDomains has none of %s", shown(address)))
	}
	if len(p.AMR) > 0 {
		used, _ := c.list("amr")
		if !slices.ContainsFunc(p.AMR, func(m string) bool { return slices.Contains(used, m) }) {
			return "", refuse(Factor, fmt.Errorf("amr is %.200q; want one of %v", used, p.AMR))
		}
	}
	return strings.ToLower(address), nil
}

// settle finds, makes or binds the user, once.
func (d *Desk) settle(ctx context.Context, p sso.Provider, made time.Time, c Claims, address, request string) (store.EntityKey, error) {
	user, old, err := d.bound(ctx, p, made, c.Subject)
	if err == nil && user.ID == "" {
		user, old, err = d.byMail(ctx, p, made, address)
	}
	if err == nil && user.ID == "" {
		if user, err = d.join(ctx, p, c, address, request); err == nil {
			old, err = d.binding(ctx, p, made, user) // which may be left of another of that name
		}
	}
	if err != nil {
		return user, err
	}
	saved, err := d.Store.Entity(ctx, user)
	if err != nil {
		return user, err
	}
	if e := grants.Decoded(saved); e == nil || e.User == nil || e.User.Disabled {
		return user, refuse(Disabled, fmt.Errorf("user %s is disabled", user.ID))
	}
	return user, d.bind(ctx, p, c, old, binding{user: user.ID, address: address, request: request})
}

// bound is the user that whom a provider names was bound to before; empty: none.
func (d *Desk) bound(ctx context.Context, p sso.Provider, made time.Time, subject string) (store.EntityKey, kept, error) {
	saved, err := d.Store.Entity(ctx, access.SubjectKey(d.Account, p.ID, p.Issuer, subject))
	if fault.Is(err, fault.NotFound) {
		return store.EntityKey{}, kept{}, nil
	}
	if err != nil {
		return store.EntityKey{}, kept{}, err
	}
	user := store.EntityKey{Scope: ref.Scope{Account: d.Account}, Kind: ref.User, ID: sso.Decode(saved.YAML).User}
	b, err := d.binding(ctx, p, made, user)
	if err != nil || b.Subject != subject {
		return store.EntityKey{}, kept{}, err
	}
	return user, b, nil
}

// kept is a binding as it was read: what is written over it is written over that.
type kept struct {
	sso.Binding

	version int64
}

// binding is how a user that there is logs in; nothing: it never did, or the user
// or the provider has been made since.
func (d *Desk) binding(ctx context.Context, p sso.Provider, made time.Time, user store.EntityKey) (kept, error) {
	saved, err := d.Store.Entity(ctx, user)
	if fault.Is(err, fault.NotFound) {
		return kept{}, nil
	}
	if err != nil {
		return kept{}, err
	}
	stored, err := d.Store.Entity(ctx, access.BindingKey(d.Account, user.ID))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return kept{}, err
	}
	b, none := sso.Decode(stored.YAML), kept{version: stored.Version}
	switch {
	case b.Subject == "" || saved.CreatedAt.After(b.Since):
		return none, nil
	case b.Provider == p.ID && !b.Is(p, made):
		return none, nil
	case b.Provider == p.ID:
		return kept{b, stored.Version}, nil
	}
	// A user who is bound to a provider that is gone may be bound again.
	_, there, err := d.provider(ctx, b.Provider)
	if fault.Is(err, fault.NotFound) || err == nil && there.After(b.Since) {
		return none, nil
	}
	return kept{b, stored.Version}, err
}

// byMail is the one user who has a mail address, and isn't bound to somebody else.
func (d *Desk) byMail(ctx context.Context, p sso.Provider, made time.Time, address string) (store.EntityKey, kept, error) {
	var found []store.EntityKey
	for saved, err := range store.All(ctx, d.Store, ref.Scope{Account: d.Account}, ref.User, "") {
		if err != nil {
			return store.EntityKey{}, kept{}, err
		}
		if e := grants.Decoded(saved); e != nil && e.User != nil && strings.EqualFold(e.User.Email, address) {
			found = append(found, saved.Key)
		}
	}
	switch len(found) {
	case 0:
		return store.EntityKey{}, kept{}, nil
	case 1:
	default:
		return store.EntityKey{}, kept{}, refuse(Elsewhere, fmt.Errorf("%d users have the mail address %s", len(found), shown(address)))
	}
	b, err := d.binding(ctx, p, made, found[0])
	if err == nil && b.Subject != "" {
		err = refuse(Elsewhere, fmt.Errorf("user %s is bound to somebody else, of the provider %s", found[0].ID, b.Provider))
	}
	return found[0], kept{version: b.version}, err
}

// join makes a user of somebody who isn't one, if the provider's document says so.
func (d *Desk) join(ctx context.Context, p sso.Provider, c Claims, address, request string) (store.EntityKey, error) {
	if !p.JIT.Enabled {
		return store.EntityKey{}, refuse(Stranger, fmt.Errorf("no user has the mail address %s, and jit isn't enabled", shown(address)))
	}
	if p.JIT.Claim != "" && !c.holds(p.JIT.Claim, p.JIT.Value) {
		return store.EntityKey{}, refuse(Stranger, fmt.Errorf("the claim %s doesn't hold %s", p.JIT.Claim, p.JIT.Value))
	}
	scope := ref.Scope{Account: d.Account}
	for _, id := range sso.Identifiers(address) {
		text, err := yaml.Marshal(map[string]any{"user": map[string]any{"identifier": id, "name": nameOf(c.text(p.NameClaim), id), "email": address}})
		if err != nil {
			return store.EntityKey{}, fmt.Errorf("write a user: %w", err)
		}
		made, err := d.Join(ctx, scope, text, audit.Author{Actor: p.Actor(), Request: request})
		if err == nil || !fault.Is(err, fault.StaleVersion) {
			return made, err
		}
	}
	return store.EntityKey{}, refuse(Elsewhere, fmt.Errorf("there is a user of each name that could be %s's", shown(address)))
}

// nameOf is what people call a new user.
func nameOf(said, id string) string {
	name := strings.TrimSpace(said)
	if ref.CheckName(name) != nil {
		return id
	}
	return name
}

// binding is what a login leaves of a user.
type binding struct{ user, address, request string }

// bind keeps whom a provider has named and the groups, unless that is kept
// already. A token without groups takes nobody out of one.
func (d *Desk) bind(ctx context.Context, p sso.Provider, c Claims, old kept, by binding) error {
	next := old.Binding
	next.User, next.Provider, next.Issuer, next.Subject, next.Email = by.user, p.ID, p.Issuer, c.Subject, by.address
	next.Folds = p.Type == sso.LDAP // as in a directory
	if old.Subject == "" {
		next.Since, next.Groups = d.Now(), []string{}
	}
	if groups, ok := d.groups(ctx, p, c); ok {
		next.Groups = groups
	}
	if old.Subject != "" && old.Email == next.Email && slices.Equal(old.Groups, next.Groups) {
		return nil
	}
	text, err := next.Encode()
	if err != nil {
		return err
	}
	actor, at := p.Actor(), d.Now()
	keys := []store.EntityKey{access.BindingKey(d.Account, by.user)}
	told := []audit.Record{d.record(actor, audit.Update, string(ref.User), by.user, by.request, groupText(old.Groups), groupText(next.Groups))}
	if old.Subject == "" {
		keys = append(keys, access.SubjectKey(d.Account, p.ID, p.Issuer, c.Subject))
		told = append(told, d.record(actor, audit.Update, string(ref.User), by.user, by.request, "", "logs in as "+shown(c.Subject)+" of the login provider "+p.ID))
	}
	saves := make([]store.Save, len(keys))
	for i, key := range keys {
		was, err := d.Store.Entity(ctx, key)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		e := store.Entity{Key: key, Version: was.Version, YAML: text, UpdatedBy: actor, CreatedAt: at, UpdatedAt: at}
		if i == 0 {
			e.Version = old.version // another login may have come between
		}
		if was.Version > 0 {
			e.CreatedAt = was.CreatedAt
		}
		saves[i] = store.Save{Entity: e, Audit: told[i]}
	}
	_, err = d.Store.SaveEntities(ctx, saves)
	return err
}

// groups are those that the provider names, sorted; false: it says nothing of
// groups, or that they are too many to be said.
func (d *Desk) groups(ctx context.Context, p sso.Provider, c Claims) ([]string, bool) {
	groups, said := c.list(p.GroupsClaim)
	elsewhere, _ := c.All["_claim_names"].(map[string]any)
	_, overage := elsewhere[p.GroupsClaim]
	switch {
	case overage:
		d.Log.WarnContext(ctx, "the provider has too many groups for a token, so that they stay as they were; have it send app roles, or only groups that are assigned to the application", "provider", p.ID)
		return nil, false
	case !said:
		d.Log.WarnContext(ctx, "the provider says nothing of groups, so that they stay as they were", "provider", p.ID, "claim", p.GroupsClaim)
		return nil, false
	}
	groups = slices.DeleteFunc(groups, func(g string) bool { return g == "" || len(g) > maxGroupName })
	slices.Sort(groups)
	groups = slices.Compact(groups)
	if len(groups) > maxGroups {
		d.Log.WarnContext(ctx, "the provider names more groups than are kept, so that they stay as they were", "provider", p.ID, "groups", len(groups), "most", maxGroups)
		return nil, false
	}
	return groups, true
}

// groupText tells of groups in the audit trail.
func groupText(groups []string) string { return fmt.Sprintf("groups of the provider: %.1000q", groups) }
