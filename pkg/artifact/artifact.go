// Package artifact has the artifact sources: what a source of each type may
// hold, which version it means, and what a delegate needs to ask its registry
// and to pull from it (semantics/entities §2.2).
//
// A type does no I/O: on save it decodes, and when a stage deploys the same
// decoder reads the resolved source. Asking a registry is delegate/artifact's.
package artifact

import (
	"regexp"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is a type of artifact sources.
type Type struct {
	Name string // as in YAML, e.g. Ecr
	// New decodes a spec. It is called on save, where fields may be expressions,
	// and again when a stage deploys, where they no longer are but for Late.
	New func(d *Decoder, spec yamldoc.Value) Source
	// Late are keys of the spec that are asked for by Reach.
	Late []string
	// Cloud says that a delegate which carries the connector's selectors makes
	// what an image is pulled with.
	Cloud bool
}

// Source is a decoded source.
type Source interface {
	// Common is what every source has.
	Common() *Base
	// LookedUp says whether a delegate must ask which version is deployed, or what
	// it is. An image is known by a fixed tag without a digest.
	LookedUp() bool
	// Ask fills in what a delegate asks, by the connector if the source has one.
	Ask(r Reach, c connector.Connector, a *Asked) error
	// Pull fills in what the image is pulled with. It is left as it is where
	// nobody has to log in.
	Pull(a Asked, p *task.PullSecret)
}

// Objects is a source of files that are known by their place.
type Objects interface {
	// Knows says whether there is such a <+artifact.metadata.NAME>, and Metadata is
	// what it gives.
	Knows(name string) bool
	Metadata(name string) string
}

// Asked is what a delegate asks, or would ask.
type Asked struct {
	lookup.Artifact
	Selectors []string      // of the connector and of the source itself
	Timeout   time.Duration // 0: the step's
	images    connector.ImageRegistry
}

// Reach is how a source finds what else it is made of.
type Reach interface {
	// Selectors resolves delegate selectors.
	Selectors(list []string) ([]string, error)
	// File is the text of a file of the file store, its expressions resolved.
	File(path string) (string, error)
	// Inputs resolves variables by their names.
	Inputs(list *yamldoc.Node) (map[string]string, error)
}

// Decoder decodes what is an artifact source's in a document.
type Decoder struct {
	*document.Decoder
	// Inputs reads a list of variables, as it stands there.
	Inputs func(list **yamldoc.Node) document.Rule
}

func open(r *yamldoc.Report) *Decoder {
	d := &Decoder{Decoder: document.New(r)}
	d.Inputs = d.Node
	return d
}

// Types are the types that there are.
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

// Written reads a source, {type, spec}, with its expressions; nil if its type
// isn't there.
func (l Types) Written(source *yamldoc.Node) Source {
	t, ok := l.Of(document.Peek(yamldoc.Sub(source, ""), "type"))
	if !ok {
		return nil
	}
	return t.New(open(yamldoc.NewReport("")), yamldoc.Sub(source.Get("spec"), "spec"))
}

// LookedUp says whether a delegate must ask a source, {type, spec}.
func (l Types) LookedUp(source *yamldoc.Node) bool {
	s := l.Written(source)
	return s == nil || s.LookedUp()
}

// Resolved reads the spec of a source whose expressions have been resolved.
func (t Type) Resolved(spec *yamldoc.Node) (Source, error) {
	report := yamldoc.NewReport("").Resolved()
	return t.New(open(report), yamldoc.Sub(spec, "spec")), report.Err()
}

// Base is what every source has.
type Base struct {
	Connector yamldoc.Field[string]
	Fixed     yamldoc.Field[string] // a version
	Pattern   yamldoc.Field[string] // an expression for the newest that matches
	Digest    yamldoc.Field[string]
	// FixedKey and PatternKey are what the spec calls them; a type has perhaps no
	// patterns.
	FixedKey, PatternKey string
}

// Common is what every source has.
func (b *Base) Common() *Base { return b }

// Pull says that nobody logs in.
func (b *Base) Pull(Asked, *task.PullSecret) {}

// form is what the types do differently with what every source has.
type form struct {
	need    []string
	digest  bool
	alone   bool // no connector is named
	unclear bool // a word in the spec that isn't known says what the keys of the version are
}

// decode decodes a spec with its own keys. All but the connector's are texts,
// unless their rules say otherwise.
func (b *Base) decode(d *Decoder, v yamldoc.Value, f form, own document.Keys) {
	known := document.Keys{"description": document.Nothing, b.FixedKey: d.Text(&b.Fixed)}
	if b.PatternKey != "" {
		known[b.PatternKey] = b.regex(d)
	}
	if f.digest {
		known["digest"] = b.digest(d)
	}
	if !f.alone {
		known["connectorRef"] = d.Reference(ref.Connector, &b.Connector)
	}
	d.Fields(v, document.Merge(known, own))
	d.Need(v, f.need...)
	if !f.alone {
		d.Need(v, "connectorRef")
	}
	b.version(d, v, f)
}

// version checks that a source says which version is meant, in one way.
// Harness's editor leaves the other key blank.
func (b *Base) version(d *Decoder, v yamldoc.Value, f form) {
	switch {
	case !v.Is(yamldoc.Mapping):
	case b.PatternKey == "":
		d.Need(v, b.FixedKey)
	default:
		if !f.unclear {
			d.Takes(v, yamldoc.UseOneOf, b.FixedKey, b.PatternKey)
		}
		fixed, pattern := !document.Neutral(v.Node.Get(b.FixedKey)), !document.Neutral(v.Node.Get(b.PatternKey))
		if fixed && pattern {
			d.Errorf(v, document.Ambiguous, "found %s and %s; want only one of them", b.FixedKey, b.PatternKey)
		}
		if !fixed && !pattern {
			d.Errorf(v, document.MissingKey, "one of the keys %s, %s is missing", b.FixedKey, b.PatternKey)
		}
	}
}

// regex reads a regular expression, all of which a version must match.
func (b *Base) regex(d *Decoder) document.Rule {
	return func(v yamldoc.Value) {
		if b.Pattern = d.String(v); b.Pattern.Value != "" {
			if _, err := regexp.Compile(b.Pattern.Value); err != nil {
				d.Errorf(v, document.WrongValue, "%s", err)
			}
		}
	}
}

var digestForm = regexp.MustCompile(`^(sha256:)?[0-9a-f]{64}$`)

func (b *Base) digest(d *Decoder) document.Rule {
	return func(v yamldoc.Value) {
		b.Digest = d.String(v)
		if f := b.Digest; f.Expr == "" && f.Value != "" && !digestForm.MatchString(f.Value) {
			d.Errorf(v, document.WrongValue, "found %q; want a digest such as sha256: and 64 hexadecimal digits", f.Value)
		}
	}
}

// fixed says whether the version is written out, and no digest beside it. It may
// be an expression.
func (b *Base) fixed() bool {
	version := b.Fixed.Value + b.Fixed.Expr
	return version != "" && !strings.Contains(version, "lastPublished") && b.Digest.Value+b.Digest.Expr == ""
}

// lastPublished is a version that stands for the newest, perhaps of those that
// match an expression (semantics/pipeline §3.6).
var lastPublished = regexp.MustCompile(`(?s)^\s*<\+\s*lastPublished\.(?:tag|version|build)\s*(?:>\s*|(\.regex\(.*\))\s*>\s*|>\s*(\.regex\(.*\))\s*)$`)

// Newest says whether a text stands for the newest version, and is no other
// expression.
func Newest(text string) bool { return lastPublished.MatchString(text) }

// Choice is which version a resolved source is to give.
func (b *Base) Choice() (lookup.Choice, error) {
	c := lookup.Choice{Pattern: b.Pattern.Value, Digest: b.Digest.Value}
	if c.Pattern == "" {
		if m := lastPublished.FindStringSubmatch(b.Fixed.Value); m != nil {
			c.Pattern = newest(m[1] + m[2])
		} else {
			c.Version = b.Fixed.Value
		}
	}
	if _, err := regexp.Compile(c.Pattern); err != nil {
		return c, fault.New(fault.Invalid, "the regular expression %q: %w", c.Pattern, err)
	}
	return c, nil
}

// newest is the expression that the newest version must match: that in
// .regex(...), or any.
func newest(call string) string {
	if call == "" {
		return ".*"
	}
	re := strings.TrimSuffix(strings.TrimPrefix(call, ".regex("), ")")
	if len(re) > 1 && (re[0] == '"' || re[0] == '\'') && re[len(re)-1] == re[0] {
		re = re[1 : len(re)-1]
	}
	return re
}
