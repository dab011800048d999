package ticket

import (
	"slices"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Parameter is a parameter of a build.
type Parameter struct{ Name, Type, Value yamldoc.Field[string] }

// Parameters decodes a list of {name, type, value}.
func Parameters(v yamldoc.Value, d *document.Decoder) []Parameter {
	var list []Parameter
	var names []string
	for item := range d.Items(v) {
		var p Parameter
		d.Fields(item, document.Keys{
			"name":  d.Text(&p.Name),
			"type":  d.Word(&p.Type, step.TypeString, step.TypeNumber),
			"value": d.Text(&p.Value),
		})
		d.Need(item, "name", "value")
		if name := step.Text(p.Name); name != "" && slices.Contains(names, name) {
			d.Errorf(item, "DUPLICATE_NAME", "parameter %q stands twice", name)
		} else {
			names = append(names, name)
		}
		list = append(list, p)
	}
	return list
}

// Given are parameters as a delegate is given them. A Number must be one.
func Given(parameters []Parameter) ([]task.NamedValue, error) {
	var list []task.NamedValue
	for _, p := range parameters {
		v := task.NamedValue{Name: step.Text(p.Name), Value: step.Text(p.Value)}
		if _, err := strconv.ParseFloat(v.Value, 64); step.Text(p.Type) == step.TypeNumber && err != nil {
			return nil, fault.New(fault.Invalid, "parameter %q is %q; want a number", v.Name, v.Value)
		}
		list = append(list, v)
	}
	return list, nil
}
