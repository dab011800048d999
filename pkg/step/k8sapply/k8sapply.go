// Package k8sapply is the step type K8sApply: chosen files of the service's
// manifests, or manifests of the step's own, are applied as they are, Jobs too
// (kubernetes spec §15).
//
// Outputs: output.releaseName. The files are rendered and applied by
// delegate/kubernetes; nothing is versioned, and no rollback takes it back.
package k8sapply

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpApply), Deploys: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	Files           yamldoc.Field[[]string] // below the manifest's path
	SkipDryRun      yamldoc.Field[bool]
	SkipSteadyState yamldoc.Field[bool]
	SkipRendering   yamldoc.Field[bool] // the files are no templates
	Flags           []task.CommandFlag
	// Source replaces the service's manifests; nil if it doesn't.
	Source *kubernetes.Manifest
	// Overrides are layers of values, patches or parameters above all others,
	// low to high.
	Overrides []*kubernetes.Manifest
}

func decode(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
	s := &Spec{}
	v := yamldoc.Sub(doc, "")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "filePaths":
			s.Files = r.Strings(e)
		case "skipDryRun":
			s.SkipDryRun = r.Bool(e)
		case "skipSteadyStateCheck":
			s.SkipSteadyState = r.Bool(e)
		case "skipRendering":
			s.SkipRendering = r.Bool(e)
		case "manifestSource":
			if !e.Null() {
				s.Source = kubernetes.Source(r, e)
			}
		case "overrides":
			s.Overrides = kubernetes.Overrides(r, e)
		case "commandFlags":
			s.Flags = kubernetes.Flags(r, e, task.OpApply)
		case "delegateSelectors": // the plan's
			r.Strings(e)
		default:
			r.Unknown(e, "filePaths", "skipDryRun", "skipSteadyStateCheck", "skipRendering", "manifestSource", "overrides",
				"commandFlags", "delegateSelectors")
		}
	}
	if s.Source == nil {
		r.Missing(v, "filePaths")
	}
	return s
}

// Start has a delegate apply the files.
func (s *Spec) Start(in step.In) (step.Action, error) {
	if len(s.Files.Value) == 0 && s.Source == nil {
		return step.Action{}, fault.New(fault.Invalid, "filePaths is empty; want at least one file or folder of the manifests")
	}
	p := task.Kubernetes{
		Op: task.OpApply, FilePaths: s.Files.Value, CommandFlags: s.Flags,
		SkipDryRun: s.SkipDryRun.Value, SkipSteadyState: s.SkipSteadyState.Value, SkipRendering: s.SkipRendering.Value,
	}
	if s.Source != nil {
		if err := s.Source.Replace(in, &p); err != nil {
			return step.Action{}, err
		}
	}
	for _, o := range s.Overrides {
		if err := o.Above(in, &p); err != nil {
			return step.Action{}, err
		}
	}
	return kubernetes.Start(in, p)
}

// Finish takes the delegate's result as it is.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
