package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of an instanceSelection.
const (
	byCount      = "Count"
	byPercentage = "Percentage"
)

// selection is how many machines a step is about.
type selection struct {
	Type              yamldoc.Field[string]
	Count, Percentage yamldoc.Field[int]
}

func (s *selection) decode(d *document.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&s.Type, byCount, byPercentage),
		"spec": func(e yamldoc.Value) {
			switch typ {
			case byCount:
				d.Fields(e, document.Keys{"count": d.Count(&s.Count)})
				d.Need(e, "count")
			case byPercentage:
				d.Fields(e, document.Keys{"percentage": within(d, &s.Percentage, 0, 100)})
				d.Need(e, "percentage")
			}
		},
	})
	d.Need(v, "type", "spec")
}

// of is what it says.
func (s *selection) of() *Selection {
	if s.Type.Value == byPercentage {
		return &Selection{Value: s.Percentage.Value, Percent: true}
	}
	return &Selection{Value: s.Count.Value}
}
