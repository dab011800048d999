package entity

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// fromStage binds useFromStage: the identifier of an earlier stage.
func (d *decoder) fromStage(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.fields(v, keys{
			"stage":       func(v yamldoc.Value) { *f = d.identifier(v, ref.CheckNodeID) },
			"metadata":    func(yamldoc.Value) {}, // the console's
			"description": func(yamldoc.Value) {},
		})
		d.need(v, "stage")
	}
}

// checkPropagation checks what stages take from others (entities spec §5.1):
// from an earlier one that has it itself, and one of it. Members of a parallel
// block aren't earlier than each other.
func (d *decoder) checkPropagation(stages []StageItem, earlier map[string]*Stage) {
	for _, item := range stages {
		if len(item.Insert) > 0 {
			d.checkPropagation(item.Insert, earlier)
			continue
		}
		var together []*Stage
		collect([]StageItem{item}, &together)
		for _, s := range together {
			if s.Deployment != nil {
				d.checkSources(s.Deployment, earlier)
			}
		}
		for _, s := range together {
			earlier[s.Identifier.Value] = s
		}
	}
}

// collect lists the stages of a list and of what is in it.
func collect(items []StageItem, into *[]*Stage) {
	for _, item := range items {
		if item.Stage != nil {
			*into = append(*into, item.Stage)
		}
		collect(item.Parallel, into)
		collect(item.Insert, into)
	}
}

func (d *decoder) checkSources(s *Deployment, earlier map[string]*Stage) {
	for _, take := range []struct {
		from  yamldoc.Field[string]
		what  string
		wrong func(*Deployment) string
	}{
		{s.Service.From, "service", wrongService},
		{s.Services.From, "services", wrongServices},
		{s.Environment.From, "environment", wrongEnvironment},
	} {
		if take.from.Value == "" {
			continue
		}
		if why := unusable(earlier[take.from.Value], s, take.wrong); why != "" {
			d.ErrorAt(take.from.At, badReference, "the %s can't be taken from stage %s: %s", take.what, take.from.Value, why)
		}
	}
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
	case source.Deployment.Type.Value != s.Type.Value:
		return fmt.Sprintf("it deploys %s, and this stage %s", source.Deployment.Type.Value, s.Type.Value)
	case source.Loop.set():
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

func wrongEnvironment(source *Deployment) string {
	switch e := source.Environment; {
	case e.From.Set:
		return "it takes it from another stage itself"
	case !e.Ref.Set || len(e.Infrastructures) != 1 || e.All.Value || len(e.Filters) > 0:
		return "it may have several environments or infrastructures"
	}
	return ""
}
