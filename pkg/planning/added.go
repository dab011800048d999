package planning

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Steps that stand in no document: those that find out what a stage deploys, that
// open a session, and that run another pipeline.

// found are the steps that look up what a stage deploys, before its own: one asks
// for artifacts, the next for what a chart says of itself. Of a service that is
// chosen when the stage starts, the first will see what there is to ask.
func (b *builder) found(stage *plan.Node, at place) []*plan.Node {
	d := stage.Deployment
	if d == nil {
		return nil
	}
	var out []*plan.Node
	if d.Late || slices.ContainsFunc(append(plan.Primaries(d.Service), plan.Sidecars(d.Service)...), b.asked) {
		out = append(out, b.ofService(stage, at, &plan.Node{Identifier: "service", Name: "Service", Type: plan.TypeService}))
	}
	if !d.Late && d.Described() {
		out = append(out, b.ofService(stage, at, &plan.Node{Identifier: "manifests", Name: "Manifests", Type: plan.TypeChart}))
	}
	return out
}

// asked says whether a delegate must ask an artifact source.
func (b *builder) asked(source *yamldoc.Node) bool {
	return b.src.LookedUp != nil && b.src.LookedUp(source)
}

// ofService makes a step that finds something out of a stage's service. It has
// no document of its own.
func (b *builder) ofService(stage *plan.Node, at place, n *plan.Node) *plan.Node {
	n.ID = stage.ID + ".spec." + plan.NodeID(n.Identifier)
	b.add(n.ID, stage.Line)
	n.Kind, n.Line, n.Doc = plan.KindStep, stage.Line, &yamldoc.Node{Kind: yamldoc.Mapping}
	n.Strategies, n.Selectors = at.levels.ForServices(), at.selectors
	return n
}

// provisioner puts the steps of a stage's provisioner section before its others,
// and its rollbackSteps after the others.
func (b *builder) provisioner(stage *plan.Node, section entity.Provisioner, selectors []string) {
	base := stage.ID + ".spec.environment.provisioner."
	forth := place{id: base + "steps", selectors: selectors, levels: stage.Strategies}
	back := place{id: base + "rollbackSteps", selectors: selectors, rollback: true}
	steps := b.opened(b.steps(section.Steps, forth), section.Steps, forth)
	undo := b.opened(b.steps(section.RollbackSteps, back), section.RollbackSteps, back)
	for _, n := range slices.Concat(steps, undo) {
		n.Provisions = true
	}
	stage.Children, stage.Rollback = append(steps, stage.Children...), append(stage.Rollback, undo...)
}

// initialize is the end of the id of the step that opens a session.
const initialize = "-initialize"

// opened puts the step that opens a session before a list of nodes, if some of
// the steps that they are of need one. Steps of a containerized group have that
// group's. needs are what the session's machine must be.
func (b *builder) opened(nodes []*plan.Node, of entity.StepList, at place, needs ...string) []*plan.Node {
	if !b.needSession(of) {
		return nodes
	}
	n := &plan.Node{
		ID: at.below(initialize), Kind: plan.KindStep, Identifier: initialize, Name: plan.TypeSession, Type: plan.TypeSession, Line: of.Line,
		Doc: &yamldoc.Node{Kind: yamldoc.Mapping}, Strategies: slices.Clone(at.levels), Selectors: at.selectors, Needs: needs,
	}
	b.add(n.ID, n.Line)
	return slices.Insert(nodes, 0, n)
}

// needSession says whether a step of a list, or of a plain group in it, needs a
// session.
func (b *builder) needSession(list entity.StepList) bool {
	return slices.ContainsFunc(list.Flat(), func(item entity.StepItem) bool {
		switch group := item.Group; {
		case item.Step != nil:
			return b.src.Steps.Of(item.Step.Type.Text).Session
		case group != nil:
			return !group.Containerized && (b.needSession(group.Steps) || b.needSession(group.RollbackSteps))
		}
		return b.needSession(item.Parallel)
	})
}

// chained makes the step of a Pipeline stage. The time of the stage bounds it.
func (b *builder) chained(stage *plan.Node) *plan.Node {
	id := stage.ID + ".pipeline"
	b.add(id, stage.Line)
	return &plan.Node{
		ID: id, Kind: plan.KindStep, Identifier: "pipeline", Name: stage.Name, Type: plan.TypePipeline, Line: stage.Line,
		Timeout: "5w", Strategies: stage.Strategies, Doc: stage.Doc,
	}
}
