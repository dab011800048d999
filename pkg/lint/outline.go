package lint

import (
	"github.com/slipway-cd/slipway/pkg/document"
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

func outline(pipeline *yamldoc.Node) parts {
	p := parts{
		variables: variables(pipeline.Get("variables")), byNode: map[*yamldoc.Node]*stage{}, byID: map[string]*stage{}, exports: map[export]bool{},
	}
	p.collect(pipeline.Get("stages"))
	return p
}

// collect adds the stages of a list.
func (p *parts) collect(list *yamldoc.Node) {
	p.open = p.open || list != nil && list.Kind == yamldoc.Scalar
	for _, item := range list.List() {
		p.collect(item.Get("parallel"))
		p.open = p.open || item.Get("insert") != nil
		if n := item.Get("stage"); n != nil {
			p.add(n, stageOf(n))
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

func stageOf(n *yamldoc.Node) *stage {
	s := &stage{id: text(n.Get("identifier")), variables: variables(n.Get("variables")), open: n.Get("template") != nil, chains: text(n.Get("type")) == "Pipeline"}
	spec := n.Get("spec")
	looped := n.Get("strategy") != nil || entity.Several(spec)
	s.looped = looped
	s.deploys = deploys(text(n.Get("type")), spec)
	for _, list := range []string{"steps", "rollbackSteps"} {
		s.collect(spec.At("execution", list), looped)
	}
	s.makes = makes(n, spec)
	for _, list := range []string{"steps", "rollbackSteps"} {
		s.collect(spec.At("environment", "provisioner", list), looped)
		s.collect(spec.At("infrastructure", "infrastructureDefinition", "provisioner", list), looped)
	}
	s.open = s.open || spec != nil && spec.Kind == yamldoc.Scalar
	return s
}

// deploys says whether a stage has something to deploy to. A stage of another
// type than Deployment may still name an environment.
func deploys(typ string, spec *yamldoc.Node) answer {
	if spec == nil || typ == "" {
		return unknown
	}
	for _, e := range spec.Entries {
		if e.Key != "execution" && e.Key != "description" {
			return yes
		}
	}
	if typ == "Custom" || typ == "Approval" {
		return no
	}
	return unknown
}

// makes says whether a stage has steps that make what it deploys to.
func makes(stage, spec *yamldoc.Node) answer {
	environment := spec.Get("environment")
	switch {
	case !document.Neutral(environment.Get("provisioner")):
		return yes
	case stage.Get("template") != nil || spec == nil || spec.Kind != yamldoc.Mapping || environment != nil && environment.Kind != yamldoc.Mapping || spec.Get("infrastructure") != nil:
		return unknown
	}
	return no
}

// collect adds the steps of a list, and those of its groups; looped says that
// they are within a loop.
func (s *stage) collect(list *yamldoc.Node, looped bool) {
	s.open = s.open || list != nil && list.Kind == yamldoc.Scalar
	for _, item := range list.List() {
		s.collect(item.Get("parallel"), looped)
		s.open = s.open || item.Get("insert") != nil
		for _, key := range []string{"step", "stepGroup"} {
			n := item.Get(key)
			if n == nil {
				continue
			}
			id := text(n.Get("identifier"))
			s.steps.add(id)
			s.open = s.open || n.Get("template") != nil
			if n.Get("strategy") != nil {
				s.loops.add(id)
			}
			s.published(n, looped)
			inner := looped || n.Get("strategy") != nil
			s.collect(n.Get("steps"), inner)
			s.collect(n.Get("rollbackSteps"), inner)
		}
	}
}

// has says whether the stage has a step or a step group, or the copy of one.
func (s *stage) has(id string) bool { return s.steps.has(id) || s.loops.copied(id) }

func variables(list *yamldoc.Node) nameset {
	var names nameset
	for _, item := range list.List() {
		names.add(text(item.Get("name")))
	}
	return names
}

func text(n *yamldoc.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}
