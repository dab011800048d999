package step

import (
	"slices"
	"time"

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
// yamldoc.Report.Within). It fits entity.Options.CheckStep.
func (all Types) Check(typeName string, spec *yamldoc.Node, stageType string, r *yamldoc.Report) bool {
	i := slices.IndexFunc(all, func(t Type) bool { return t.Name == typeName })
	if i < 0 {
		return false
	}
	t := all[i]
	if (t.Deploys || t.Service) && stageType != "" && stageType != "Deployment" {
		r.Errorf(yamldoc.Sub(spec, ""), "WRONG_STAGE", "found a %s step in a stage of type %s; it needs a Deployment stage", t.Name, stageType)
	}
	t.Decode(spec, r)
	return true
}

// Session says whether steps of a type run in a session.
func (all Types) Session(typeName string) bool {
	return slices.ContainsFunc(all, func(t Type) bool { return t.Name == typeName && t.Session })
}

// Moves says whether a step of a type moves the traffic of what its stage deploys, as
// far as its spec says that before it starts.
func (all Types) Moves(typeName string, spec *yamldoc.Node) bool {
	return slices.ContainsFunc(all, func(t Type) bool {
		return t.Name == typeName && t.Moves != nil && t.Moves(t.Decode(spec, yamldoc.NewReport("")))
	})
}

// Lasts is how long steps of a type may well take, and why; 0: nothing is known.
func (all Types) Lasts(typeName string) (time.Duration, string) {
	i := slices.IndexFunc(all, func(t Type) bool { return t.Name == typeName && t.Lasts != nil })
	if i < 0 {
		return 0, ""
	}
	return all[i].Lasts.Time, all[i].Lasts.Why
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
