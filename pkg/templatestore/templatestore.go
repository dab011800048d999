// Package templatestore finds the templates that users have saved: which version a
// link means, and what stands in it. The engine, who plans and who saves read
// them here.
//
// What a link does to a document is pkg/template's; how versions are saved and
// which one becomes the stable one is pkg/catalog's.
package templatestore

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Read reads an entity: store.Entities' Entity, or what stands before it, such
// as documents that are about to be saved. fault.NotFound if there is none.
type Read = func(ctx context.Context, key store.EntityKey) (store.Entity, error)

// VersionKey is where a version of a template is kept: an entity whose ID is
// template.ID.
func VersionKey(name ref.Ref, label string) store.EntityKey {
	return store.EntityKey{Scope: name.Scope, Kind: ref.Template, ID: template.ID(name.ID, label)}
}

// StableKey is where it is kept which version of a template is the stable one:
// an entity that refers to it, and is named by who links to the template
// without a version. So neither can be deleted while it is needed.
func StableKey(name ref.Ref) store.EntityKey {
	return store.EntityKey{Scope: name.Scope, Kind: store.StableTemplate, ID: name.ID}
}

// StableLabel is the version that is stable, by the entity that says so; empty
// if it says none.
func StableLabel(e store.Entity) string {
	if len(e.Refs) != 1 {
		return ""
	}
	_, label := template.SplitID(e.Refs[0].ID)
	return label
}

// Stable is the label of a template's stable version. fault.NotFound if there
// is no such template.
func Stable(ctx context.Context, read Read, name ref.Ref) (string, error) {
	e, err := read(ctx, StableKey(name))
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "template %q in %s doesn't exist", name.ID, name.Scope)
	}
	return StableLabel(e), err
}

// Version gives a version of a template, the stable one if the label is
// empty. fault.NotFound if there is none.
func Version(ctx context.Context, read Read, name ref.Ref, label string) (store.Entity, error) {
	if label == "" {
		var err error
		if label, err = Stable(ctx, read, name); err != nil {
			return store.Entity{}, err
		}
	}
	return read(ctx, VersionKey(name, label))
}

// Lookup finds the templates that links name.
func Lookup(read Read) template.Lookup {
	return func(ctx context.Context, name ref.Ref, label string) (template.Version, error) {
		e, err := Version(ctx, read, name, label)
		if err != nil {
			return template.Version{}, err
		}
		docs, report := yamldoc.Parse("", e.YAML)
		if err := report.Err(); err != nil || len(docs) != 1 {
			return template.Version{}, fmt.Errorf("read %s: %w", e.Key.Describe(), err)
		}
		_, label = template.SplitID(e.Key.ID)
		return template.Version{Label: label, Revision: e.Version, Doc: docs[0].Get(string(ref.Template))}, nil
	}
}
