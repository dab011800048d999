package lint

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// parts are what expressions of a pipeline can name.
type parts struct {
	variables []string
	stages    []*stage
	byNode    map[*yamldoc.Node]*stage
	open      bool // a template brings stages that aren't known here
}

// stage is what expressions can name in a stage.
type stage struct {
	id        string
	variables []string
	steps     []string // of all step groups, and of the rollback
	loops     []string // those of them, and itself, that a strategy copies
	exports   []export
	deploys   answer
	chains    bool // it runs another pipeline
	open      bool // a template brings steps that aren't known here
}

// answer is yes or no, as far as the document says.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

func outline(pipeline *yamldoc.Node) parts {
	p := parts{variables: variables(pipeline.Get("variables")), byNode: map[*yamldoc.Node]*stage{}}
	p.collect(pipeline.Get("stages"))
	return p
}

func items(n *yamldoc.Node) []*yamldoc.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// collect adds the stages of a list.
func (p *parts) collect(list *yamldoc.Node) {
	p.open = p.open || list != nil && list.Kind == yamldoc.Scalar
	for _, item := range items(list) {
		p.collect(item.Get("parallel"))
		p.open = p.open || item.Get("insert") != nil
		if n := item.Get("stage"); n != nil {
			s := stageOf(n)
			p.stages = append(p.stages, s)
			p.byNode[n] = s
		}
	}
}

func (p *parts) stage(id string) *stage {
	i := slices.IndexFunc(p.stages, func(s *stage) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return p.stages[i]
}

// copied says whether an identifier is that of a stage's copy, e.g. deploy_1.
func (p *parts) copied(id string) bool {
	return slices.ContainsFunc(p.stages, func(s *stage) bool { return slices.Contains(s.loops, s.id) && strings.HasPrefix(id, s.id+"_") })
}

// hasNode says whether a stage or a step has the identifier: shortcuts may
// begin with it (pipeline spec §3.5).
func (p *parts) hasNode(id string) bool {
	return slices.ContainsFunc(p.stages, func(s *stage) bool { return s.open || s.id == id || s.has(id) })
}

func stageOf(n *yamldoc.Node) *stage {
	s := &stage{id: text(n.Get("identifier")), variables: variables(n.Get("variables")), open: n.Get("template") != nil, chains: text(n.Get("type")) == "Pipeline"}
	spec := n.Get("spec")
	looped := n.Get("strategy") != nil || entity.Several(spec)
	if looped {
		s.loops = append(s.loops, s.id)
	}
	s.deploys = deploys(text(n.Get("type")), spec)
	for _, list := range []string{"steps", "rollbackSteps"} {
		s.collect(spec.At("execution", list), looped)
	}
	s.collect(spec.At("environment", "provisioner", "steps"), looped)
	s.collect(spec.At("infrastructure", "infrastructureDefinition", "provisioner", "steps"), looped)
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

// collect adds the steps of a list, and those of its groups; looped says that
// they are within a loop.
func (s *stage) collect(list *yamldoc.Node, looped bool) {
	s.open = s.open || list != nil && list.Kind == yamldoc.Scalar
	for _, item := range items(list) {
		s.collect(item.Get("parallel"), looped)
		s.open = s.open || item.Get("insert") != nil
		for _, key := range []string{"step", "stepGroup"} {
			n := item.Get(key)
			if n == nil {
				continue
			}
			id := text(n.Get("identifier"))
			s.steps = append(s.steps, id)
			s.open = s.open || n.Get("template") != nil
			if n.Get("strategy") != nil {
				s.loops = append(s.loops, id)
			}
			s.published(n, looped)
			inner := looped || n.Get("strategy") != nil
			s.collect(n.Get("steps"), inner)
			s.collect(n.Get("rollbackSteps"), inner)
		}
	}
}

// has says whether the stage has a step or a step group, or the copy of one.
func (s *stage) has(id string) bool {
	return slices.Contains(s.steps, id) ||
		slices.ContainsFunc(s.loops, func(l string) bool { return l != s.id && strings.HasPrefix(id, l+"_") })
}

func variables(list *yamldoc.Node) []string {
	var names []string
	for _, item := range items(list) {
		names = append(names, text(item.Get("name")))
	}
	return names
}

func text(n *yamldoc.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}
