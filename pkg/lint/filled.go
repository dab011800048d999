package lint

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Filled are the findings of Untrusted that a pipeline has once its inputs have
// values, as a trigger or an input set gives them, and hasn't without. Their
// places are the pipeline's.
func Filled(pipeline, values *yamldoc.Node, types step.Types, r *yamldoc.Report) {
	if pipeline == nil || values == nil {
		return
	}
	before, after := yamldoc.NewReport(""), yamldoc.NewReport("")
	Untrusted(pipeline, types, before)
	Untrusted(input.Merge(pipeline, nil, input.Source{Doc: values, Lenient: true}).Doc, types, after)
	known := before.Findings()
	for _, f := range after.Findings() {
		same := func(o yamldoc.Finding) bool { return o.Path == f.Path && o.Message == f.Message }
		if !slices.ContainsFunc(known, same) {
			at := &yamldoc.Node{Kind: yamldoc.Scalar, Line: f.Line, Column: f.Column}
			r.Doubtf(yamldoc.Sub(at, f.Path), f.Code, "%s", f.Message)
		}
	}
}
