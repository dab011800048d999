package entity

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a stage that Slipway runs.
const (
	StageDeployment = "Deployment"
	stageApproval   = "Approval"
	StageCustom     = "Custom"
	stagePipeline   = "Pipeline"
)

// stageCI is a stage that builds, which Slipway doesn't.
const stageCI = "CI"

// otherStageTypes are those that Harness has besides (semantics/pipeline §1.2).
func otherStageTypes() []string {
	return []string{
		"Dynamic", stageCI, "SecurityTests", "FeatureFlag", "IACM", "IDP", "DRTest", "CompositeLoadTest",
	}
}

// Stage is a stage (semantics/pipeline §1.2).
type Stage struct {
	Doc               *yamldoc.Node // all of it
	Linked            bool          // to a template that nobody has put in its place
	Open              bool          // an input stands for all that it runs
	Identifier        yamldoc.Field[string]
	Name              yamldoc.Field[string]
	Description       yamldoc.Field[string]
	Type              yamldoc.Field[string]
	Tags              yamldoc.Field[map[string]string]
	When              When
	Variables         []Variable
	VariablesDoc      *yamldoc.Node // the same, as they stand
	FailureStrategies []FailureStrategy
	DelegateSelectors yamldoc.Field[[]string]
	Timeout           yamldoc.Field[time.Duration]
	// RunMode says who lets the stage begin (semantics/pipeline §1.2).
	RunMode struct {
		Type    yamldoc.Field[string]        // RunManual or runAuto
		Timeout yamldoc.Field[time.Duration] // how long RunManual waits for somebody
	}
	Loop          Looping
	Deployment    *Deployment // of a Deployment stage
	Chain         *Chain      // of a Pipeline stage
	Steps         StepList
	RollbackSteps StepList
}

// DeploysNothing says whether the stage is of a type whose stages run steps and
// deploy nothing.
func (s *Stage) DeploysNothing() bool {
	return s.Type.Value == StageCustom || s.Type.Value == stageApproval
}

// The types of a stage's RunMode.
const (
	RunManual = "Manual"
	runAuto   = "Auto"
)

func (d pipelines) runMode(v yamldoc.Value, s *Stage) {
	manual := document.Peek(v, "type") == RunManual
	d.Fields(v, document.Keys{
		"type": d.Literal(&s.RunMode.Type, RunManual, runAuto),
		"timeout": func(v yamldoc.Value) {
			if s.RunMode.Timeout = d.Duration(v); !manual && s.RunMode.Timeout.Set {
				d.Warnf(v, document.WrongValue, "a stage that begins by itself waits for nobody; the timeout changes nothing")
			}
		},
	})
	d.Need(v, "type")
	if manual {
		d.Need(v, "timeout")
	}
}

func (d pipelines) stage(v yamldoc.Value, ids document.Seen) *Stage {
	s := &Stage{Doc: v.Node}
	d.Fields(v, document.Merge(d.stageKeys(s, document.Peek(v, "type")), document.Keys{
		"identifier": func(v yamldoc.Value) {
			s.Identifier = d.nodeID(v)
			d.Unique(ids, v, s.Identifier.Value)
		},
		"name": d.Name(&s.Name),
	}))
	d.Need(v, "identifier", "name")
	d.stageNeeds(v)
	return s
}

// StageOf reads a stage that has been checked again, as it stands in a plan.
func StageOf(doc *yamldoc.Node, o Options) *Stage {
	return pipelines{newDecoder(ref.Pipeline, yamldoc.NewReport(""), o)}.stage(yamldoc.Sub(doc, ""), document.Seen{})
}

// stageKeys are the keys that a template of a stage has too.
func (d pipelines) stageKeys(s *Stage, typ string) document.Keys {
	known := document.Keys{
		"description": d.Text(&s.Description),
		"tags":        d.Texts(&s.Tags),
		"type":        d.Supported(&s.Type, "stage type", []string{StageDeployment, stageApproval, StageCustom, stagePipeline}, otherStageTypes()...),
		"spec": func(v yamldoc.Value) {
			s.Open = v.Is(yamldoc.Scalar)
			d.stageSpec(v, typ, s)
		},
		"when": d.when(&s.When, "pipelineStatus"),
		"variables": func(v yamldoc.Value) {
			s.VariablesDoc = v.Node
			d.variables(&s.Variables)(v)
		},
		"failureStrategies": steps(d).failureStrategies(&s.FailureStrategies, level{node: "stage", stage: typ}),
		"delegateSelectors": d.Words(&s.DelegateSelectors),
		"timeout":           d.Time(&s.Timeout),
		"strategy":          steps(d).looping(&s.Loop),
		"runMode":           func(v yamldoc.Value) { d.runMode(v, s) },
		"dependsOn":         d.Never("stages run in the order in which they are written, and beside each other in parallel blocks; write them so in place of dependsOn"),
		"template":          noted(&s.Linked, d.link),
	}
	if typ == stagePipeline {
		known["delegateSelectors"] = d.Never("a Pipeline stage runs nothing on a delegate; give selectors to the other pipeline")
		known["runMode"] = d.Never("a Pipeline stage isn't run by hand; give the first stage of the other pipeline a runMode")
	}
	if typ == StageDeployment {
		known["gitOpsEnabled"] = func(v yamldoc.Value) { pulled(d).agrees(v, s) }
		known["skipInstances"] = d.Never("skipInstances leaves out hosts that have the artifact already, in deployments to hosts, which aren't supported")
	}
	return known
}

func (d pipelines) stageNeeds(v yamldoc.Value) {
	typ := document.Peek(v, "type")
	if !linked(v) {
		d.Need(v, "type", "spec")
	}
	if typ == StageDeployment {
		deployments(d).onceOnly(v)
	}
	if typ == StageDeployment && document.Neutral(v.Node.Get("failureStrategies")) {
		d.Warnf(v, document.MissingKey, `key "failureStrategies" is missing; a failure then rolls nothing back`)
	}
}

func (d pipelines) stageSpec(v yamldoc.Value, typ string, s *Stage) {
	p := place{stage: typ, deployment: document.Peek(v, "deploymentType"), gitOps: typ == StageDeployment && gitOps(v.Node), made: document.Seen{}, traffic: document.Seen{}}
	if lane, ok := d.options.Lanes.Pulled(); ok && p.gitOps {
		p.deployment = lane.Type
	}
	known := document.Keys{
		"execution": func(v yamldoc.Value) {
			s.Open = v.Is(yamldoc.Scalar)
			d.execution(v, p, s)
		},
		"description": document.Nothing,
	}
	switch typ {
	case StageDeployment:
		s.Deployment = &Deployment{Several: several(v.Node)}
		d.Fields(v, document.Merge(known, deployments(d).deployment(s.Deployment, p)))
		d.Need(v, "execution")
		deployments(d).madeAlone(v)
		if !d.Watched() && legacy(v.Node) {
			return
		}
		d.Need(v, "deploymentType")
		d.OneOf(v, "service", "services", "serviceConfig")
		d.OneOf(v, "environment", "environments", "environmentGroup", "infrastructure")
	case stagePipeline:
		s.Chain = &Chain{}
		d.chain(v, s.Chain)
	case stageApproval, StageCustom:
		d.Fields(v, known)
		d.Need(v, "execution")
	}
}

func (d pipelines) execution(v yamldoc.Value, p place, s *Stage) {
	back := p
	p.section = document.Seen{}
	back.rollback, back.section, back.made, back.traffic = true, document.Seen{}, document.Seen{}, document.Seen{}
	d.Fields(v, document.Keys{
		"description":   document.Nothing,
		"steps":         func(v yamldoc.Value) { s.Steps = steps(d).someSteps(v, p) },
		"rollbackSteps": func(v yamldoc.Value) { s.RollbackSteps = steps(d).steps(v, back, document.Seen{}) },
	})
	d.Need(v, "steps")
}
