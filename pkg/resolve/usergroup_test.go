package resolve_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// groups has a user group of the account.
type groups struct{ store.Entities }

func (groups) Entity(_ context.Context, k store.EntityKey) (store.Entity, error) {
	if k.Kind != ref.UserGroup || k.ID != "ops" || k.Scope != (ref.Scope{Account: "acme"}) {
		return store.Entity{}, fault.New(fault.NotFound, "no %s", k.ID)
	}
	return store.Entity{Key: k, YAML: []byte("userGroup: {identifier: ops, name: Ops, users: [ann@example.com, bo@example.com]}")}, nil
}

// A group is found in the scope that its name says. Everybody's are always there,
// but nobody knows their addresses.
func TestUserGroups(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		mails []string
		want  string // what is wrong with the group; or with asking for its mails, after a colon
	}{
		{"account.ops", []string{"ann@example.com", "bo@example.com"}, ""},
		{"ops", nil, `user group "ops" isn't in acme/default/web`},
		{"org.ops", nil, `user group "ops" isn't in acme/default`},
		{"account.no such", nil, `user group "account.no such"`},
		{"_project_all_users", nil, ":who is in _project_all_users isn't known"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := scopeAt(t, "pipeline.stages.build.spec.execution.steps.ask")
			s.Entities = groups{}
			ofMails, known := strings.CutPrefix(tt.want, ":")
			err := s.UserGroup(tt.name)
			if there := tt.want == "" || known; there != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("the group: %v; want %q", err, tt.want)
			}
			mails, err := s.GroupMails(tt.name)
			if (ofMails == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), ofMails) {
				t.Errorf("its mails: %v; want %q", err, ofMails)
			}
			if diff := cmp.Diff(tt.mails, mails); diff != "" {
				t.Errorf("mails (-want +got):\n%s", diff)
			}
		})
	}
}
