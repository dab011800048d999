// Package target finds what a Deployment stage deploys where: it reads the
// service, the environment and the infrastructure definition that the stage
// names, fills in their inputs, and finds the deployments of a stage that has
// several.
//
// What an expression means is pkg/resolve's to say, and what a step makes of
// a deployment too; when a stage chooses is the engine's.
package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Reader reads saved documents as a run needs them. It is for one goroutine.
type Reader struct {
	Entities store.Entities
	Scope    ref.Scope // of the pipeline that names them
	entity.Types

	Templates []plan.Template // that the documents were resolved with, each once
	Warnings  []fault.Detail  // about values that no input takes
}

// Document is an entity's document below its root key, with what templates
// bring in place of the links to them as they are now, and with references
// that mean the same in a project as in the entity's own scope.
func (r *Reader) Document(ctx context.Context, e store.Entity) (*yamldoc.Node, error) {
	file := string(e.Key.Kind) + " " + e.Key.ID
	root, err := Root(file, e)
	if err != nil {
		return nil, err
	}
	report := yamldoc.NewReport(file)
	resolved, err := template.Resolve(ctx, root, e.Key.Scope, report, templatestore.Lookup(r.Entities.Entity))
	if err != nil {
		return nil, err
	}
	for _, u := range resolved.Missing() {
		report.ErrorAt(u.At, "UNKNOWN_REFERENCE", "there is no template %s", u)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	for _, u := range resolved.Uses {
		one := plan.Template{Scope: u.Template.Scope, ID: u.Template.ID, Version: u.Label, Revision: u.Revision}
		if !slices.Contains(r.Templates, one) {
			r.Templates = append(r.Templates, one)
		}
	}
	entity.Qualify(resolved.Doc, e.Key.Scope, r.Types)
	return resolved.Doc.Get(string(e.Key.Kind)), nil
}

// Root is an entity's document as it was saved.
func Root(file string, e store.Entity) (*yamldoc.Node, error) {
	docs, report := yamldoc.Parse(file, e.YAML)
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(docs) != 1 || docs[0].Get(string(e.Key.Kind)) == nil {
		return nil, fmt.Errorf("%s %s has no document", e.Key.Kind, e.Key.ID)
	}
	return docs[0], nil
}

// Check decodes a document again, now that its inputs have values: what was an
// input on save may be anything. Only pipelines have steps to check.
func Check(kind ref.Kind, doc *yamldoc.Node, o entity.Options) (*entity.Entity, error) {
	report := yamldoc.NewReport(string(kind))
	e := entity.DecodePart(kind, doc, report, o)
	return e, report.Err()
}

// Deployment reads what a choice names.
func (r *Reader) Deployment(ctx context.Context, c plan.Choice) (*plan.Deployment, error) {
	d := &plan.Deployment{Type: c.Type, ServiceRef: c.Service.Ref, EnvironmentRef: c.Environment.Ref, Unchecked: c.Service.Unchecked, Group: c.Group}
	service, err := r.entity(ctx, ref.Service, c.Service, "")
	if err != nil {
		return nil, err
	}
	environment, err := r.entity(ctx, ref.Environment, c.Environment, "")
	if err != nil {
		return nil, err
	}
	if c.GitOps != nil {
		return d, r.pulled(ctx, d, c, service, environment)
	}
	infrastructure, err := r.entity(ctx, ref.Infrastructure, c.Infrastructure, c.Environment.Ref)
	if err != nil {
		return nil, err
	}
	d.Service, d.Environment, d.Infrastructure = service.Doc, environment.Doc, infrastructure.Doc
	if d.Overrides, err = r.overrides(ctx, c); err != nil {
		return nil, err
	}
	if err := sameType(d, service, infrastructure); err != nil {
		return nil, err
	}
	if lane, ok := r.Lanes.Of(d.Type); ok && lane.Template != nil {
		if d.Template, err = r.custom(ctx, c, service, infrastructure); err != nil {
			return nil, err
		}
	}
	if !r.scopedTo(infrastructure, d.ServiceRef) {
		return nil, fault.New(fault.Invalid, "infrastructure %s of environment %s isn't scoped to service %s (scopedServices)",
			infrastructure.Identifier.Text, d.EnvironmentRef, d.ServiceRef)
	}
	return d, nil
}

// scopedTo says whether a service may be deployed to an infrastructure of an
// environment: it names none, or it names this one (semantics/entities §4).
func (r *Reader) scopedTo(infrastructure *entity.Entity, service string) bool {
	list := infrastructure.Infrastructure.ScopedServices
	if len(list) == 0 {
		return true
	}
	want, err := ref.Parse(service, r.Scope)
	return err == nil && slices.ContainsFunc(list, func(f yamldoc.Field[string]) bool {
		one, err := ref.Parse(f.Text, infrastructure.Scope)
		return err == nil && one == want
	})
}

// sameType checks that stage, service and infrastructure are of one
// deployment type (semantics/entities §2).
func sameType(d *plan.Deployment, service, infrastructure *entity.Entity) error {
	for _, other := range []struct{ what, typ string }{
		{"service " + d.ServiceRef, service.Service.Type.Text},
		{"infrastructure " + infrastructure.Identifier.Text, infrastructure.Infrastructure.DeploymentType.Text},
	} {
		if other.typ != d.Type {
			return fault.New(fault.Invalid, "the stage deploys %s, but %s is of type %s", d.Type, other.what, other.typ)
		}
	}
	return nil
}

// entity reads what is picked and fills its runtime inputs; env is the
// environment of an infrastructure definition.
func (r *Reader) entity(ctx context.Context, kind ref.Kind, p plan.Pick, env string) (*entity.Entity, error) {
	e, err := r.read(ctx, kind, p.Ref, env)
	if err != nil {
		return nil, err
	}
	return r.fill(ctx, e, p)
}

// read reads what is named; env is the environment of an infrastructure
// definition.
func (r *Reader) read(ctx context.Context, kind ref.Kind, name, env string) (store.Entity, error) {
	key, err := r.key(kind, name, env)
	if err != nil {
		return store.Entity{}, err
	}
	e, err := r.Entities.Entity(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return e, fault.New(fault.NotFound, "there is no %s %q in %s", kind, key.ID, place(key))
	}
	return e, err
}

// scopePrefix is what stands before an identifier to say that it is of the
// organization or the account.
func scopePrefix(name string) string {
	if at := strings.IndexByte(name, '.'); at >= 0 {
		return name[:at+1]
	}
	return ""
}

// place is where an entity is looked for, for people.
func place(key store.EntityKey) string {
	if key.Env == "" {
		return key.Scope.String()
	}
	return fmt.Sprintf("environment %s of %s", key.Env, key.Scope)
}

// key is where what is picked is kept.
func (r *Reader) key(kind ref.Kind, name, env string) (store.EntityKey, error) {
	if name == "" {
		return store.EntityKey{}, fault.New(fault.Invalid, "no %s is named; want an identifier", kind)
	}
	if kind == ref.Infrastructure {
		from, err := ref.Parse(env, r.Scope)
		if err != nil {
			return store.EntityKey{}, fault.New(fault.Invalid, "environment %w", err)
		}
		if err := ref.CheckID(kind, name); err != nil {
			return store.EntityKey{}, fault.New(fault.Invalid, "%s %w", kind, err)
		}
		return store.EntityKey{Scope: from.Scope, Kind: kind, Env: from.ID, ID: name}, nil
	}
	to, err := ref.Parse(name, r.Scope)
	if err != nil {
		return store.EntityKey{}, fault.New(fault.Invalid, "%s %w", kind, err)
	}
	return store.EntityKey{Scope: to.Scope, Kind: kind, ID: to.ID}, nil
}

// fill gives an entity with its runtime inputs filled in.
func (r *Reader) fill(ctx context.Context, e store.Entity, p plan.Pick) (*entity.Entity, error) {
	doc, err := r.Document(ctx, e)
	if err != nil {
		return nil, err
	}
	merged := input.Merge(doc, nil, input.Source{Doc: p.Inputs, Lenient: true})
	r.Warnings = append(r.Warnings, merged.Warnings...)
	var filled *entity.Entity
	if err = merged.Err(); err == nil {
		filled, err = Check(e.Key.Kind, merged.Doc, entity.Options{Scope: e.Key.Scope, Types: r.Types})
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s %s: %w", e.Key.Kind, p.Ref, err)
	}
	return filled, nil
}
