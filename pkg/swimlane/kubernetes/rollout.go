package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rolloutType is the step type K8sRollout: workloads restart, go back, pause or
// go on, or their roll-outs are looked at, as by "kubectl rollout"
// (semantics/kubernetes §15).
//
// Outputs: output.releaseName. The commands are carried out by
// delegate/kubernetes; no rollback takes them back.
func rolloutType() step.Type {
	return step.Type{Name: string(OpRollout), Deploys: true, New: decodeRollout}
}

// rollout is the step's spec.
type rollout struct {
	Command   yamldoc.Field[string]
	Resources ResourceSelection
	Flags     []origin.CommandFlag
}

func commands() []string {
	return []string{RolloutRestart, RolloutResume, RolloutStatus, RolloutUndo, RolloutPause, RolloutHistory}
}

func decodeRollout(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &rollout{}
	d.Fields(v, document.Keys{
		"command":           d.WordAnyCase(&s.Command, commands()...), // the documentation and the schema write them differently
		"resources":         func(e yamldoc.Value) { s.Resources = resources(d, e, false) },
		"commandFlags":      func(e yamldoc.Value) { s.Flags = stepFlags(d, e, OpRollout) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "command", "resources")
	s.suited(d, v)
	return s
}

// suited reports flags that the command doesn't have.
func (s *rollout) suited(d *document.Decoder, v yamldoc.Value) {
	flags, err := ParseFlags(OpRollout, s.Flags)
	if err != nil || s.Command.Value == "" || !v.Is(yamldoc.Mapping) {
		return // expressions, or said before
	}
	if err := CheckRollout(s.Command.Value, flags); err != nil {
		d.Errorf(yamldoc.Sub(v.Node.Get("commandFlags"), "commandFlags"), "WRONG_VALUE", "%s", err)
	}
}

// Start has a delegate do the command.
func (s *rollout) Start(in step.In) (step.Action, error) {
	if err := checkResources(s.Resources, "resources"); err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{
		Op: OpRollout, CommandFlags: s.Flags, Rollout: &Rollout{Command: s.Command.Value, Resources: s.Resources},
	})
}
