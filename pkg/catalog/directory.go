package catalog

import (
	"context"
	"slices"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Deleter is who deletes something: its zero value is Slipway itself.
type Deleter struct {
	By        *grants.Caller
	Directory bool // a directory, which may delete what it manages
}

// said is what a directory says of a user or a group. The rest of their documents,
// such as a group's ways of being told, is for whoever may edit them.
type said struct {
	sso.Provisioned

	name, email string
	disabled    bool
	link        sso.Link
}

// saidOf gives that, and the members of a group.
func saidOf(e *entity.Entity) (said, []string) {
	switch {
	case e == nil:
	case e.User != nil:
		return said{Provisioned: e.User.Directory, name: e.Name.Value, email: e.User.Email, disabled: e.User.Disabled}, nil
	case e.UserGroup != nil:
		return said{Provisioned: e.UserGroup.Directory, name: e.Name.Value, link: e.UserGroup.Link}, e.UserGroup.Users
	}
	return said{}, nil
}

// managed refuses to change what a directory manages, and to say that it manages
// something. Only the directory does that, and who may do everything in the account:
// without the directory, too, it must be possible to go on.
func managed(ctx context.Context, d Draft, p prepared) error {
	kind := p.stored.Key.Kind // of what is made anew there is none yet
	if p.entity != nil {
		kind = p.entity.Kind
	}
	if d.By == nil || d.Directory || kind != ref.User && kind != ref.UserGroup {
		return nil
	}
	was, before := saidOf(grants.Decoded(p.stored))
	is, after := saidOf(p.entity)
	if !was.Managed && !is.Managed || was == is && slices.Equal(before, after) {
		return nil
	}
	err := d.By.Everything(ctx)
	if !fault.Is(err, fault.Forbidden) {
		return err
	}
	if !was.Managed {
		return fault.New(fault.Conflict, "only a directory says over SCIM that it manages %s; take externallyManaged out", p.next.Key.Describe())
	}
	return fault.New(fault.Conflict, "%s is managed by a directory, over SCIM: change it there, or have who may do everything in the account take externallyManaged out", p.stored.Key.Describe())
}

// provisions says whether somebody is a directory of an account, which says who people
// are and who is in its groups, whatever these may do.
func provisions(ctx context.Context, by *grants.Caller, account string) error {
	return by.Allow(ctx, action.DirectoryProvision, right.Resource{Scope: ref.Scope{Account: account}})
}

// takesOver refuses that a directory gets hold of who may do everything in the
// account: whom it manages it can become, by another mail address.
func takesOver(ctx context.Context, by grants.Caller, p prepared) error {
	stored := grants.Decoded(p.stored)
	if stored == nil || stored.User == nil || stored.User.Directory.Managed {
		return nil
	}
	if stored.User.Disabled {
		return fault.New(fault.Conflict, "%s is disabled, and not by the directory, which takes nobody over who is", p.stored.Key.Describe())
	}
	lacks, err := by.Other(p.stored.Key, p.stored.UpdatedAt, p.stored.Key.ID).Lacks(ctx, right.Legacy(ref.Scope{Account: p.stored.Key.Scope.Account}))
	if err != nil || lacks {
		return err
	}
	return fault.New(fault.Conflict, "%s may do everything in the account, and a directory takes nobody over who may; to let it, save externallyManaged: true in the user's document", p.stored.Key.Describe())
}
