package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/lint"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/schema"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// read decodes and checks a draft: everything that is wrong in one error, and
// warnings in the report.
func (c *Catalog) read(ctx context.Context, d Draft) (*entity.Entity, *yamldoc.Report, error) {
	docs, report := yamldoc.Parse(d.File, d.YAML)
	if d.Strict {
		report.Strict()
	}
	if err := report.Err(); err != nil {
		return nil, report, err
	}
	if len(docs) != 1 {
		return nil, report, fault.New(fault.Invalid, "found %d documents; want one", len(docs))
	}
	e, _, err := Resolve(ctx, docs[0], report, c.options(d), templatestore.Lookup(c.Store.Entity))
	if err != nil {
		return nil, report, err
	}
	if e != nil && e.Kind == ref.Pipeline && !report.Failed() {
		report.Within("", func(part *yamldoc.Report) { warnOfNames(e.Pipeline, part) })
	}
	if e != nil && !report.Failed() {
		lint.Untrusted(e.Doc, c.Options.Steps, report)
	}
	return e, report, report.Err()
}

// warnOfNames reports the expressions of a pipeline that no run can resolve.
// They are no errors: a branch that never runs may have them.
func warnOfNames(p *entity.Pipeline, r *yamldoc.Report) {
	lint.Names(p, r)
	r.Amend(func(f yamldoc.Finding) (yamldoc.Finding, bool) {
		f.Severity = yamldoc.Warning
		return f, f.File == r.File()
	})
}

// Resolve puts what templates bring in place of the links to them, then
// decodes the document; what is wrong with either is in the report. A template
// that doesn't exist is among the entity's references only, and its link stays.
// The error is that of find.
func Resolve(
	ctx context.Context, doc *yamldoc.Node, report *yamldoc.Report, o entity.Options, find template.Lookup,
) (*entity.Entity, template.Resolved, error) {
	resolved, err := template.Resolve(ctx, doc, entity.ScopeOf(doc, o.Scope), report, find)
	if err != nil {
		return nil, resolved, err
	}
	e := entity.Decode(resolved.Doc, report, o)
	// What templates bring is warned of when they are saved, and they refer to
	// what they name themselves.
	report.Amend(func(f yamldoc.Finding) (yamldoc.Finding, bool) {
		return f, f.Severity == yamldoc.Error || f.File == report.File()
	})
	if e != nil {
		schema.Place(e.Kind, doc, report)
		e.References = slices.DeleteFunc(e.References, func(r entity.Reference) bool { return r.At.File != report.File() })
		e.References = append(e.References, links(resolved.Uses)...)
		e.Files = slices.DeleteFunc(e.Files, func(f entity.FileReference) bool { return f.At.File != report.File() })
	}
	return e, resolved, nil
}

// links are the references of a document to templates.
func links(uses []template.Use) []entity.Reference {
	var out []entity.Reference
	for _, u := range uses {
		if !u.Direct {
			continue
		}
		name := u.Template
		if !u.Stable() {
			name.ID = template.ID(name.ID, u.Label)
		}
		out = append(out, entity.Reference{Kind: ref.Template, Ref: name, Text: template.Name(u.Template, u.Wanted), At: u.At})
	}
	return out
}

// KeyOf is where an entity is kept. An infrastructure definition lives with
// its environment (semantics/entities §1); triggers and input sets with their
// pipeline, and what a GitOps agent keeps, but for applications, with the agent; a template has as many as it
// has versions.
func KeyOf(e *entity.Entity) store.EntityKey {
	key := store.EntityKey{Scope: e.Scope, Kind: e.Kind, ID: e.Identifier.Value}
	switch e.Kind {
	case ref.Infrastructure, ref.Trigger, ref.InputSet, ref.OverlayInputSet, ref.GitOpsSettings, ref.GitOpsCertificate, ref.GitOpsGPGKey,
		ref.GitOpsRepoCredentials, ref.GitOpsRepository, ref.GitOpsCluster, ref.GitOpsProject:
		key.Scope, key.Env = e.Parent.Scope, e.Parent.ID
	case ref.Overrides, ref.ServiceOverrides, ref.GitOpsApplicationSet, ref.GitOpsApplication:
		key.Env = e.Parent.Text(e.Scope)
	case ref.Template:
		key = templatestore.VersionKey(ref.Ref{Scope: e.Scope, ID: e.Identifier.Value}, e.Template.VersionLabel.Value)
	case ref.Organization, ref.Project, ref.Pipeline, ref.Service, ref.Environment, ref.EnvironmentGroup, ref.Connector, ref.Secret, ref.Variable, ref.UserGroup, ref.Freeze, ref.Policy, ref.PolicySet, ref.User, ref.ServiceAccount, ref.Role, ref.ResourceGroup, ref.RoleAssignment, ref.LoginProvider, ref.LoginBinding, ref.StreamingDestination, ref.IPAllowlist, ref.Setting,
		ref.GitOpsAgent:
	}
	return key
}

func keyOfReference(r entity.Reference) store.EntityKey {
	if _, label := template.SplitID(r.Ref.ID); r.Kind == ref.Template && label == "" {
		return templatestore.StableKey(r.Ref)
	}
	return store.EntityKey{Scope: r.Ref.Scope, Kind: r.Kind, Env: r.Environment, ID: r.Ref.ID}
}

// builtInManager is the secret manager that every scope has without a
// connector (semantics/entities §10).
const builtInManager = "harnessSecretManager"

func isBuiltIn(key store.EntityKey) bool {
	return key.Kind == ref.Connector && key.ID == builtInManager
}

// exists says that nobody has to save what is named: it is always there.
func exists(key store.EntityKey) bool { return isBuiltIn(key) || key.Kind == entity.TriggerSource }

// maxReferences is how many entities and files a document may name: a save
// looks for each of them, and keeps that it is named.
const maxReferences = 1000

// keysOf are the entities and the files that are named, each once.
func keysOf(e *entity.Entity) ([]store.EntityKey, error) {
	var keys []store.EntityKey
	known := map[store.EntityKey]bool{}
	add := func(key store.EntityKey) {
		if !known[key] && !isBuiltIn(key) {
			known[key] = true
			keys = append(keys, key)
		}
	}
	for _, r := range e.References {
		add(keyOfReference(r))
	}
	for _, f := range e.Files {
		add(store.FileTarget(f.File))
	}
	if len(keys) > maxReferences {
		return nil, fault.New(fault.TooLarge, "the document names %d entities and files; the limit is %d", len(keys), maxReferences)
	}
	return keys, nil
}

// missing warns of references to what doesn't exist. Documents may be saved
// in any order, so it is no error before a run.
func (c *Catalog) missing(ctx context.Context, e *entity.Entity) ([]fault.Detail, error) {
	there, err := c.there(ctx, e)
	if err != nil {
		return nil, err
	}
	var out []fault.Detail
	for _, r := range e.References {
		if key := keyOfReference(r); !exists(key) && !there[key] {
			out = addOnce(out, fault.Detail{
				File: r.At.File, Path: r.At.Path, Line: r.At.Line, Column: r.At.Column, Severity: "warning",
				Code: "UNKNOWN_REFERENCE", Message: fmt.Sprintf("there is no %s yet; a run would fail", key.Describe()),
			})
		}
	}
	return c.missingFiles(ctx, e, out)
}

// there says which of the entities that a document names there are. They are
// read some at a time: each brings its document.
func (c *Catalog) there(ctx context.Context, e *entity.Entity) (map[store.EntityKey]bool, error) {
	const some = 50
	there := map[store.EntityKey]bool{}
	var named []store.EntityKey
	for _, r := range e.References {
		if key := keyOfReference(r); !exists(key) && !slices.Contains(named, key) {
			named = append(named, key)
		}
	}
	for part := range slices.Chunk(named, some) {
		found, err := c.Store.EntitiesAt(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			there[f.Key] = true
		}
	}
	return there, nil
}

// missingFiles adds the files that a document names and that aren't there.
func (c *Catalog) missingFiles(ctx context.Context, e *entity.Entity, out []fault.Detail) ([]fault.Detail, error) {
	there := map[ref.File]bool{}
	for _, f := range e.Files {
		if _, known := there[f.File]; !known {
			var err error
			if there[f.File], err = filestore.Exists(ctx, c.Store.Files, f.File); err != nil {
				return nil, err
			}
		}
		if !there[f.File] {
			out = addOnce(out, fault.Detail{
				File: f.At.File, Path: f.At.Path, Line: f.At.Line, Column: f.At.Column, Severity: "warning",
				Code: "UNKNOWN_REFERENCE", Message: fmt.Sprintf("there is no file or folder %s yet; a run would fail", f.File),
			})
		}
	}
	return out, nil
}

// addOnce adds a finding: a text may name the same thing several times. What is
// found in one text stands together.
func addOnce(all []fault.Detail, d fault.Detail) []fault.Detail {
	for _, before := range slices.Backward(all) {
		if before == d {
			return all
		}
		if before.Line != d.Line || before.Column != d.Column || before.Path != d.Path {
			break
		}
	}
	return append(all, d)
}
