package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// setupType is the step type ElastigroupSetup: what is to be deployed becomes a
// group of its own beside the one that serves, without machines yet.
// ElastigroupDeploy then moves machines from one to the other.
//
// Outputs: output.newElastigroupName, output.newElastigroupId,
// output.oldElastigroupName, output.oldElastigroupId, output.targetCount and
// output.amiId. The group is made by delegate/elastigroup.
func setupType() step.Type {
	return step.Type{
		Name: string(OpSetup), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec { return decodeSetup(d, v) },
		Preview: &step.Preview{By: string(OpDiff), Keys: []string{"name", "instances"}},
	}
}

// setup is the step's spec.
type setup struct {
	Name      yamldoc.Field[string]
	Instances aws.Instances
}

func decodeSetup(d *document.Decoder, v yamldoc.Value) *setup {
	s := &setup{}
	d.Fields(v, document.Keys{
		"name":              d.Text(&s.Name),
		"instances":         func(e yamldoc.Value) { s.Instances.Decode(d, e) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "instances")
	return s
}

// Start has a delegate make the group.
func (s *setup) Start(in step.In) (step.Action, error) { return s.begin(in, OpSetup) }

func (s *setup) begin(in step.In, op Op) (step.Action, error) {
	name, err := named(in, s.Name)
	if err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{Op: op, Name: name, Size: s.Instances.Size()})
}

// named is the name from which those of a stage's groups are made.
func named(in step.In, f yamldoc.Field[string]) (string, error) {
	if name := step.Text(f); name != "" {
		return name, nil
	}
	name, err := in.InterpolateKnown("<+project.identifier>_<+service.identifier>_<+env.identifier>")
	return name.Text(), err
}
