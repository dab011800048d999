package catalog_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// meanwhile lets somebody do something once, as soon as a list has been read.
type meanwhile struct {
	store.Entities

	do func()
}

func (m *meanwhile) ListEntities(ctx context.Context, scope ref.Scope, kind ref.Kind, env string, page store.Page) ([]store.Entity, string, error) {
	list, next, err := m.Entities.ListEntities(ctx, scope, kind, env, page)
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return list, next, err
}

const twoAdmins = `user: {identifier: ann, name: Ann}
---
user: {identifier: bo, name: Bo}
---
roleAssignment: {identifier: ann, roleIdentifier: _account_admin, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER, identifier: ann}}
---
roleAssignment: {identifier: bo, roleIdentifier: _account_admin, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER, identifier: bo}}
`

// Of two administrators who are removed at the same moment, each while the other one is
// still there to be seen, one stays.
func TestAnAdministratorStaysWhoeverIsRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	account := ref.Scope{Account: "acme"}
	assignment := func(id string) store.EntityKey {
		return store.EntityKey{Scope: account, Kind: ref.RoleAssignment, ID: id}
	}
	const disabled = "user: {identifier: ann, name: Ann, disabled: true}"
	by := audit.Author{Actor: "ann"}
	for name, remove := range map[string]func(*catalog.Catalog) error{
		"deleted": func(c *catalog.Catalog) error {
			return c.Delete(t.Context(), assignment("ann"), catalog.AnyVersion, by, catalog.Deleter{})
		},
		"disabled": func(c *catalog.Catalog) error {
			_, err := c.Save(t.Context(), catalog.Draft{File: "ann.yaml", Scope: account, YAML: []byte(disabled), Version: catalog.AnyVersion}, by)
			return err
		},
		"disabled in a set": func(c *catalog.Catalog) error {
			_, err := c.SaveAll(t.Context(), []catalog.Draft{{File: "ann.yaml", Scope: account, YAML: []byte(disabled), Version: catalog.AnyVersion}}, by)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := opened(t)
			other := catalog.New(catalog.Config{Store: kept, Options: builtin.Options(ref.Scope{}), Now: time.Now})
			watched := &meanwhile{Entities: kept.Entities}
			kept.Entities = watched
			c := catalog.New(catalog.Config{Store: kept, Options: builtin.Options(ref.Scope{}), Now: time.Now})
			for _, doc := range strings.Split(twoAdmins, "---\n") {
				if _, err := c.Save(t.Context(), catalog.Draft{File: "two.yaml", Scope: account, YAML: []byte(doc), Version: catalog.AnyVersion}, by); err != nil {
					t.Fatal(err)
				}
			}
			watched.do = func() {
				if err := other.Delete(t.Context(), assignment("bo"), catalog.AnyVersion, by, catalog.Deleter{}); err != nil {
					t.Error(err)
				}
			}
			if err := remove(c); !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.StaleVersion) {
				t.Errorf("the last administrator was removed: %v", err)
			}
			if _, err := other.Store.Entity(t.Context(), assignment("ann")); err != nil {
				t.Error(err)
			}
		})
	}
}

// Where no directory can be asked none is saved, alone or with others; other
// providers are.
func TestNoDirectoryIsSavedWhereNoneCanBeAsked(t *testing.T) {
	t.Parallel()
	const why = "no directory is asked here"
	account := ref.Scope{Account: "acme"}
	c := catalog.New(catalog.Config{Store: opened(t), Options: builtin.Options(ref.Scope{}), Now: time.Now, NoDirectory: why})
	save := func(doc string) map[string]error {
		d := catalog.Draft{File: "it.yaml", Scope: account, YAML: []byte(doc), Version: catalog.AnyVersion}
		_, alone := c.Save(t.Context(), d, audit.Author{Actor: "me"})
		_, among := c.SaveAll(t.Context(), []catalog.Draft{d}, audit.Author{Actor: "me"})
		return map[string]error{"alone": alone, "in a set": among}
	}
	for how, err := range save("loginProvider: {identifier: dir, name: Directory, type: LDAP, host: ldap.example.com, useSSL: true, bindDN: 'cn=x', bindPasswordRef: idp, userQueries: [{baseDN: 'dc=x'}]}") {
		if !fault.Is(err, fault.Invalid) || !strings.Contains(fault.Told(err), why) {
			t.Errorf("a directory %s: %v", how, err)
		}
	}
	for how, err := range save("loginProvider: {identifier: corp, name: Corp, type: OIDC, issuer: 'https://login.example.com', clientId: slipway}") {
		if err != nil {
			t.Errorf("another provider %s: %v", how, err)
		}
	}
}

// No two users have one mail address, however they come: alone, in a set, or both at once.
func TestAMailAddressIsOneUsers(t *testing.T) {
	t.Parallel()
	account, by := ref.Scope{Account: "acme"}, audit.Author{Actor: "me"}
	draft := func(doc string) catalog.Draft {
		return catalog.Draft{File: "it.yaml", Scope: account, YAML: []byte(doc), Version: catalog.AnyVersion}
	}
	const ann, bo = "user: {identifier: ann, name: Ann, email: ann@example.com}", "user: {identifier: bo, name: Bo, email: ANN@example.com}"
	wanted := func(how string, err error) {
		t.Helper()
		if !fault.Is(err, fault.Invalid) || !strings.Contains(fault.Told(err), `the user "ann" has the mail address ANN@example.com already`) {
			t.Errorf("%s: %v", how, err)
		}
	}
	kept := opened(t)
	other := catalog.New(catalog.Config{Store: kept, Options: builtin.Options(ref.Scope{}), Now: time.Now})
	watched := &meanwhile{Entities: kept.Entities}
	kept.Entities = watched
	c := catalog.New(catalog.Config{Store: kept, Options: builtin.Options(ref.Scope{}), Now: time.Now})
	_, err := c.SaveAll(t.Context(), []catalog.Draft{draft(ann), draft(bo)}, by)
	wanted("in one set", err)
	watched.do = func() {
		if _, err := other.Save(t.Context(), draft(ann), by); err != nil {
			t.Error(err)
		}
	}
	_, err = c.Save(t.Context(), draft(bo), by)
	wanted("at the same moment", err)
	_, err = c.Save(t.Context(), draft(bo), by)
	wanted("afterwards", err)
	_, err = c.CheckAll(t.Context(), []catalog.Draft{draft(bo)})
	wanted("checked", err)
	for _, set := range []string{
		strings.Replace(ann, "Ann,", "Anna,", 1), // it is still theirs
		strings.Replace(ann, "ann@", "anna@", 1) + "\n---\n" + bo,
	} {
		var drafts []catalog.Draft
		for _, doc := range strings.Split(set, "\n---\n") {
			drafts = append(drafts, draft(doc))
		}
		if _, err := c.SaveAll(t.Context(), drafts, by); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
}
