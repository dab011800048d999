package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a step's instances.
const (
	fixed          = "Fixed"
	currentRunning = "CurrentRunning"
)

// instances is how large the group of a step becomes.
type instances struct {
	Type              yamldoc.Field[string]
	Min, Max, Desired yamldoc.Field[int]
}

func (i *instances) decode(d *document.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&i.Type, fixed, currentRunning),
		"spec": func(s yamldoc.Value) {
			if typ != fixed {
				d.Fields(s, document.Keys{})
				return
			}
			d.Fields(s, document.Keys{"min": d.Count(&i.Min), "max": d.Count(&i.Max), "desired": d.Count(&i.Desired)})
			d.Need(s, "min", "max", "desired")
			if i.known() && (i.Min.Value > i.Desired.Value || i.Desired.Value > i.Max.Value) {
				d.Errorf(s, document.WrongValue, "found min %d, desired %d and max %d; want desired from min to max", i.Min.Value, i.Desired.Value, i.Max.Value)
			}
		},
	})
	if d.Need(v, "type"); typ == fixed {
		d.Need(v, "spec")
	}
}

// known says whether all numbers are there.
func (i *instances) known() bool {
	for _, f := range []yamldoc.Field[int]{i.Min, i.Max, i.Desired} {
		if !f.Set || f.Expr != "" {
			return false
		}
	}
	return true
}

// size is what the step says.
func (i *instances) size() *Size {
	if i.Type.Value == currentRunning {
		return &Size{Running: true}
	}
	return &Size{Min: i.Min.Value, Max: i.Max.Value, Desired: i.Desired.Value}
}
