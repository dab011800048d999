package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a capacity.
const (
	byCount      = "Count"
	byPercentage = "Percentage"
)

// capacity is how many machines a group gets.
type capacity struct {
	Type              yamldoc.Field[string]
	Count, Percentage yamldoc.Field[int]
}

func (c *capacity) decode(d *document.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&c.Type, byCount, byPercentage),
		"spec": func(e yamldoc.Value) {
			switch typ {
			case byCount:
				d.Fields(e, document.Keys{"count": d.Count(&c.Count)})
				d.Need(e, "count")
			case byPercentage:
				d.Fields(e, document.Keys{"percentage": percent(d, &c.Percentage)})
				d.Need(e, "percentage")
			}
		},
	})
	d.Need(v, "type", "spec")
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

// amount is what it says.
func (c *capacity) amount() Amount {
	if c.Type.Value == byPercentage {
		return Amount{Value: c.Percentage.Value, Percent: true}
	}
	return Amount{Value: c.Count.Value}
}
