package plan

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// TypeService is the type of the step that looks an artifact up. It stands
// before the steps of its stage and isn't among them: its place is that of the
// stage's service, <+pipeline.stages.STAGE.spec.service>.
const TypeService = "Service"

// ForServices are the strategies of a stage as they hold for what it deploys:
// a failure there can't be passed over, or handed to a person, because the
// steps would go on with something else than was wanted. Then it fails plainly
// (semantics/pipeline §5.2).
func (l Levels) ForServices() Levels {
	var out Levels
	for _, level := range l {
		level = slices.Clone(level)
		for i := range level {
			level[i].Action = level[i].Action.forServices()
		}
		out = append(out, level)
	}
	return out
}

func (a Action) forServices() Action {
	switch a.Type {
	case Retry:
		then := a.Then.forServices()
		a.Then = &then
		return a
	case Abort, MarkAsFailure, PipelineRollback:
		return a
	case Ignore, MarkAsSuccess, ManualIntervention, ProceedWithDefaultValues, StageRollback, StepGroupRollback, RetryStepGroup:
	}
	return Action{Type: MarkAsFailure}
}

// TypeChart is the type of the step that fetches what a chart says of itself,
// for <+manifests.ID.helm...>. Its place is that of the service's manifests.
const TypeChart = "Chart"

// TypeProbe is the type of the step that tests a connector. No pipeline has it:
// pkg/execution makes a plan of it alone.
const TypeProbe = "ConnectorTest"

// Described says whether the service has a chart whose metadata are asked for.
func (d *Deployment) Described() bool {
	return slices.ContainsFunc(d.Service.At("serviceDefinition", "spec", "manifests").List(), func(item *yamldoc.Node) bool {
		m := item.Get("manifest")
		return m.Text("type") == "HelmChart" && strings.EqualFold(m.Get("spec").Text("fetchHelmChartMetadata"), "true")
	})
}

// Primaries are the artifact sources of a service that may be its primary one.
func Primaries(service *yamldoc.Node) []*yamldoc.Node {
	primary := service.At("serviceDefinition", "spec", "artifacts", "primary")
	if primary.Get("type") != nil {
		return []*yamldoc.Node{primary}
	}
	list := primary.Get("sources").List()
	want := primary.Text("primaryArtifactRef")
	if want == "" || strings.Contains(want, "<+") {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(n *yamldoc.Node) bool { return n.Text("identifier") != want })
}

// Sidecars are the sources of a service's artifacts beside the primary one.
func Sidecars(service *yamldoc.Node) []*yamldoc.Node {
	var out []*yamldoc.Node
	for _, item := range service.At("serviceDefinition", "spec", "artifacts", "sidecars").List() {
		if source := item.Get("sidecar"); source != nil {
			out = append(out, source)
		}
	}
	return out
}
