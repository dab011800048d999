package ticket

import (
	"slices"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Parameter is a parameter of a build.
type Parameter struct{ Name, Type, Value yamldoc.Field[string] }

// Parameters decodes a list of {name, type, value}.
func Parameters(v yamldoc.Value, r *yamldoc.Report) []Parameter {
	var list []Parameter
	var names []string
	for item := range r.List(v) {
		var p Parameter
		for e := range r.Mapping(item) {
			switch e.Key {
			case "name":
				p.Name = r.String(e)
			case "type":
				p.Type = r.Enum(e, step.TypeString, step.TypeNumber)
			case "value":
				p.Value = r.String(e)
			default:
				r.Unknown(e, "name", "type", "value")
			}
		}
		if item.Is(yamldoc.Mapping) {
			r.Missing(item, "name", "value")
		}
		if name := step.Text(p.Name); name != "" && slices.Contains(names, name) {
			r.Errorf(item, "DUPLICATE_NAME", "parameter %q stands twice", name)
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
