package ticket

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Template is a ServiceNow template that gives a ticket's fields.
type Template struct {
	Use  yamldoc.Field[bool]
	Name yamldoc.Field[string]
}

// Keys are those that it adds to a spec.
func (t *Template) Keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"useServiceNowTemplate": d.Flag(&t.Use),
		"templateName":          d.Text(&t.Name),
	}
}

// Check reports a template that is wanted and has no name.
func (t *Template) Check(v yamldoc.Value, d *document.Decoder) {
	if t.Use.Value {
		d.Missing(v, "templateName")
	}
}

// Named is the template's name; empty where none is used.
func (t *Template) Named() (string, error) {
	if !t.Use.Value {
		return "", nil
	}
	if step.Text(t.Name) == "" {
		return "", fault.New(fault.Invalid, "templateName is empty; want the name of a template, or useServiceNowTemplate: false")
	}
	return step.Text(t.Name), nil
}
