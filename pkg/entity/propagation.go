package entity

import (
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// fromStage binds useFromStage: the identifier of an earlier stage.
func (d deployments) fromStage(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.Fields(v, document.Keys{
			"stage":       func(v yamldoc.Value) { *f = d.Identifier(v, ref.CheckNodeID) },
			"metadata":    document.Nothing, // the console's
			"description": document.Nothing,
		})
		d.Need(v, "stage")
	}
}

// checkPropagation checks what stages take from others
// (semantics/entities §5.1): from an earlier one that has it itself, and one
// of it. What a member of the same parallel block has is taken as it is
// written, since nobody knows which begins first; so it mustn't be an
// expression.
func (d deployments) checkPropagation(stages StageList, earlier map[string]*Stage) {
	for _, item := range stages.Flat() {
		together := StageList{Items: []StageItem{item}}.All()
		for _, s := range together {
			if s.Deployment != nil {
				d.checkSources(s, earlier, together)
			}
		}
		for _, s := range together {
			earlier[s.Identifier.Value] = s
		}
	}
}

// taken is something that a stage takes from another.
type taken struct {
	from    yamldoc.Field[string]
	what    string
	wrong   func(*Deployment) string
	written func(*Deployment) []yamldoc.Field[string] // what must be known beside each other
}

func (s *Deployment) takes() []taken {
	environment := taken{s.Environment.From, "environment", wrongEnvironment, environmentNames}
	if s.Environment.chooses() {
		environment.wrong, environment.written = wrongPlace, placeNames
	}
	return []taken{
		{s.Service.From, "service", wrongService, serviceNames},
		{s.Services.From, "services", wrongServices, serviceNames},
		environment,
	}
}

func (d deployments) checkSources(s *Stage, earlier map[string]*Stage, together []*Stage) {
	for _, take := range s.Deployment.takes() {
		if take.from.Value == "" {
			continue
		}
		source, beside := earlier[take.from.Value], false
		if source == nil {
			i := slices.IndexFunc(together, func(o *Stage) bool { return o != s && o.Identifier.Value == take.from.Value })
			if beside = i >= 0; beside {
				source = together[i]
			}
		}
		why := unusable(source, s.Deployment, take.wrong)
		if why == "" && beside && source.Deployment != nil && late(take.written(source.Deployment)) {
			why = "both stand in the same parallel block, and there it is an expression, which may have no value yet"
		}
		if why != "" {
			d.ErrorAt(take.from.At, document.BadReference, "the %s can't be taken from stage %s: %s", take.what, take.from.Value, why)
			continue
		}
		if take.what == "environment" && source.Deployment != nil {
			d.referTaken(s.Deployment.Environment, source.Deployment.Environment.Ref.Value)
		}
	}
}

// referTaken adds the references to infrastructures of an environment that is
// taken from another stage.
func (d deployments) referTaken(s StageEnvironment, environment string) {
	for _, i := range s.Infrastructures {
		n := &yamldoc.Node{Kind: yamldoc.Scalar, Value: i.Identifier.Value, Line: i.Identifier.At.Line, Column: i.Identifier.At.Column, File: i.Identifier.At.File}
		d.referInfrastructure(yamldoc.Sub(n, i.Identifier.At.Path), i.Identifier.Value, environment)
	}
}

// late says whether one of some names is an expression other than an input,
// which is filled in before anything runs.
func late(names []yamldoc.Field[string]) bool {
	return slices.ContainsFunc(names, func(f yamldoc.Field[string]) bool { return f.Expr != "" && !expr.IsRuntimeInput(f.Expr) })
}

func serviceNames(s *Deployment) []yamldoc.Field[string] {
	names := []yamldoc.Field[string]{s.Service.Ref}
	for _, one := range s.Services.Values {
		names = append(names, one.Ref)
	}
	return names
}

func placeNames(s *Deployment) []yamldoc.Field[string] {
	return []yamldoc.Field[string]{s.Environment.Ref}
}

func environmentNames(s *Deployment) []yamldoc.Field[string] {
	names := placeNames(s)
	for _, one := range s.Environment.Infrastructures {
		names = append(names, one.Identifier)
	}
	return names
}

// unusable says why nothing can be taken from a stage; empty: it can.
func unusable(source *Stage, s *Deployment, wrong func(*Deployment) string) string {
	switch {
	case source == nil:
		return "there is no such stage before this one"
	case source.Deployment == nil && !source.Type.Set:
		return "" // a link to a template that isn't there
	case source.Deployment == nil:
		return fmt.Sprintf("it is a %s stage, which deploys nothing", source.Type.Value)
	case source.Deployment.Type.Value == "" || s.Type.Value == "": // which is told where it is missing
	case source.Deployment.Type.Value != s.Type.Value:
		return fmt.Sprintf("it deploys %s, and this stage %s", source.Deployment.Type.Value, s.Type.Value)
	}
	if source.Loop.set() {
		return "it runs in a loop"
	}
	return wrong(source.Deployment)
}

func wrongService(source *Deployment) string {
	if len(source.Services.Values) > 0 {
		return "it has several services"
	}
	return wrongServices(source)
}

func wrongServices(source *Deployment) string {
	if source.Service.From.Set || source.Services.From.Set {
		return "it takes them from another stage itself"
	}
	return ""
}

// wrongPlace is wrongEnvironment for a stage that has infrastructures of its own.
func wrongPlace(source *Deployment) string {
	switch e := source.Environment; {
	case e.From.Set:
		return "it takes it from another stage itself"
	case !e.Ref.Set:
		return "it may have several environments"
	}
	return ""
}

func wrongEnvironment(source *Deployment) string {
	switch e := source.Environment; {
	case e.From.Set:
		return "it takes it from another stage itself"
	case !e.Ref.Set || len(e.Infrastructures) != 1 || e.All.Value || len(e.Filters) > 0:
		return "it may have several environments or infrastructures"
	}
	return ""
}
