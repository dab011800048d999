package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// instances is how large the group of a step becomes.
type instances struct {
	aws.Instances

	Running yamldoc.Field[bool] // useAlreadyRunningInstances, as it was said before there were types
}

// keys are those of a step that has it.
func (i *instances) keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"instances":                  func(v yamldoc.Value) { i.Decode(d, v) },
		"useAlreadyRunningInstances": d.Flag(&i.Running),
	}
}

// size is what the step says; nil: nothing.
func (i *instances) size() *aws.Size {
	if s := i.Size(); s != nil || !i.Running.Value {
		return s
	}
	return &aws.Size{Running: true}
}
