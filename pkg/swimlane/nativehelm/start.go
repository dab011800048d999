package nativehelm

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// start makes the task of a spec: it adds what its stage deploys to. Charts
// needn't mark their pods, so those of its workloads are the release's.
func start(in step.In, p Spec) (step.Action, error) {
	target, err := step.TargetOf[*kubernetes.Target](in)
	if err != nil {
		return step.Action{}, err
	}
	p.Target = *target
	p.Target.Selectors = nil
	return step.Deploy(in, Kind, p, kubernetes.Place{Cluster: p.Target.Cluster}, target.Selectors...)
}

// common are the fields of every Helm step that changes a release.
type common struct {
	SkipSteady  yamldoc.Field[bool]
	Tests       yamldoc.Field[bool]
	Flags       []origin.CommandFlag
	Environment map[string]string
}

// keys are those of these fields in a spec.
func (c *common) keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"skipSteadyStateCheck": d.Flag(&c.SkipSteady),
		"runChartTests":        d.Flag(&c.Tests),
		"commandFlags":         kubernetes.HelmCommandFlags(d, &c.Flags),
		"environmentVariables": func(e yamldoc.Value) { c.Environment = environment(d, e) },
		"delegateSelectors":    d.Words(nil), // the plan's
	}
}

// environment decodes environmentVariables.
func environment(d *document.Decoder, v yamldoc.Value) map[string]string {
	out := d.StringMap(v).Value
	for _, e := range v.Node.Entries {
		if e.Value == nil || strings.Contains(e.Value.Value, "<+") {
			continue
		}
		d.Failed(yamldoc.Sub(e.Value, v.Path+"."+e.Key), CheckEnvironment(e.Key, e.Value.Value))
	}
	return out
}

// install are the fields of a Helm step that installs or upgrades a release.
type install struct {
	common
	IgnoreFailed   yamldoc.Field[bool] // deploys over a revision that failed
	UpgradeInstall yamldoc.Field[bool] // "helm upgrade --install", also the first time
}

// keys are those of these fields in a spec.
func (i *install) keys(d *document.Decoder) document.Keys {
	return document.Merge(i.common.keys(d), document.Keys{
		"ignoreReleaseHistFailStatus": d.Flag(&i.IgnoreFailed),
		"useUpgradeInstall":           d.Flag(&i.UpgradeInstall),
	})
}

// payload is the payload of an operation with these fields.
func (i *install) payload(op Op) Spec {
	return Spec{
		Op: op, IgnoreFailedHistory: i.IgnoreFailed.Value, UpgradeInstall: i.UpgradeInstall.Value,
		SkipSteadyState: i.SkipSteady.Value, RunTests: i.Tests.Value, CommandFlags: i.Flags, Environment: i.Environment,
	}
}
