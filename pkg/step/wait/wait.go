// Package wait is the step type Wait: nothing happens for a time
// (semantics/pipeline §7.3). It needs no delegate.
//
// Outputs: output.duration, as the step's YAML has it.
package wait

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// beyond is longer than any duration may be (53 weeks): the step has no
// timeout of its own.
const beyond = 54 * 7 * 24 * time.Hour

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "Wait", New: decode, Timeout: beyond, Endable: true} }

// Spec is the step's spec.
type Spec struct {
	Duration yamldoc.Field[time.Duration]
	text     string // of the duration
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"duration": func(e yamldoc.Value) {
			s.Duration = d.Duration(e)
			if e.Is(yamldoc.Scalar) {
				s.text = e.Node.Value
			}
		},
		"delegateSelectors": d.Words(nil), // no delegate takes part
	})
	d.Missing(v, "duration")
	return s
}

// Start waits.
func (s *Spec) Start(step.In) (step.Action, error) {
	if !s.Duration.Set || s.Duration.Expr != "" {
		return step.Action{}, fault.New(fault.Invalid, "duration is %q; want a time such as 10m", s.text)
	}
	doc, err := json.Marshal(map[string]map[string]string{"output": {"duration": s.text}})
	if err != nil {
		return step.Action{}, fmt.Errorf("encode the outputs: %w", err)
	}
	return step.Action{Wait: &step.Wait{Duration: s.Duration.Value, Outputs: doc}}, nil
}
