package execution

import (
	"context"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Person is who would answer an approval.
type Person struct {
	Name string // as audits have it
	Mail string // by which groups may name him, too; empty: there is none
	// Outside: he may not see the pipeline, and so isn't among everybody.
	Outside bool
	// Principal is the user or the service account; none: nobody in particular.
	Principal store.EntityKey
}

// is says whether a text means the person. Case says nothing.
func (p Person) is(text string) bool {
	return strings.EqualFold(text, p.Name) || p.Mail != "" && strings.EqualFold(text, p.Mail)
}

// named is who has a name and shows no token. The user of that name, if there is one, has
// a mail address, by which an approval may refuse that one, too.
func (s *Service) named(ctx context.Context, account, name string) (Person, error) {
	if ref.CheckID(ref.User, name) != nil {
		return Person{Name: name}, nil
	}
	saved, err := s.Store.Entity(ctx, store.EntityKey{Scope: ref.Scope{Account: account}, Kind: ref.User, ID: name})
	if fault.Is(err, fault.NotFound) {
		return Person{Name: name}, nil
	}
	if err != nil {
		return Person{}, err
	}
	e := grants.Decoded(saved)
	if e == nil || e.User == nil || e.User.Disabled {
		return Person{}, fault.New(fault.Forbidden, "the user %s is disabled, and may not answer this approval", name)
	}
	return Person{Name: name, Mail: e.User.Email}, nil
}

// mayAnswer says whether a person may answer an approval
// (semantics/pipeline §7.7): who is in one of its groups and isn't kept from
// it.
func (s *Service) mayAnswer(ctx context.Context, e store.Execution, ap plan.Approval, who Person) error {
	if ap.NotExecutor && (who.is(e.Actor) || e.As != nil && who.Principal.Kind != "" && who.Principal == e.As.Principal) {
		return fault.New(fault.Forbidden, "%s started the execution and may not approve it", who.Name)
	}
	if slices.ContainsFunc(ap.Refused, who.is) {
		return fault.New(fault.Forbidden, "%s may not answer this approval", who.Name)
	}
	if who.Principal.Kind == ref.ServiceAccount {
		return listed(e.Scope, ap, who)
	}
	for _, name := range ap.Groups {
		if in, err := s.memberOf(ctx, e.Scope, name, who); in || err != nil {
			return err
		}
	}
	return fault.New(fault.Forbidden, "%s is in none of the groups that may answer: %s", who.Name, strings.Join(ap.Groups, ", "))
}

// listed says whether a service account may answer: where the step names it, and
// nowhere else. It is in no group.
func listed(from ref.Scope, ap plan.Approval, who Person) error {
	for _, name := range ap.ServiceAccounts {
		r, err := ref.Parse(name, from)
		if err == nil && (store.EntityKey{Scope: r.Scope, Kind: ref.ServiceAccount, ID: r.ID}) == who.Principal {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "%s isn't among the serviceAccounts that may answer", who.Name)
}

// memberOf says whether a person is in a group, which is read as it is now. A
// group that was deleted has nobody.
func (s *Service) memberOf(ctx context.Context, from ref.Scope, name string, who Person) (bool, error) {
	if plan.EverybodysGroup(name) {
		return !who.Outside, nil // whoever may see the execution
	}
	group, _, err := resolve.Group(ctx, s.Store, from, name)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && (group.Has(who.Name) || who.Mail != "" && group.Has(who.Mail)), err
}

// FindCallback finds the one step of an execution that waits for approval and
// has the callback id; empty: the one step that waits
// (semantics/pipeline §7.7).
func (s *Service) FindCallback(ctx context.Context, id, callback string) (plan.NodeID, error) {
	nodes, err := s.Store.AllNodes(ctx, id)
	if err != nil {
		return "", err
	}
	var found []plan.NodeID
	for _, n := range nodes {
		if asks(n.ID, &n.State) == nil && (callback == "" || n.State.Approval.Callback == callback) {
			found = append(found, n.ID)
		}
	}
	if len(found) != 1 {
		return "", fault.New(fault.Conflict, "%d steps of execution %s wait for approval with the callback id %q; want exactly one", len(found), id, callback)
	}
	return found[0], nil
}
