package aws

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Size is how many machines a group has.
type Size struct {
	// Running takes the size of the group that is there, whatever the rest says.
	Running bool `json:"running,omitempty"`
	Min     int  `json:"min,omitempty"`
	Max     int  `json:"max,omitempty"`
	Desired int  `json:"desired,omitempty"`
}

// Amount is a count, or a percentage of the machines that a group should have.
type Amount struct {
	Value   int  `json:"value"`
	Percent bool `json:"percent,omitempty"`
}

// The types of a step's instances.
const (
	fixed          = "Fixed"
	currentRunning = "CurrentRunning"
)

// Instances is how large a step makes a group.
type Instances struct {
	Type              yamldoc.Field[string]
	Min, Max, Desired yamldoc.Field[int]
}

// Decode decodes a type and its spec.
func (i *Instances) Decode(d *document.Decoder, v yamldoc.Value) {
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
func (i *Instances) known() bool {
	for _, f := range []yamldoc.Field[int]{i.Min, i.Max, i.Desired} {
		if !f.Set || f.Expr != "" {
			return false
		}
	}
	return true
}

// Size is what the step says; nil: nothing.
func (i *Instances) Size() *Size {
	switch i.Type.Value {
	case fixed:
		return &Size{Min: i.Min.Value, Max: i.Max.Value, Desired: i.Desired.Value}
	case currentRunning:
		return &Size{Running: true}
	}
	return nil
}

// The types of Machines.
const (
	byCount      = "Count"
	byPercentage = "Percentage"
)

// Machines is how many machines a step is about.
type Machines struct {
	Type              yamldoc.Field[string]
	Count, Percentage yamldoc.Field[int]
}

// Decode decodes a type and its spec.
func (m *Machines) Decode(d *document.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&m.Type, byCount, byPercentage),
		"spec": func(e yamldoc.Value) {
			switch typ {
			case byCount:
				d.Fields(e, document.Keys{"count": d.Count(&m.Count)})
				d.Need(e, "count")
			case byPercentage:
				d.Fields(e, document.Keys{"percentage": percent(d, &m.Percentage)})
				d.Need(e, "percentage")
			}
		},
	})
	d.Need(v, "type", "spec")
}

// Amount is what the step says.
func (m *Machines) Amount() Amount {
	if m.Type.Value == byPercentage {
		return Amount{Value: m.Percentage.Value, Percent: true}
	}
	return Amount{Value: m.Count.Value}
}

// whole is all of something, in percent.
const whole = 100

// percent fills a field with a percentage.
func percent(d *document.Decoder, f *yamldoc.Field[int]) document.Rule {
	return func(v yamldoc.Value) {
		if d.Count(f)(v); f.Value > whole {
			d.Errorf(v, document.WrongValue, "found %d; want a percentage from 0 to %d", f.Value, whole)
		}
	}
}
