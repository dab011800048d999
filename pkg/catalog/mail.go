package catalog

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// sameMail is the code of a user who has the mail address of another one.
const sameMail = "SAME_MAIL"

// mails are the mail addresses of users, by their identifiers.
type mails map[string]string

// add notes the users of an account that are among entities, over those who were saved.
func (m mails) add(account string, all []*entity.Entity) {
	for _, e := range all {
		if e != nil && e.User != nil && e.Scope.Account == account {
			m[e.Identifier.Value] = e.User.Email
		}
	}
}

// taken refuses a user whose mail address another one has: groups and logins know people
// by it, so each of the two would have the rights of both, and neither could log in.
func (m mails) taken(e *entity.Entity, report *yamldoc.Report) {
	address := e.User.Email
	if address == "" {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(m)) {
		if id == e.Identifier.Value || !strings.EqualFold(m[id], address) {
			continue
		}
		report.ErrorAt(e.Identifier.At, sameMail, "the user %q has the mail address %s already; groups and logins know people by it, so each needs one of their own", id, yamldoc.Shorten(address))
		return
	}
}

// oneMail refuses a user who gets the mail address of another. Who has had it may be saved
// with it, so that one of two who share theirs from before can be changed. Saves at the
// same moment are apart by the access version, which was read before.
func (n *neighbours) oneMail(ctx context.Context, entities store.Entities, e *entity.Entity, d Draft, stored store.Entity) error {
	if e.User == nil || e.User.Email == "" || strings.EqualFold(called(stored), e.User.Email) {
		return nil
	}
	if n == nil {
		n = &neighbours{}
	}
	if n.mails == nil {
		all := mails{}
		for saved, err := range store.All(ctx, entities, ref.Scope{Account: e.Scope.Account}, ref.User, "") {
			if err != nil {
				return err
			}
			all[saved.Key.ID] = called(saved)
		}
		all.add(e.Scope.Account, n.set)
		n.mails = all
	}
	report := yamldoc.NewReport(d.File)
	n.mails.taken(e, report)
	return report.Err()
}
