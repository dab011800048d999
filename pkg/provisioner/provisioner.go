// Package provisioner is what the steps share that make what stages deploy to: the
// identifier by which steps of a project find each other's work
// (semantics/pipeline §7.15).
//
// A folder below this one holds the steps of one tool, which belong to no
// deployment type. What is kept of their work is provision.Done.
package provisioner

import (
	"regexp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// maxIdentifier is how long an identifier may be.
const maxIdentifier = 128

var spelled = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// Identifier reads a provisionerIdentifier.
func Identifier(d *document.Decoder, f *yamldoc.Field[string]) document.Rule {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		if f.Set && f.Expr == "" && !d.IsResolved() {
			if err := check(f.Value); err != nil {
				d.Errorf(v, document.BadIdentifier, "%s", err)
			}
		}
	}
}

func check(identifier string) error {
	switch {
	case identifier == "" || identifier == "null":
		return fault.New(fault.Invalid, "the provisionerIdentifier is %q; want a name: what was made under it would be found by nobody", identifier)
	case len(identifier) > maxIdentifier || !spelled.MatchString(identifier):
		return fault.New(fault.Invalid, "the provisionerIdentifier is %q; want 1 to %d letters, digits, '_', '.' and '-'", yamldoc.Shorten(identifier), maxIdentifier)
	}
	return nil
}

// Of is what is made by an identifier when the step starts.
func Of(f yamldoc.Field[string]) (*provision.Provisioner, error) {
	p := &provision.Provisioner{Identifier: step.Text(f)}
	if err := check(p.Identifier); err != nil {
		return nil, fault.New(fault.Invalid, "%w", err).Causing(fault.ConfigurationFailure)
	}
	return p, nil
}
