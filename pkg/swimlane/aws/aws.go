// Package aws is what the deployment types of AWS share: an account in a region
// as a place, and manifests that are documents of AWS's own API
// (semantics/entities §2.3, §4).
//
// It is no deployment type itself: each has a folder beside this one. Documents
// are fetched and read by delegate/awsdoc.
package aws

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Account is an account of AWS in a region: what the infrastructure definitions
// of all these deployment types have.
type Account struct {
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
}

// Keys are its keys in a spec, with those of every lane.
func (a *Account) Keys(d *swimlane.Decoder) document.Keys {
	return document.Merge(d.Common, document.Keys{
		"connectorRef": d.Reference(ref.Connector, &a.ConnectorRef),
		"region":       d.Text(&a.Region),
		"metadata":     document.Nothing, // the console's
	})
}

// Needed are the keys that a spec must have.
func (*Account) Needed() []string { return []string{"connectorRef", "region"} }

// Reached is how a delegate reaches the account, and the selectors of those that
// can. Every call is made in the definition's region, whatever the connector's is.
func (a *Account) Reached(r swimlane.Reach) (task.AWS, []string, error) {
	if a.Region.Value == "" {
		return task.AWS{}, nil, fault.New(fault.Invalid, "the infrastructure definition's region is empty")
	}
	c, err := r.Connector(a.ConnectorRef.Value)
	if err != nil {
		return task.AWS{}, nil, err
	}
	account, err := c.AWS(a.Region.Value)
	return account, c.Selectors, err
}

// stores are those of documents: none is made by a script.
func stores() []string { return append(filesource.Git(), filesource.Inline, filesource.Harness) }

// Store decodes the store of documents of AWS's API: one of the usual ones, or of
// more. what they are called is for messages.
func Store(d *document.Decoder, v yamldoc.Value, what string, more ...string) *filesource.Store {
	form := filesource.Form{Of: what, Stores: append(stores(), more...), Shape: filesource.Files}
	return filesource.Decode(d, v, form, document.Keys{"metadata": document.Nothing}) // the console's
}

// Sources is the rule of a service's artifacts of which only some sources can be
// deployed: a type, or TYPE/FORMAT of a repository. cant begins the sentence about
// another one.
func Sources(d *swimlane.Decoder, cant string, can ...string) document.Rule {
	artifacts, check := d.Common["artifacts"], taken(d, cant, can)
	return func(v yamldoc.Value) {
		if artifacts == nil {
			return // it is resolved, and was read before
		}
		artifacts(v)
		primary := document.Child(v, "primary")
		check(primary)
		list := document.Child(primary, "sources")
		if !list.Is(yamldoc.Sequence) {
			return
		}
		for item := range d.List(list) {
			check(item)
		}
	}
}

// AllSources is Sources where sidecars are deployed, too.
func AllSources(d *swimlane.Decoder, cant string, can ...string) document.Rule {
	primary, check := Sources(d, cant, can...), taken(d, cant, can)
	return func(v yamldoc.Value) {
		primary(v)
		list := document.Child(v, "sidecars")
		if d.Common["artifacts"] == nil || !list.Is(yamldoc.Sequence) {
			return
		}
		for item := range d.List(list) {
			check(document.Child(item, "sidecar"))
		}
	}
}

// taken refuses a source that can't be deployed.
func taken(d *swimlane.Decoder, cant string, can []string) document.Rule {
	return func(source yamldoc.Value) {
		typ := document.Peek(source, "type")
		if typ == "" || strings.Contains(typ, "<+") || slices.Contains(can, typ) {
			return
		}
		at, spec := document.Child(source, "type"), document.Child(source, "spec")
		if slices.ContainsFunc(can, func(one string) bool { return strings.HasPrefix(one, typ+"/") }) {
			format := document.Peek(spec, "repositoryFormat")
			if format == "" || strings.Contains(format, "<+") || slices.Contains(can, typ+"/"+format) {
				return // one that nobody knows is refused by the source itself
			}
			at, typ = document.Child(spec, "repositoryFormat"), typ+"/"+format
		}
		d.Unsupported(at, "%s an artifact of %s yet; want one of %s", cant, typ, strings.Join(can, ", "))
	}
}

// Document is a kind of manifest that is one document of AWS's API.
func Document(typ string, more ...string) swimlane.ManifestKind {
	return swimlane.ManifestKind{
		Type: typ, Overrides: true,
		New: func(d *document.Decoder, v yamldoc.Value) any {
			var store *filesource.Store
			d.Fields(v, document.Keys{
				"store":    func(v yamldoc.Value) { store = Store(d, v, typ, more...) },
				"metadata": document.Nothing, // the console's
			})
			d.Need(v, "store")
			return store
		},
	}
}

// Documents is a kind of manifest of which a service may have several, each with
// any number of documents.
func Documents(typ string, more ...string) swimlane.ManifestKind {
	k := Document(typ, more...)
	k.Several = true
	return k
}

// Manifests resolves the manifests of a kind. Those of the highest layer that has
// some take the place of all below it, whole; a kind of one document has one.
func Manifests(r swimlane.Reach, kind string) ([]Manifest, error) {
	all, err := r.Manifests(func(k swimlane.ManifestKind) bool { return k.Type == kind })
	if err != nil || len(all) == 0 {
		return nil, err
	}
	last := all[len(all)-1]
	all = slices.DeleteFunc(all, func(m swimlane.Manifest) bool { return m.Layer != last.Layer || !m.Kind.Several && m.ID != last.ID })
	out := make([]Manifest, 0, len(all))
	for _, m := range all {
		store, ok := m.Spec.(*filesource.Store)
		if !ok {
			return nil, fault.New(fault.Unsupported, "manifest %s has the type %s, which is no document of AWS", m.ID, m.Kind.Type)
		}
		files, err := r.Store(store, "")
		if err != nil {
			return nil, fault.Wrap(err, "manifest %s", m.ID)
		}
		out = append(out, Manifest{ID: m.ID, Type: kind, Store: files})
	}
	return out, nil
}

// Only is the manifest of a kind of one document; nil: there is none.
func Only(r swimlane.Reach, kind string) (*Manifest, error) {
	found, err := Manifests(r, kind)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
