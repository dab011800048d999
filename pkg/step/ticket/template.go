package ticket

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Template is a ServiceNow template that gives a ticket's fields.
type Template struct {
	Use  yamldoc.Field[bool]
	Name yamldoc.Field[string]
}

// Key decodes a key; false if it is the step's own.
func (t *Template) Key(e yamldoc.Value, r *yamldoc.Report) bool {
	switch e.Key {
	case "useServiceNowTemplate":
		t.Use = r.Bool(e)
	case "templateName":
		t.Name = r.String(e)
	default:
		return false
	}
	return true
}

// Check reports a template that is wanted and has no name.
func (t *Template) Check(v yamldoc.Value, r *yamldoc.Report) {
	if t.Use.Value {
		r.Missing(v, "templateName")
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
