package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// recordsOf are the records of a scope: that of its organization, and that of its
// project. An account has none.
func recordsOf(scope ref.Scope) []store.EntityKey {
	var out []store.EntityKey
	if scope.Org != "" {
		out = append(out, store.EntityKey{Scope: ref.Home(ref.Organization, scope), Kind: ref.Organization, ID: scope.Org})
	}
	if scope.Project != "" {
		out = append(out, store.EntityKey{Scope: ref.Home(ref.Project, scope), Kind: ref.Project, ID: scope.Project})
	}
	return out
}

// Found sees to it that the scopes in which something is about to be saved have
// records. Nobody has to make a project before it is used: one that is named for the
// first time is called by its identifier until somebody saves another name.
//
// A project that is deleted at the same moment has no record although something was
// saved in it, until something is saved there again.
func (c *Catalog) Found(ctx context.Context, by audit.Author, scope ref.Scope) error {
	return c.scopes().found(ctx, by, []store.EntityKey{{Scope: scope}})
}

// scopes are organizations and projects, and what is in them.
type scopes struct {
	store store.Store
	now   func() time.Time
}

func (c *Catalog) scopes() scopes { return scopes{c.Store, c.Now} }

// found is Found for several documents, which may be records themselves.
func (s scopes) found(ctx context.Context, by audit.Author, saved []store.EntityKey) error {
	var wanted []store.EntityKey
	for _, doc := range saved {
		for _, key := range recordsOf(doc.Scope) {
			if !slices.Contains(wanted, key) && !slices.Contains(saved, key) {
				wanted = append(wanted, key)
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	there, err := s.store.EntitiesAt(ctx, wanted)
	if err != nil {
		return err
	}
	for _, key := range wanted {
		if slices.ContainsFunc(there, func(e store.Entity) bool { return e.Key == key }) {
			continue
		}
		e := store.Entity{Key: key, Name: strings.ReplaceAll(key.ID, "$", "_"), UpdatedBy: by.Actor, CreatedAt: s.now(), UpdatedAt: s.now()}
		e.YAML = scopeDocument(key, e.Name)
		_, err := s.store.SaveEntity(ctx, e, by.Record(s.now(), key.Scope, audit.Create, string(key.Kind), key.ID, string(e.YAML)))
		if err != nil && !fault.Is(err, fault.StaleVersion) { // somebody else was first
			return err
		}
	}
	return nil
}

// scopeDocument is the record of a scope that nobody has written. Its identifiers, which
// have no character that Go writes otherwise than YAML reads it, are texts there whatever
// they say.
func scopeDocument(key store.EntityKey, name string) []byte {
	doc := fmt.Sprintf("%s:\n  identifier: %q\n  name: %q\n", key.Kind, key.ID, name)
	if key.Kind == ref.Project {
		doc += fmt.Sprintf("  orgIdentifier: %q\n", key.Scope.Org)
	}
	return []byte(doc)
}

// mostShown is how many of a kind are named by who can't delete the scope they are in.
const mostShown = 10

// empty refuses to delete the record of a scope in which there still is something: a
// project of the same name would have it.
func (s scopes) empty(ctx context.Context, record store.EntityKey) error {
	details, err := s.left(ctx, record)
	if err != nil || len(details) == 0 {
		return err
	}
	return fault.New(fault.Referenced, "%s can't be deleted: there still is something in it", record.Describe()).With(details...)
}

// Left says what still is in a scope, by its record: as long as there is something,
// the record can't be deleted. Nothing is in what is no scope.
func Left(ctx context.Context, c *Catalog, record store.EntityKey) ([]fault.Detail, error) {
	return c.scopes().left(ctx, record)
}

func (s scopes) left(ctx context.Context, record store.EntityKey) ([]fault.Detail, error) {
	if record.Kind != ref.Organization && record.Kind != ref.Project {
		return nil, nil
	}
	scope := grants.Resource(record).Scope
	var details []fault.Detail
	has := func(what string, names []string) {
		if len(names) == 0 {
			return
		}
		if len(names) > mostShown {
			names = append(names[:mostShown:mostShown], "…")
		}
		details = append(details, fault.Detail{Severity: "error", Message: fmt.Sprintf("it has %s %s", what, strings.Join(names, ", "))})
	}
	for _, kind := range ref.Kinds() {
		list, _, err := s.store.ListEntities(ctx, scope, kind, "", store.Page{Limit: mostShown + 1})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, e := range list {
			names = append(names, e.Key.ID)
		}
		has(string(kind), names)
	}
	files, _, err := s.store.ListFiles(ctx, ref.File{Scope: scope, Path: "/"}, store.Page{Limit: mostShown + 1})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Key.Path)
	}
	has("file", names)
	names = nil
	for _, kind := range []store.TokenKind{store.TokenUser, store.TokenDelegate} {
		list, err := s.store.ListTokens(ctx, scope.Account, kind)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			if scope.Covers(t.Scope) && !t.Revoked && access.Ended(t, s.now()) == nil {
				names = append(names, t.Name)
			}
		}
	}
	has("token", names)
	return details, nil
}
