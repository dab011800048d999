package grants

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Caller is who asks for something. All that is done for somebody is asked of
// it, and of nothing else. Its zero value may do nothing.
//
// It is of one request: what it may do in a scope it finds out once, all by the same
// access version.
type Caller struct {
	reader *Reader
	as     store.Identity
	actor  string // for people
	from   allowlist.Origin
	asked  *asked
}

// asked are the rights that a caller has had in scopes, and what they are read of.
type asked struct {
	mu sync.Mutex
	in map[ref.Scope][]right.Right

	reading sync.Mutex
	at      *known
}

// Caller is who acts as somebody.
func (r *Reader) Caller(as store.Identity, actor string) Caller {
	return Caller{reader: r, as: as, actor: actor, asked: &asked{in: map[ref.Scope][]right.Right{}}}
}

// Now is the caller as of another moment: what it may do is found out anew.
func (c Caller) Now() Caller { return c.reader.Caller(c.as, c.actor).From(c.from) }

// From is the caller as one that asks from somewhere.
func (c Caller) From(from allowlist.Origin) Caller {
	c.from = from
	return c
}

// Origin is where the caller asks from; nothing: it is Slipway itself that asks.
func (c Caller) Origin() allowlist.Origin { return c.from }

// Admitted refuses the caller if the account's IP allow lists keep it out.
func (c Caller) Admitted(ctx context.Context) error {
	if c.reader == nil || c.from == (allowlist.Origin{}) {
		return nil
	}
	at, err := c.current(ctx)
	if err != nil {
		return err
	}
	return c.reader.admit(ctx, at, c.as.Within.Account, c.from)
}

// current is what is known of the caller's account, as it was when the caller first
// asked.
func (c Caller) current(ctx context.Context) (*known, error) {
	c.asked.reading.Lock()
	defer c.asked.reading.Unlock()
	if c.asked.at != nil {
		return c.asked.at, nil
	}
	at, err := c.reader.current(ctx, c.as.Within.Account)
	if err == nil {
		c.asked.at = at
	}
	return at, err
}

// Other is another principal, as such a one would ask.
func (c Caller) Other(principal store.EntityKey, since time.Time, actor string) Caller {
	return c.reader.Caller(store.Identity{Principal: principal, Within: ref.Scope{Account: principal.Scope.Account}, Since: since}, actor)
}

// Actor is the caller's name for people.
func (c Caller) Actor() string { return c.actor }

// As is as whom the caller acts.
func (c Caller) As() store.Identity { return c.as }

// Acting is as whom an execution acts that the caller starts; nil: as nobody in
// particular. The scope of the caller's token says what is started; what it then
// uses, wherever that is, the principal must be allowed to.
func (c Caller) Acting() *store.Identity {
	if c.as.Principal.Kind == "" {
		return nil
	}
	as := c.as
	as.Within = ref.Scope{Account: as.Within.Account}
	return &as
}

// Rights are those that the caller has in a scope.
func (c Caller) Rights(ctx context.Context, scope ref.Scope) ([]right.Right, error) {
	if c.reader == nil {
		return nil, nil
	}
	c.asked.mu.Lock()
	defer c.asked.mu.Unlock()
	if rights, known := c.asked.in[scope]; known {
		return rights, nil
	}
	rights, err := c.rights(ctx, scope)
	if err == nil {
		c.asked.in[scope] = rights
	}
	return rights, err
}

// Allow says whether the caller may do an action to a resource. What it may not
// even see is as good as not there.
func (c Caller) Allow(ctx context.Context, do action.Action, on right.Resource) error {
	d, err := c.Decide(ctx, do, on)
	if err != nil || d.Allowed {
		return err
	}
	refusal := d.Refusal(c.actor, on)
	entry := c.reader.Entry(do)
	if len(d.Missing) == 0 || on.ID == "" || entry.Verb == action.Create || entry.Verb == action.Save {
		return refusal
	}
	seen, err := c.Decide(ctx, action.EntityView, on.Of(entry))
	if err != nil {
		return err
	}
	if seen.Allowed {
		return refusal
	}
	return fault.New(fault.NotFound, "there is no %q in %s that %s may see: it isn't there, or %s is missing", on.ID, on.Scope, c.actor, anyOf(d.Missing))
}

func anyOf(missing []action.Permission) string { return strings.Join(action.Names(missing), " or ") }

// Decide is Allow as a value, which says why.
func (c Caller) Decide(ctx context.Context, do action.Action, on right.Resource) (right.Decision, error) {
	if c.reader == nil {
		return right.Decision{}, fault.New(fault.Forbidden, "nobody asks for this")
	}
	entry := c.reader.Entry(do)
	if right.Free(entry, on) {
		active, err := c.Active(ctx)
		return right.Decision{Allowed: active}, err
	}
	rights, err := c.Rights(ctx, on.Scope)
	if err != nil {
		return right.Decision{}, err
	}
	if on.Attribute == nil {
		on.Attribute = c.reader.attributes(ctx, on.Of(entry))
	}
	return right.Decide(rights, entry, on), nil
}

// Active says whether the caller is somebody who may do anything at all.
func (c Caller) Active(ctx context.Context) (bool, error) {
	if c.as.Principal == (store.EntityKey{}) {
		return true, nil
	}
	at, err := c.current(ctx)
	if err != nil {
		return false, err
	}
	p, err := c.reader.principal(ctx, at, c.as.Principal)
	return p.is(c.as), err
}

// Mail is the caller's address, by which groups may name it; empty: there is none.
func (c Caller) Mail(ctx context.Context) (string, error) {
	if c.reader == nil || c.as.Principal.Kind != ref.User {
		return "", nil
	}
	at, err := c.current(ctx)
	if err != nil {
		return "", err
	}
	p, err := c.reader.principal(ctx, at, c.as.Principal)
	if err != nil || p.user == nil {
		return "", err
	}
	return p.user.Email, nil
}

// Uses says whether what the caller runs may use something that it names. What
// isn't used by name, such as an input set, is free.
func (c Caller) Uses(ctx context.Context, kind ref.Kind, name ref.Ref) error {
	do, known := map[ref.Kind]action.Action{
		ref.Service: action.ServiceAccess, ref.Environment: action.EnvironmentAccess, ref.EnvironmentGroup: action.EnvironmentGroupAccess,
		ref.Infrastructure: action.EnvironmentAccess, ref.Connector: action.ConnectorTest, ref.Secret: action.SecretAccess, ref.Template: action.TemplateAccess,
		store.FileKind: action.FileAccess, store.StableTemplate: action.TemplateAccess, ref.Pipeline: action.PipelineRun,
	}[kind]
	if !known {
		return nil
	}
	d, err := c.Decide(ctx, do, right.Resource{Scope: name.Scope, ID: name.ID})
	if err != nil || d.Allowed {
		return err
	}
	return fault.New(fault.Forbidden, "%s may not use %s %q of %s: %s is missing", c.actor, kind, name.ID, name.Scope, anyOf(d.Missing))
}

// Deploys says whether what the caller runs may deploy a service to an environment.
func (c Caller) Deploys(ctx context.Context, service, environment ref.Ref) error {
	if err := c.Uses(ctx, ref.Service, service); err != nil {
		return err
	}
	return c.Uses(ctx, ref.Environment, environment)
}

// Covers refuses to give what the caller doesn't have: each of the rights must
// be the caller's, too.
func (c Caller) Covers(ctx context.Context, given []right.Right) error {
	for _, g := range given {
		for _, extent := range g.Within {
			own, err := c.Rights(ctx, extent.Scope)
			if err != nil {
				return err
			}
			part := g
			part.Within = []right.Extent{extent}
			if lacking := right.Lacking(own, part); len(lacking) > 0 {
				return fault.New(fault.Forbidden, "this would give more than %s has: in %s %s is missing", c.actor, reach(extent), shown(lacking))
			}
		}
	}
	return nil
}

func reach(e right.Extent) string {
	if e.Children {
		return e.Scope.String() + " and what is in it"
	}
	return e.Scope.String()
}

// shown names some permissions of many.
func shown(all []action.Permission) string {
	const most = 5
	if len(all) > most {
		return fmt.Sprintf("%s, and %d more", anyOf(all[:most]), len(all)-most)
	}
	return strings.Join(action.Names(all), ", ")
}

// Everything says whether the caller may do everything in an account.
func (c Caller) Everything(ctx context.Context) error {
	return c.Covers(ctx, []right.Right{right.Legacy(ref.Scope{Account: c.as.Within.Account})})
}

// Lacks says whether the caller lacks something of a right.
func (c Caller) Lacks(ctx context.Context, of right.Right) (bool, error) {
	err := c.Covers(ctx, []right.Right{of})
	if fault.Is(err, fault.Forbidden) {
		return true, nil
	}
	return false, err
}

// Sees gives those of a list that the caller may see.
func Sees[T any](ctx context.Context, c Caller, do action.Action, list []T, on func(T) right.Resource) ([]T, error) {
	var failed error
	return slices.DeleteFunc(list, func(one T) bool {
		d, err := c.Decide(ctx, do, on(one))
		if err != nil {
			failed = err
		}
		return !d.Allowed
	}), failed
}
