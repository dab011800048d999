// Package connector is the contract of a connector type: what its documents may
// hold, what it gives to whom, and how it is tested (semantics/entities §9). A
// folder below this one holds a family of types; pkg/builtin lists them.
//
// A type does no I/O: on save it decodes, and in a run the same decoder reads
// the resolved document, and what it gives makes of it what a delegate needs.
// Logging in somewhere is the delegate's.
package connector

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is a type of connectors.
type Type struct {
	Name string // as in YAML, e.g. Aws
	// New decodes a spec, its own keys beside Decoder.Common. It is called on save,
	// where fields may be expressions, and again when somebody uses the connector,
	// where they no longer are.
	New func(d *Decoder, spec yamldoc.Value) Spec
	// Late are keys of the spec whose texts still hold their expressions when
	// somebody uses the connector: it has them resolved itself, see Reach.Resolve.
	Late []string
	// Scheme is how an expression names secrets of a manager by where they are
	// kept, e.g. hashicorpvault; empty: it doesn't.
	Scheme string
	// Template decodes the spec of the templates that connectors of the type
	// are made of; nil: they are made of none.
	Template func(d *Decoder, spec yamldoc.Value) any
}

// Spec is the decoded spec of a connector. What it is for is said by which of
// the interfaces below it has: Clusters, Clouds and the others.
type Spec interface {
	// Probe is how the connector is tested. The name of the connector is filled
	// in by who asks.
	Probe(r Reach) (Probe, error)
}

// Probe is how a connector is tested.
type Probe struct {
	Task      probe.Spec
	Selectors []string // a delegate needs these besides the connector's own
}

// Reach is how a Spec finds what else its connector is made of.
type Reach interface {
	// Secret is the placeholder of a secret that the connector names; empty if it
	// names none.
	Secret(name yamldoc.Field[string]) (string, error)
	// Identity is as whom the connector's tasks show up before an audience: the
	// name by which a delegate has its token, and the token's subject. tags are the
	// claims that AWS's session gets as tags.
	Identity(audience string, tags []string) (name, subject string)
	// SSHKey is who logs in with a secret of type SSHKey.
	SSHKey(name string) (task.SSH, error)
	// Template reads a template of secret managers.
	Template(name ref.Ref, label string) (Template, error)
	// File is the text of a file of the file store, as it was saved.
	File(f ref.File) (string, error)
	// Resolve resolves a text that stands in a document of a scope, with names
	// beside those of what runs; there may be none.
	Resolve(text string, of ref.Scope, names map[string]expr.Value) (expr.Value, error)
}

// Template is a template that connectors are made of.
type Template struct {
	Name  string // with its version, for people
	Scope ref.Scope
	Spec  *yamldoc.Node // with its expressions
}

// Decoder decodes what is a connector type's in a document.
type Decoder struct {
	*document.Decoder
	// Common are the keys that every type has there.
	Common document.Keys
	// Link reads which template a connector is made of, with more keys beside its
	// name and its version.
	Link func(name, label *yamldoc.Field[string], more document.Keys) document.Rule
	// Own is told of a file of the file store that is in the scope of the document
	// itself, whoever uses it. It may be nil.
	Own func(v yamldoc.Value, f ref.File)
}

// Decoded is the decoded spec of a connector's document.
type Decoded struct {
	Selectors yamldoc.Field[[]string]
	Spec      Spec
}

// Decode decodes a spec, with the keys that every type has.
func (t Type) Decode(d Decoder, spec yamldoc.Value) Decoded {
	var out Decoded
	d.Common = document.Keys{
		"delegateSelectors": d.Words(&out.Selectors),
		"executeOnDelegate": func(v yamldoc.Value) {
			if on := d.Bool(v); on.Set && on.Expr == "" && !on.Value {
				d.Warnf(v, document.UnsupportedAtRun, "executeOnDelegate is false, but a delegate uses the connector all the same: Slipway itself never reaches out")
			}
		},
		"ignoreTestConnection": d.Idle("saving a connector tests no connection", d.Flag(nil)),
		"proxy":                d.Refuse("proxies of a connector aren't supported"),
	}
	out.Spec = t.New(&d, spec)
	return out
}

// resolved makes a decoder of what is resolved for a run. Who saves has checked
// what the connector names.
func resolved(r *yamldoc.Report, scope ref.Scope) Decoder {
	d := Decoder{Decoder: document.New(r)}
	d.Scope = scope
	d.Link = func(name, label *yamldoc.Field[string], more document.Keys) document.Rule {
		return func(v yamldoc.Value) {
			d.Fields(v, document.Merge(more, document.Keys{"templateRef": d.Text(name), "versionLabel": d.Text(label)}))
		}
	}
	return d
}

// Open makes a decoder of what was saved in a scope, with its expressions.
func Open(scope ref.Scope) *Decoder {
	d := resolved(yamldoc.NewReport(""), scope)
	return &d
}

// Types are the connector types that there are.
type Types []Type

// Names lists their names.
func (l Types) Names() []string {
	var out []string
	for _, t := range l {
		out = append(out, t.Name)
	}
	return out
}

// Of finds a type.
func (l Types) Of(name string) (Type, bool) {
	for _, t := range l {
		if t.Name == name {
			return t, true
		}
	}
	return Type{}, false
}

// Templated is the type whose connectors are made of templates, if there is one.
func (l Types) Templated() (Type, bool) {
	for _, t := range l {
		if t.Template != nil {
			return t, true
		}
	}
	return Type{}, false
}
