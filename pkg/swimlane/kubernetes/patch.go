package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// patchType is the step type K8sPatch: an object in the cluster is changed in
// place by a strategic merge, merge or JSON patch (semantics/kubernetes §15).
//
// Outputs: output.releaseName. The patch is fetched and sent by
// delegate/kubernetes; no rollback takes it back.
func patchType() step.Type {
	return step.Type{Name: string(OpPatch), Deploys: true, New: decodePatch}
}

// patch is the step's spec.
type patch struct {
	Workload        yamldoc.Field[string] // [namespace/]Kind/name
	Strategy        yamldoc.Field[string]
	Source          *filesource.Store
	RecordCause     yamldoc.Field[bool]
	SkipSteadyState yamldoc.Field[bool]
	Flags           []origin.CommandFlag
}

func strategies() []string {
	return []string{PatchStrategic, PatchMerge, PatchJSON}
}

func decodePatch(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &patch{}
	d.Fields(v, document.Keys{
		"workload":             func(e yamldoc.Value) { s.Workload = workloadName(d, e) },
		"mergeStrategyType":    d.WordAnyCase(&s.Strategy, strategies()...), // the documentation and the schema write them differently
		"source":               func(e yamldoc.Value) { s.Source = ownStore(d, e) },
		"recordChangeCause":    d.Flag(&s.RecordCause),
		"skipSteadyStateCheck": d.Flag(&s.SkipSteadyState),
		"commandFlags":         func(e yamldoc.Value) { s.Flags = stepFlags(d, e, OpPatch) },
		"delegateSelectors":    d.Words(nil), // the plan's
	})
	d.Missing(v, "workload", "mergeStrategyType", "source")
	return s
}

// Start has a delegate patch the object.
func (s *patch) Start(in step.In) (step.Action, error) {
	from, err := in.Store(s.Source)
	if err != nil {
		return step.Action{}, fault.Wrap(err, "the source of the patch")
	}
	p := Spec{
		Op: OpPatch, Workload: step.Text(s.Workload), SkipSteadyState: s.SkipSteadyState.Value, CommandFlags: s.Flags,
		Patch: &Patch{Strategy: s.Strategy.Value, Source: from, RecordCause: s.RecordCause.Value},
	}
	p.Target.Selectors = s.Source.Extraction.Selectors.Value
	return start(in, p)
}
