package execution

import (
	"context"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
)

// mayAnswer says whether a person may answer an approval
// (semantics/pipeline §7.7): who is in one of its groups and isn't kept from
// it.
func (s *Service) mayAnswer(ctx context.Context, e store.Execution, ap plan.Approval, user string) error {
	if ap.NotExecutor && strings.EqualFold(e.Actor, user) {
		return fault.New(fault.Forbidden, "%s started the execution and may not approve it", user)
	}
	if slices.ContainsFunc(ap.Refused, func(x string) bool { return strings.EqualFold(x, user) }) {
		return fault.New(fault.Forbidden, "%s may not answer this approval", user)
	}
	for _, name := range ap.Groups {
		if in, err := s.memberOf(ctx, e.Scope, name, user); in || err != nil {
			return err
		}
	}
	return fault.New(fault.Forbidden, "%s is in none of the groups that may answer: %s", user, strings.Join(ap.Groups, ", "))
}

// memberOf says whether a user is in a group, which is read as it is now. A
// group that was deleted has nobody.
func (s *Service) memberOf(ctx context.Context, from ref.Scope, name, user string) (bool, error) {
	if plan.EverybodysGroup(name) {
		return true, nil // whoever may reach the execution
	}
	group, _, err := resolve.Group(ctx, s.Store, from, name)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && group.Has(user), err
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
