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

// lookup makes the step that looks the artifact of a stage's service up; nil
// if its document says all that there is to know. Where the service isn't
// chosen yet, the step will see.
func (b *builder) lookup(stage *Node, doc *yamldoc.Node, at place) *Node {
	d := stage.Deployment
	if d == nil || !d.Late && !slices.ContainsFunc(append(sources(d.Service), Sidecars(d.Service)...), b.asked) {
		return nil
	}
	return b.ofService(stage, doc, at, &Node{Identifier: "service", Name: "Service", Type: TypeService})
}

// asked says whether a delegate must ask an artifact source.
func (b *builder) asked(source *yamldoc.Node) bool {
	return b.src.LookedUp != nil && b.src.LookedUp(source)
}

// ofService makes a step that finds something out of a stage's service. It has
// no document of its own; doc is the stage's.
func (b *builder) ofService(stage *Node, doc *yamldoc.Node, at place, n *Node) *Node {
	n.ID = NodeID(string(stage.ID) + ".spec." + n.Identifier)
	b.add(n.ID, doc)
	n.Kind, n.Line, n.Doc = KindStep, doc.Line, &yamldoc.Node{Kind: yamldoc.Mapping}
	n.Strategies, n.Selectors = at.levels.ForServices(), at.selectors
	return n
}

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

// described makes the step that fetches what the chart of a stage's service
// says of itself; nil if no chart is to be asked. A service that is chosen
// when the stage starts has none.
func (b *builder) described(stage *Node, doc *yamldoc.Node, at place) *Node {
	d := stage.Deployment
	if d == nil || d.Late || !slices.ContainsFunc(items(d.Service.At("serviceDefinition", "spec", "manifests")), Described) {
		return nil
	}
	return b.ofService(stage, doc, at, &Node{Identifier: "manifests", Name: "Manifests", Type: TypeChart})
}

// TypeProbe is the type of the step that tests a connector. No pipeline has it:
// pkg/execution makes a plan of it alone.
const TypeProbe = "ConnectorTest"

// Described says whether a manifest is a chart whose metadata are asked for.
func Described(item *yamldoc.Node) bool {
	m := item.Get("manifest")
	return str(m, "type") == "HelmChart" && strings.EqualFold(str(m.Get("spec"), "fetchHelmChartMetadata"), "true")
}

// sources are the artifact sources of a service that may be its primary one.
func sources(service *yamldoc.Node) []*yamldoc.Node {
	primary := service.At("serviceDefinition", "spec", "artifacts", "primary")
	if primary.Get("type") != nil {
		return []*yamldoc.Node{primary}
	}
	list := items(primary.Get("sources"))
	want := str(primary, "primaryArtifactRef")
	if want == "" || strings.Contains(want, "<+") {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(n *yamldoc.Node) bool { return str(n, "identifier") != want })
}

// Sidecars are the sources of a service's artifacts beside the primary one.
func Sidecars(service *yamldoc.Node) []*yamldoc.Node {
	var out []*yamldoc.Node
	for _, item := range items(service.At("serviceDefinition", "spec", "artifacts", "sidecars")) {
		if source := item.Get("sidecar"); source != nil {
			out = append(out, source)
		}
	}
	return out
}
