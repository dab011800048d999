package nativehelm

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deletionType is the step type HelmDelete: a Helm release is uninstalled, with
// its hooks (semantics/kubernetes §19.3).
//
// Outputs: output.releaseName. It is done by delegate/helm; no rollback brings
// back what is gone.
func deletionType() step.Type {
	return step.Type{Name: string(OpDelete), Deploys: true, New: decodeDeletion}
}

// deletion is the step's spec.
type deletion struct {
	Release     yamldoc.Field[string] // another than the infrastructure's
	DryRun      yamldoc.Field[bool]
	Flags       []origin.CommandFlag // of "helm uninstall"
	Environment map[string]string
}

func decodeDeletion(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &deletion{}
	d.Fields(v, document.Keys{
		"releaseName":          d.Text(&s.Release),
		"dryRun":               d.Flag(&s.DryRun),
		"commandFlags":         func(e yamldoc.Value) { s.flags(e, d) },
		"environmentVariables": func(e yamldoc.Value) { s.Environment = environment(d, e) },
		"delegateSelectors":    d.Words(nil), // the plan's
	})
	return s
}

// flags decodes commandFlags, which here are plain texts.
func (s *deletion) flags(v yamldoc.Value, d *document.Decoder) {
	for _, text := range d.Strings(v).Value {
		s.Flags = append(s.Flags, origin.CommandFlag{Command: origin.HelmUninstall, Flag: text})
	}
	for i, f := range s.Flags {
		if i < len(v.Node.Items) && !strings.Contains(f.Flag, "<+") {
			d.Failed(yamldoc.Sub(v.Node.Items[i], v.Path), origin.CheckHelmFlag(f.Command, f.Flag))
		}
	}
}

// Start has a delegate uninstall the release.
func (s *deletion) Start(in step.In) (step.Action, error) {
	return start(in, Spec{
		Op: OpDelete, Release: s.Release.Value, DryRun: s.DryRun.Value, CommandFlags: s.Flags, Environment: s.Environment,
	})
}
