package resolve

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// provisioner is the section of a stage that makes what it deploys to
// (semantics/pipeline §7.16).
type provisioner struct {
	scope *Scope
	stage *plan.Node // nil: the node is in none
}

// lookup resolves provisioner.NAME: an output of the section's steps. Of a stage
// without one the name may be somebody else's.
func (s provisioner) lookup(path []string) (expr.Value, int, error) {
	stage := s.stage
	if stage == nil || len(stage.Provisioning()) == 0 {
		if v, used, err := s.scope.paths().shortcut(path); err == nil {
			return v, used, nil
		}
		return expr.Null(), 0, unknown("there is no provisioner in this stage: its environment has none")
	}
	if len(path) > 2 && (path[1] == "steps" || path[1] == "rollbackSteps") {
		full := join(strings.Split(string(stage.ID), "."), join([]string{"spec", "environment"}, path))
		v, used, err := s.scope.paths().absolute(full, len(full)-len(path))
		return v, used, err
	}
	made, err := s.makers()
	if err != nil {
		return expr.Null(), 0, err
	}
	if len(path) < 2 {
		v, err := s.all(made)
		return v, 1, err
	}
	var names []string
	for _, n := range made { // the last first
		st := s.scope.State(n.ID)
		own, err := s.scope.outputs.named(n.ID, st)
		if err != nil {
			return expr.Null(), 0, err
		}
		if _, ok := own[path[1]]; ok {
			v, used, _, err := s.scope.outputs.output(n, st, join([]string{"output"}, path[1:]))
			return v, used, err
		}
		for name := range own {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	has := "none yet"
	if len(names) > 0 {
		has = strings.Join(slices.Compact(names), ", ")
	}
	err = unknown("the provisioner of stage %s has no output %q; it has %s", stage.Identifier, path[1], has)
	return expr.Null(), 0, err
}

// makers are the steps of the section whose outputs count: the
// one that the infrastructure definition names, or all that have put something
// out, what ended last first.
func (s provisioner) makers() ([]*plan.Node, error) {
	var all []*plan.Node
	var walk func(list []*plan.Node)
	walk = func(list []*plan.Node) {
		for _, n := range list {
			if n.Kind == plan.KindStep {
				all = append(all, n)
			}
			walk(s.scope.Plan.Children(n, s.scope.State(n.ID)))
		}
	}
	walk(s.stage.Provisioning())
	named, err := s.named()
	if err != nil {
		return nil, err
	}
	if named != "" {
		own := slices.DeleteFunc(slices.Clone(all), func(n *plan.Node) bool { return n.Identifier != named })
		if len(own) == 0 {
			var ids []string
			for _, n := range all {
				ids = append(ids, n.Identifier)
			}
			return nil, fault.New(fault.Invalid, "the infrastructure definition names the provisioner %q, which is no step of the section of stage %s; it has %s",
				named, s.stage.Identifier, strings.Join(ids, ", ")).Causing(fault.ConfigurationFailure)
		}
		all = own
	}
	slices.SortStableFunc(all, func(a, b *plan.Node) int { return s.scope.State(b.ID).EndedAt.Compare(s.scope.State(a.ID).EndedAt) })
	return all, nil
}

// named is the step that the stage's infrastructure definition names as what
// makes it; empty: it names none.
func (s provisioner) named() (string, error) {
	d, err := s.scope.deployments().of(s.stage)
	if err != nil {
		return "", unknown("provisioner has no value: %w", err)
	}
	v, err := field(s.scope, d.infrastructure.Infrastructure.Provisioner)
	return known(v), err
}

// all is what some steps have put out, in one map.
func (s provisioner) all(made []*plan.Node) (expr.Value, error) {
	all := map[string]expr.Value{}
	for _, n := range slices.Backward(made) {
		own, err := s.scope.outputs.named(n.ID, s.scope.State(n.ID))
		if err != nil {
			return expr.Null(), err
		}
		for name, v := range own {
			all[name] = s.scope.outputs.outputValue(v)
		}
	}
	return expr.Map(all), nil
}

// named are a step's outputs by name.
func (o outputs) named(id plan.NodeID, st plan.State) (map[string]any, error) {
	doc, err := o.outputsOf(id, st)
	if err != nil {
		return nil, err
	}
	m, _ := doc.(map[string]any)
	own, _ := m["output"].(map[string]any)
	return own, nil
}

// ofProvisioner takes the older way to a stage's provisioner section,
// spec.infrastructure.infrastructureDefinition.provisioner, for the one that its
// nodes have. It says by how much the path is shorter.
func ofProvisioner(path []string) ([]string, int) {
	older := []string{"infrastructure", "infrastructureDefinition", "provisioner"}
	const at = 4 // pipeline.stages.STAGE.spec
	if len(path) < at+len(older) || path[1] != "stages" || path[at-1] != "spec" || !slices.Equal(path[at:at+len(older)], older) {
		return path, 0
	}
	return join(path[:at], join([]string{"environment"}, path[at+2:])), 1
}
