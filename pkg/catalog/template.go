package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// StableTemplates are the labels of the stable versions of a scope's
// templates, by identifier.
func (c *Catalog) StableTemplates(ctx context.Context, scope ref.Scope) (map[string]string, error) {
	labels := map[string]string{}
	err := c.each(ctx, scope, store.StableTemplate, "", func(e store.Entity) { labels[e.Key.ID] = templatestore.StableLabel(e) })
	return labels, err
}

// each passes every entity of a kind in a scope, or of one parent in it.
func (c *Catalog) each(ctx context.Context, scope ref.Scope, kind ref.Kind, parent string, f func(store.Entity)) error {
	for e, err := range store.All(ctx, c.Store, scope, kind, parent) {
		if err != nil {
			return err
		}
		f(e)
	}
	return nil
}

// SetStable makes a version the stable one of its template: from the next run
// on it is what links without a version mean.
func (c *Catalog) SetStable(ctx context.Context, name ref.Ref, label string, by audit.Author) error {
	if _, err := c.Store.Entity(ctx, templatestore.VersionKey(name, label)); err != nil {
		return err
	}
	for range maxRaces {
		now, err := c.Store.Entity(ctx, templatestore.StableKey(name))
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if templatestore.StableLabel(now) == label {
			return nil
		}
		if err := c.pointTo(ctx, now, name, label, by); !fault.Is(err, fault.StaleVersion) {
			return err
		}
	}
	return fault.New(fault.Conflict, "others changed the stable version of template %q %d times meanwhile", name.ID, maxRaces)
}

// stabilize makes the first version of a template the stable one.
func (c *Catalog) stabilize(ctx context.Context, key store.EntityKey, by audit.Author) error {
	id, label := template.SplitID(key.ID)
	name := ref.Ref{Scope: key.Scope, ID: id}
	if _, err := templatestore.Stable(ctx, c.Store.Entity, name); !fault.Is(err, fault.NotFound) {
		return err
	}
	err := c.pointTo(ctx, store.Entity{}, name, label, by)
	if fault.Is(err, fault.StaleVersion) {
		return nil // somebody else has chosen meanwhile
	}
	return err
}

// pointTo stores which version is stable, over what was so before.
func (c *Catalog) pointTo(ctx context.Context, before store.Entity, name ref.Ref, label string, by audit.Author) error {
	one := c.pointing(before, name, label, by)
	_, err := c.Store.SaveEntity(ctx, one.Entity, one.Audit)
	return err
}

// pointing is what says which version is stable, as the store takes it.
func (c *Catalog) pointing(before store.Entity, name ref.Ref, label string, by audit.Author) store.Save {
	next := store.Entity{
		Key: templatestore.StableKey(name), Name: name.ID, Version: before.Version, YAML: []byte("versionLabel: " + label + "\n"),
		Refs: []store.EntityKey{templatestore.VersionKey(name, label)}, UpdatedBy: by.Actor, UpdatedAt: c.Now(), CreatedAt: before.CreatedAt,
	}
	action := audit.Update
	if before.Version == 0 {
		action, next.CreatedAt = audit.Create, next.UpdatedAt
	}
	record := c.record(next.Key, by, action)
	record.Before, record.After = string(before.YAML), string(next.YAML)
	return store.Save{Entity: next, Audit: record}
}

// versionOf is the key of the version that is meant by a template's name
// without a label: its only one.
func (c *Catalog) versionOf(ctx context.Context, key store.EntityKey) (store.EntityKey, error) {
	id, label := template.SplitID(key.ID)
	if label != "" {
		return key, nil
	}
	versions, err := c.versions(ctx, key.Scope, id)
	switch {
	case err != nil:
		return key, err
	case len(versions) == 0:
		return key, fault.New(fault.NotFound, "%s doesn't exist", key.Describe())
	case len(versions) > 1:
		return key, fault.New(fault.Conflict, "%s has the versions %s; name one of them, e.g. %s",
			key.Describe(), strings.Join(versions, ", "), template.ID(id, versions[0]))
	}
	return templatestore.VersionKey(ref.Ref{Scope: key.Scope, ID: id}, versions[0]), nil
}

// versions are the labels of a template.
func (c *Catalog) versions(ctx context.Context, scope ref.Scope, id string) ([]string, error) {
	var labels []string
	err := c.each(ctx, scope, ref.Template, "", func(e store.Entity) {
		if one, label := template.SplitID(e.Key.ID); one == id {
			labels = append(labels, label)
		}
	})
	return labels, err
}

// release makes way for the deletion of a version. A stable one stays while
// there are others; the last one takes with it what says that it is stable.
func (c *Catalog) release(ctx context.Context, key store.EntityKey, by audit.Author) error {
	id, label := template.SplitID(key.ID)
	pointer, err := c.Store.Entity(ctx, templatestore.StableKey(ref.Ref{Scope: key.Scope, ID: id}))
	if fault.Is(err, fault.NotFound) || err == nil && templatestore.StableLabel(pointer) != label {
		return nil
	}
	if err != nil {
		return err
	}
	versions, err := c.versions(ctx, key.Scope, id)
	if err != nil {
		return err
	}
	if others := slices.DeleteFunc(versions, func(v string) bool { return v == label }); len(others) > 0 {
		return fault.New(fault.Conflict, "%s is the stable version; make another one stable first: %s", key.Describe(), strings.Join(others, ", "))
	}
	return c.releaseLast(ctx, key, pointer, by)
}

// releaseLast deletes what says that a template's last version is stable,
// unless the version itself is needed.
func (c *Catalog) releaseLast(ctx context.Context, key store.EntityKey, pointer store.Entity, by audit.Author) error {
	who, _, err := c.Store.Referrers(ctx, key, store.Page{Limit: 2})
	if err != nil {
		return err
	}
	for _, w := range who {
		if w != pointer.Key {
			return fault.New(fault.Referenced, "%s can't be deleted: other entities name it", key.Describe()).
				With(fault.Detail{Severity: "error", Message: w.Describe() + " names it"})
		}
	}
	record := c.record(pointer.Key, by, audit.Delete)
	record.Before = string(pointer.YAML)
	return c.Store.DeleteEntity(ctx, pointer.Key, pointer.Version, record)
}

// changedInputs warns of a version that asks for other inputs than before: who
// uses it must be changed too (semantics/pipeline §9.1).
func changedInputs(before, after []byte, file string) []fault.Detail {
	had, _ := asked(before)
	has, spec := asked(after)
	if spec == nil || slices.Equal(had, has) {
		return nil
	}
	return []fault.Detail{{
		File: file, Path: "spec", Line: spec.Line, Column: spec.Column, Severity: "warning", Code: "TEMPLATE_INPUTS_CHANGED",
		Message: fmt.Sprintf("this version asked for %s, and now for %s; a new versionLabel leaves those who use it alone", listed(had), listed(has)),
	}}
}

func asked(doc []byte) ([]string, *yamldoc.Node) {
	docs, _ := yamldoc.Parse("", doc) // it was read when it was saved
	if len(docs) != 1 {
		return nil, nil
	}
	spec := docs[0].At(string(ref.Template), "spec")
	var paths []string
	for _, in := range input.Find(spec) {
		paths = append(paths, in.Path)
	}
	slices.Sort(paths)
	return paths, spec
}

func listed(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
