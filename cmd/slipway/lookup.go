package main

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// templateVersion names a version of a template; without a label the stable one.
type templateVersion struct {
	name  ref.Ref
	label string
}

// templates finds templates among documents. The stable version is the first
// one, as it is if they are saved in that order.
func (l *linter) templates(docs []document, scope ref.Scope) template.Lookup {
	known := map[templateVersion]template.Version{}
	for _, d := range docs {
		body := d.node.Get(string(ref.Template))
		if body == nil {
			continue
		}
		v := template.Version{Label: textOf(body.Get("versionLabel")), Doc: body}
		name := ref.Ref{Scope: d.scope(l.caller, scope), ID: textOf(body.Get("identifier"))}
		known[templateVersion{name, v.Label}] = v
		if _, ok := known[templateVersion{name, ""}]; !ok {
			known[templateVersion{name, ""}] = v
		}
	}
	return func(_ context.Context, name ref.Ref, label string) (template.Version, error) {
		if v, ok := known[templateVersion{name, label}]; ok {
			return v, nil
		}
		return template.Version{}, fault.New(fault.NotFound, "template %s isn't among the documents", template.Name(name, label))
	}
}

// withServer asks a server, once for each, for what isn't among documents, and
// first of all for which version is stable.
func withServer(client *apiclient.Client, local template.Lookup) template.Lookup {
	known := map[templateVersion]template.Version{}
	return func(ctx context.Context, name ref.Ref, label string) (template.Version, error) {
		if v, err := local(ctx, name, label); err == nil && label != "" {
			return v, nil
		}
		wanted := templateVersion{name, label}
		if v, ok := known[wanted]; ok {
			return v, nil
		}
		v, err := fromServer(ctx, client, name, label)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) { // the server itself may see it
			return local(ctx, name, label)
		}
		if err != nil {
			return v, err
		}
		if ours, err := local(ctx, name, v.Label); err == nil {
			v = ours // as it is about to be saved
		}
		known[wanted] = v
		return v, nil
	}
}

// savedOn reads entities of a server, each once. What the caller may not see is
// as good as missing.
func savedOn(client *apiclient.Client) catalog.Find {
	type answer struct {
		entity store.Entity
		err    error
	}
	known := map[store.EntityKey]answer{}
	return func(ctx context.Context, key store.EntityKey) (store.Entity, error) {
		if a, ok := known[key]; ok {
			return a.entity, a.err
		}
		at := apiclient.EntityKey{Scope: key.Scope, Kind: key.Kind, Env: key.Env, ID: key.ID}
		if key.Kind == store.StableTemplate {
			at.Kind = ref.Template
		}
		found, err := client.Entity(ctx, at)
		if fault.Is(err, fault.Forbidden) {
			err = fault.New(fault.NotFound, "%s can't be seen", key.Describe())
		}
		e := store.Entity{Key: key, Version: found.Version, YAML: []byte(found.YAML)}
		if key.Kind == store.StableTemplate {
			e.Refs = []store.EntityKey{{Scope: key.Scope, Kind: ref.Template, ID: found.ID}}
		}
		known[key] = answer{e, err}
		return e, err
	}
}

func fromServer(ctx context.Context, client *apiclient.Client, name ref.Ref, label string) (template.Version, error) {
	key := apiclient.EntityKey{Scope: name.Scope, Kind: ref.Template, ID: name.ID}
	if label != "" {
		key.ID = template.ID(name.ID, label)
	}
	e, err := client.Entity(ctx, key)
	if err != nil {
		return template.Version{}, err
	}
	docs, report := yamldoc.Parse("", []byte(e.YAML))
	if err := report.Err(); err != nil || len(docs) != 1 {
		return template.Version{}, fault.New(fault.Unavailable, "the server gave template %s in a form that can't be read", e.ID)
	}
	_, label = template.SplitID(e.ID)
	return template.Version{Label: label, Revision: e.Version, Doc: docs[0].Get(string(ref.Template))}, nil
}
