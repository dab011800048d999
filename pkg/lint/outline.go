package lint

import (
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// parts are what expressions of a pipeline can name.
type parts struct {
	variables nameset
	stages    []*stage
	ids       nameset // of the stages
	byID      map[string]*stage
	byNode    map[*yamldoc.Node]*stage
	loops     nameset // stages that a strategy copies
	exports   map[export]bool
	nodes     stage // what any stage has
	open      bool  // a template brings stages that aren't known here
}

// stage is what expressions can name in a stage.
type stage struct {
	id        string
	variables nameset
	steps     nameset // of all step groups, and of the rollback
	loops     nameset // those of them that a strategy copies
	looped    bool    // it is copied itself
	exports   []published
	deploys   answer
	makes     answer // its infrastructure, by steps of its own
	chains    bool   // it runs another pipeline
	open      bool   // a template brings steps that aren't known here
}

// answer is yes or no, as far as the document says.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

func outline(pipeline *entity.Pipeline) parts {
	p := parts{
		variables: variables(pipeline.Variables), byNode: map[*yamldoc.Node]*stage{}, byID: map[string]*stage{}, exports: map[export]bool{},
	}
	p.collect(pipeline.Stages)
	return p
}

// collect adds the stages of a list. What is in an insert isn't all that will be
// there.
func (p *parts) collect(list entity.StageList) {
	p.open = p.open || list.Open
	for _, item := range list.Items {
		p.collect(item.Parallel)
		p.collect(item.Insert)
		if item.Stage != nil {
			p.add(item.Stage.Doc, stageOf(item.Stage))
		}
	}
}

func (p *parts) add(n *yamldoc.Node, s *stage) {
	p.stages, p.byNode[n] = append(p.stages, s), s
	p.ids.add(s.id)
	if p.byID[s.id] == nil {
		p.byID[s.id] = s
	}
	if s.looped {
		p.loops.add(s.id)
	}
	for _, id := range s.steps.list {
		p.nodes.steps.add(id)
	}
	for _, id := range s.loops.list {
		p.nodes.loops.add(id)
	}
	p.nodes.open = p.nodes.open || s.open
	for _, e := range s.exports {
		p.exports[e.export] = true
	}
}

// hasNode says whether a stage or a step has the identifier: shortcuts may
// begin with it (semantics/pipeline §3.5).
func (p *parts) hasNode(id string) bool { return p.nodes.open || p.ids.has(id) || p.nodes.has(id) }

func stageOf(of *entity.Stage) *stage {
	s := &stage{
		id: of.Identifier.Value, variables: variables(of.Variables), looped: of.Loop.Repeats(), chains: of.Chain != nil,
		open: of.Linked || of.Open || of.Deployment == nil && of.Chain == nil && !of.DeploysNothing(),
	}
	if d := of.Deployment; d != nil {
		s.looped = s.looped || d.Several
	}
	s.deploys, s.makes = deploys(of, s.open), makes(of, s.open)
	s.collect(of.Steps, s.looped)
	s.collect(of.RollbackSteps, s.looped)
	if d := of.Deployment; d != nil {
		s.collect(d.Provisioner.Steps, s.looped)
		s.collect(d.Provisioner.RollbackSteps, s.looped)
	}
	return s
}

// deploys says whether a stage has something to deploy to; open says that it
// isn't all there.
func deploys(s *entity.Stage, open bool) answer {
	switch {
	case s.Deployment != nil:
		return yes
	case open || !s.DeploysNothing():
		return unknown
	}
	return no
}

// makes says whether a stage has steps that make what it deploys to.
func makes(s *entity.Stage, open bool) answer {
	d := s.Deployment
	switch {
	case d != nil && (len(d.Provisioner.Steps.Items) > 0 || d.Provisioner.Steps.Open):
		return yes
	case open || d != nil && !d.Environment.Ref.Set && !d.Environment.From.Set && !d.Group.Ref.Set && len(d.Environments.Values) == 0:
		return unknown
	}
	return no
}

// collect adds the steps of a list, and those of its groups; looped says that
// they are within a loop.
func (s *stage) collect(list entity.StepList, looped bool) {
	s.open = s.open || list.Open
	for _, item := range list.Items {
		s.collect(item.Parallel, looped)
		s.collect(item.Insert, looped)
		if step := item.Step; step != nil {
			s.add(step.Identifier.Value, step.Linked, step.Loop)
			s.published(step, looped)
		}
		if g := item.Group; g != nil {
			s.add(g.Identifier.Value, g.Linked, g.Loop)
			s.collect(g.Steps, looped || g.Loop.Repeats())
			s.collect(g.RollbackSteps, looped || g.Loop.Repeats())
		}
	}
}

// add adds a step or a step group.
func (s *stage) add(id string, linked bool, loop entity.Looping) {
	s.steps.add(id)
	s.open = s.open || linked
	if loop.Repeats() {
		s.loops.add(id)
	}
}

// has says whether the stage has a step or a step group, or the copy of one.
func (s *stage) has(id string) bool { return s.steps.has(id) || s.loops.copied(id) }

func variables(list []entity.Variable) nameset {
	var names nameset
	for _, v := range list {
		names.add(v.Name.Value)
	}
	return names
}
