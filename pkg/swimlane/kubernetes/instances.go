package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of an instanceSelection.
const (
	typeCount      = "Count"
	typePercentage = "Percentage"
)

// DecodeInstances decodes an instanceSelection: {type: Count, spec: {count}} or
// {type: Percentage, spec: {percentage}}.
func DecodeInstances(d *document.Decoder, v yamldoc.Value) *InstanceSelection {
	out := &InstanceSelection{}
	kind := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Word(nil, typeCount, typePercentage),
		"spec": func(e yamldoc.Value) { selected(d, e, kind, out) },
	})
	d.Need(v, "type", "spec")
	return out
}

// selected decodes the spec of a selection. Where the type is an expression,
// either key may stand.
func selected(d *document.Decoder, v yamldoc.Value, kind string, out *InstanceSelection) {
	count := document.Keys{"count": func(e yamldoc.Value) {
		n := d.Int(e)
		if n.Value < 0 {
			d.Errorf(e, "WRONG_VALUE", "found %d; want a number of 0 or more", n.Value)
		}
		out.Count = &n.Value
	}}
	percentage := document.Keys{"percentage": func(e yamldoc.Value) {
		n := d.Int(e)
		if n.Value < 0 || n.Value > 100 {
			d.Errorf(e, "WRONG_VALUE", "found %d; want a percentage from 0 to 100", n.Value)
		}
		out.Percentage = &n.Value
	}}
	switch kind {
	case typeCount:
		d.Fields(v, count)
		d.Need(v, "count")
	case typePercentage:
		d.Fields(v, percentage)
		d.Need(v, "percentage")
	default:
		d.Fields(v, document.Merge(count, percentage))
	}
}
