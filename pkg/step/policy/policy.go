// Package policy is the step type Policy: it asks policy sets about what the
// pipeline gives it. No delegate takes part.
//
// Outputs: output.status, which is pass, warning or error,
// output.policySetDetails by set, with policyDetails by policy, and
// output.evaluationId, unless all pass.
package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "Policy", New: decode} }

// Spec is the step's spec.
type Spec struct {
	Sets    []string
	Payload yamldoc.Field[string]
	made    any // by an expression, as a mapping or a list
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"policySets": func(v yamldoc.Value) {
			d.Filled(v, document.WrongValue, "policySets is empty, so the step would ask nothing; want at least one policy set")
			s.Sets = step.Texts(v, d)
			for item := range document.Literals(v) {
				d.Reference(ref.PolicySet, &yamldoc.Field[string]{})(item)
			}
		},
		"type": d.Supported(&yamldoc.Field[string]{}, "the policy step's type", []string{"Custom"}),
		"policySpec": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"payload": func(v yamldoc.Value) {
				if d.IsResolved() && (v.Is(yamldoc.Mapping) || v.Is(yamldoc.Sequence)) {
					s.made = v.Node.Any()
					return
				}
				s.Payload = d.String(v)
			}})
			d.Need(v, "payload")
		},
		"delegateSelectors": d.Words(nil), // no delegate takes part
	})
	d.Need(v, "policySets", "type", "policySpec")
	return s
}

// Start asks the sets.
func (s *Spec) Start(in step.In) (step.Action, error) {
	payload := s.made
	if payload == nil {
		var err error
		if payload, err = read(step.Text(s.Payload)); err != nil {
			return step.Action{}, err
		}
	}
	verdict, err := in.Policies(s.Sets, payload)
	if err != nil {
		return step.Action{}, err
	}
	o, err := outcome(verdict)
	return step.Action{Done: &o}, err
}

// read is the payload as policies see it: JSON, or else YAML.
func read(text string) (any, error) {
	var out any
	if json.Unmarshal([]byte(text), &out) == nil {
		return out, nil
	}
	docs, report := yamldoc.Parse("payload", []byte(text))
	if report.Failed() || len(docs) != 1 || docs[0].Kind != yamldoc.Mapping && docs[0].Kind != yamldoc.Sequence {
		return nil, fault.New(fault.Invalid, "the payload is neither JSON nor YAML with a mapping or a list: %s", yamldoc.Shorten(text))
	}
	return docs[0].Any(), nil
}

// outcome is what a verdict means for the step: it fails if a policy denies.
func outcome(v policy.Judged) (plan.Outcome, error) {
	o := plan.Outcome{Status: plan.Success}
	sets := map[string]any{}
	for _, s := range v.Verdict {
		policies := map[string]any{}
		for _, p := range s.Policies {
			messages := p.Messages()
			if messages == nil {
				messages = []string{}
			}
			policies[local(p.Name)] = map[string]any{"status": p.Status(), "severity": p.Severity, "denyMessages": messages}
		}
		sets[local(s.Name)] = map[string]any{"status": s.Status(), "policyDetails": policies}
	}
	o.Message = v.Told()
	if v.Status() == policy.Refused {
		o.Status, o.Failures = plan.Failed, []fault.FailureType{fault.PolicyEvaluationFailure}
	}
	var err error
	output := map[string]any{"status": v.Status(), "policySetDetails": sets}
	if v.Evaluation != "" {
		output["evaluationId"] = v.Evaluation
	}
	if o.Outputs, err = json.Marshal(map[string]any{"output": output}); err != nil {
		return o, fmt.Errorf("encode the outputs: %w", err)
	}
	return o, nil
}

// local is a reference as a key of outputs: without its scope.
func local(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
