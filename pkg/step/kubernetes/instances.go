package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of an instanceSelection.
const (
	typeCount      = "Count"
	typePercentage = "Percentage"
)

// Instances decodes an instanceSelection: {type: Count, spec: {count}} or
// {type: Percentage, spec: {percentage}}.
func Instances(r *yamldoc.Report, v yamldoc.Value) *task.InstanceSelection {
	out := &task.InstanceSelection{}
	kind := r.Enum(yamldoc.Sub(v.Node.Get("type"), v.Path+".type"), typeCount, typePercentage).Value
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type": // read before, wherever it stands
		case "spec":
			selected(r, e, kind, out)
		default:
			r.Unknown(e, "type", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type", "spec")
	}
	return out
}

// selected decodes the spec of a selection. Where the type is an expression,
// either key may stand.
func selected(r *yamldoc.Report, v yamldoc.Value, kind string, out *task.InstanceSelection) {
	want := map[string][]string{typeCount: {"count"}, typePercentage: {"percentage"}, "": {"count", "percentage"}}[kind]
	for e := range r.Mapping(v) {
		switch {
		case e.Key == "count" && kind != typePercentage:
			n := r.Int(e)
			if n.Value < 0 {
				r.Errorf(e, "WRONG_VALUE", "found %d; want a number of 0 or more", n.Value)
			}
			out.Count = &n.Value
		case e.Key == "percentage" && kind != typeCount:
			n := r.Int(e)
			if n.Value < 0 || n.Value > 100 {
				r.Errorf(e, "WRONG_VALUE", "found %d; want a percentage from 0 to 100", n.Value)
			}
			out.Percentage = &n.Value
		default:
			r.Unknown(e, want...)
		}
	}
	if kind != "" && v.Is(yamldoc.Mapping) {
		r.Missing(v, want...)
	}
}
