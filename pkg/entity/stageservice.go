package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// StageService is a service of a stage.
type StageService struct {
	Ref                       yamldoc.Field[string]
	Inputs                    *yamldoc.Node // values of the service's runtime inputs
	DisableArtifactValidation yamldoc.Field[bool]
	From                      yamldoc.Field[string] // the stage whose service this is (useFromStage)
}

// StageServices are the services of a stage that deploys several.
type StageServices struct {
	Values                    []StageService
	Parallel                  yamldoc.Field[bool] // otherwise one after the other
	From                      yamldoc.Field[string]
	DisableArtifactValidation yamldoc.Field[bool]
}

func (d deployments) stageService(v yamldoc.Value, s *StageService) {
	d.Fields(v, document.Merge(d.serviceOfStage(s), document.Keys{
		"useFromStage": d.fromStage(&s.From),
	}))
	d.OneOf(v, "serviceRef", "useFromStage")
	d.fromStageAlone(v, "the service as it is", "serviceInputs", "disableArtifactValidation")
}

func (d deployments) serviceOfStage(s *StageService) document.Keys {
	return document.Keys{
		"serviceRef":                d.Reference(ref.Service, &s.Ref),
		"serviceInputs":             d.Node(&s.Inputs),
		"disableArtifactValidation": d.Decided(&s.DisableArtifactValidation),
		"gitBranch":                 d.branch(),
		"failureStrategies":         d.Never("the steps that prepare services and environments have the failureStrategies of their stage, as Harness documents; put them there"),
		"description":               document.Nothing,
	}
}

// notFromBranch is why a branch's name has no effect.
const notFromBranch = "documents are kept by Slipway and not read from a branch; apply those of the branch that is meant"

// branch decodes the name of the branch that a document is to be read from.
func (d *decoder) branch() func(yamldoc.Value) {
	var name yamldoc.Field[string]
	return d.Idle(notFromBranch, d.Text(&name))
}

func (d deployments) stageServices(v yamldoc.Value, s *StageServices) {
	d.Fields(v, document.Keys{
		"values": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				var one StageService
				d.Fields(item, d.serviceOfStage(&one))
				d.Need(item, "serviceRef")
				s.Values = append(s.Values, one)
			}
			if v.Null() {
				d.Errorf(v, document.EmptyList, "found no services; want one at least")
			}
			d.Empty(v, "found no services: a run has nothing to deploy")
		},
		"metadata":                  d.parallel(&s.Parallel),
		"disableArtifactValidation": d.Decided(&s.DisableArtifactValidation),
		"useFromStage":              d.fromStage(&s.From),
		"failureStrategies":         d.Never("the steps that prepare services and environments have the failureStrategies of their stage, as Harness documents; put them there"),
		"description":               document.Nothing,
	})
	d.OneOf(v, "values", "useFromStage")
	d.fromStageAlone(v, "the services as they are", "disableArtifactValidation")
}

// fromStageAlone reports keys beside useFromStage that would say something else
// about what is taken from there.
func (d deployments) fromStageAlone(v yamldoc.Value, takes string, others ...string) {
	if v.Node.Get("useFromStage") == nil {
		return
	}
	for _, key := range others {
		if !document.Neutral(v.Node.Get(key)) {
			d.Errorf(v, document.Ambiguous, "found %s beside useFromStage, which takes %s", key, takes)
		}
	}
}

// parallel binds metadata.parallel: whether the deployments run at the same time.
func (d deployments) parallel(f *yamldoc.Field[bool]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.Fields(v, document.Keys{"parallel": d.Flag(f), "description": func(yamldoc.Value) {}})
	}
}

// some reports a list that is missing, and warns of one without items: it can
// be saved, as Harness's editor leaves it, and means nothing to a run.
func (d deployments) some(v yamldoc.Value, what string) {
	if v.Null() {
		d.Errorf(v, document.EmptyList, "found no %s; want one at least", what)
		return
	}
	d.Empty(v, "found no %s: a run has nothing to deploy to", what)
}
