package step

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Types are the step types that pipelines may name.
type Types []Type

// Names lists their names, sorted.
func (all Types) Names() []string {
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// Check checks a step's spec when its pipeline is saved; false if there is no
// such type. stageType is the type of the stage that the step is in, empty if
// it isn't known. Paths in the report begin below the spec (see
// yamldoc.Report.Within).
func (all Types) Check(typeName string, spec *yamldoc.Node, stageType string, r *yamldoc.Report) bool {
	t := all.Of(typeName)
	if t.New == nil {
		return false
	}
	if (t.Deploys || t.Service) && stageType != "" && stageType != "Deployment" {
		r.Errorf(yamldoc.Sub(spec, ""), "WRONG_STAGE", "found a %s step in a stage of type %s; it needs a Deployment stage", t.Name, stageType)
	}
	t.Decode(spec, r)
	return true
}

// Of is the type of a name; the zero Type, which means nothing to anybody, if there
// is none.
func (all Types) Of(typeName string) Type {
	if i := slices.IndexFunc(all, func(t Type) bool { return t.Name == typeName }); i >= 0 {
		return all[i]
	}
	return Type{}
}

// Moves says whether a step of a type moves the traffic of what its stage deploys, as
// far as its spec says that before it starts.
func (all Types) Moves(typeName string, spec *yamldoc.Node) bool {
	t := all.Of(typeName)
	return t.Moves != nil && t.Moves(t.Decode(spec, yamldoc.NewReport("")))
}

// Previews are how the changes of steps can be seen before they run, by the
// names of the types that say so.
func (all Types) Previews() map[string]*Preview {
	found := map[string]*Preview{}
	for _, t := range all {
		if t.Preview != nil {
			found[t.Name] = t.Preview
		}
	}
	return found
}
