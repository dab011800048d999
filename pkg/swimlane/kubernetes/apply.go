package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// applyType is the step type K8sApply: chosen files of the service's manifests,
// or manifests of the step's own, are applied as they are, Jobs too
// (semantics/kubernetes §15).
//
// Outputs: output.releaseName. The files are rendered and applied by
// delegate/kubernetes; nothing is versioned, and no rollback takes it back.
func applyType() step.Type {
	return step.Type{Name: string(OpApply), Deploys: true, New: decodeApply}
}

// apply is the step's spec.
type apply struct {
	Files           yamldoc.Field[[]string] // below the manifest's path
	SkipDryRun      yamldoc.Field[bool]
	SkipSteadyState yamldoc.Field[bool]
	SkipRendering   yamldoc.Field[bool] // the files are no templates
	Flags           []origin.CommandFlag
	// Source replaces the service's manifests; nil if it doesn't.
	Source *ownManifest
	// Overrides are layers of values, patches or parameters above all others,
	// low to high.
	Overrides []*ownManifest
}

func decodeApply(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &apply{}
	d.Fields(v, document.Keys{
		"filePaths":            d.Words(&s.Files),
		"skipDryRun":           d.Flag(&s.SkipDryRun),
		"skipSteadyStateCheck": d.Flag(&s.SkipSteadyState),
		"skipRendering":        d.Flag(&s.SkipRendering),
		"manifestSource": func(e yamldoc.Value) {
			if !e.Null() {
				s.Source = manifestSource(d, e)
			}
		},
		"overrides":         func(e yamldoc.Value) { s.Overrides = overrides(d, e) },
		"commandFlags":      func(e yamldoc.Value) { s.Flags = stepFlags(d, e, OpApply) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	if s.Source == nil {
		d.Missing(v, "filePaths")
	}
	return s
}

// Start has a delegate apply the files.
func (s *apply) Start(in step.In) (step.Action, error) {
	if len(s.Files.Value) == 0 && s.Source == nil {
		return step.Action{}, fault.New(fault.Invalid, "filePaths is empty; want at least one file or folder of the manifests")
	}
	p := Spec{
		Op: OpApply, FilePaths: s.Files.Value, CommandFlags: s.Flags,
		SkipDryRun: s.SkipDryRun.Value, SkipSteadyState: s.SkipSteadyState.Value, SkipRendering: s.SkipRendering.Value,
	}
	if s.Source != nil {
		if err := s.Source.replace(in, &p); err != nil {
			return step.Action{}, err
		}
	}
	for _, o := range s.Overrides {
		if err := o.above(in, &p); err != nil {
			return step.Action{}, err
		}
	}
	return start(in, p)
}
