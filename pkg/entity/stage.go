package entity

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a stage that Slipway runs.
const (
	StageDeployment = "Deployment"
	StageApproval   = "Approval"
	StageCustom     = "Custom"
	StagePipeline   = "Pipeline"
)

// stageCI is a stage that builds, which Slipway doesn't.
const stageCI = "CI"

// otherStageTypes are those that Harness has besides (pipeline spec §1.2).
func otherStageTypes() []string {
	return []string{
		"Dynamic", stageCI, "SecurityTests", "FeatureFlag", "IACM", "IDP", "DRTest", "CompositeLoadTest",
	}
}

// Stage is a stage (pipeline spec §1.2).
type Stage struct {
	Identifier        yamldoc.Field[string]
	Name              yamldoc.Field[string]
	Description       yamldoc.Field[string]
	Type              yamldoc.Field[string]
	Tags              yamldoc.Field[map[string]string]
	When              When
	Variables         []Variable
	FailureStrategies []FailureStrategy
	DelegateSelectors yamldoc.Field[[]string]
	Timeout           yamldoc.Field[time.Duration]
	RunMode           RunMode
	Loop              Looping
	Deployment        *Deployment // of a Deployment stage
	Chain             *Chain      // of a Pipeline stage
	Steps             []StepItem
	RollbackSteps     []StepItem
}

// RunMode says who lets a stage begin (pipeline spec §1.2).
type RunMode struct {
	Type    yamldoc.Field[string]        // RunManual or RunAuto
	Timeout yamldoc.Field[time.Duration] // how long RunManual waits for somebody
}

// The types of a RunMode.
const (
	RunManual = "Manual"
	RunAuto   = "Auto"
)

func (d *decoder) runMode(v yamldoc.Value, m *RunMode) {
	manual := peek(v, "type") == RunManual
	d.fields(v, keys{
		"type": d.literal(&m.Type, RunManual, RunAuto),
		"timeout": func(v yamldoc.Value) {
			if m.Timeout = d.Duration(v); !manual && m.Timeout.Set {
				d.Warnf(v, wrongValue, "a stage that begins by itself waits for nobody; the timeout changes nothing")
			}
		},
	})
	d.need(v, "type")
	if manual {
		d.need(v, "timeout")
	}
}

func (d *decoder) stage(v yamldoc.Value, ids seen) *Stage {
	s := &Stage{}
	typ := peek(v, "type")
	known := keys{
		"identifier": func(v yamldoc.Value) {
			s.Identifier = d.nodeID(v)
			d.unique(ids, v, s.Identifier.Value)
		},
		"name":              d.name(&s.Name),
		"description":       d.text(&s.Description),
		"tags":              d.texts(&s.Tags),
		"type":              d.supported(&s.Type, "stage type", []string{StageDeployment, StageApproval, StageCustom, StagePipeline}, otherStageTypes()...),
		"spec":              func(v yamldoc.Value) { d.stageSpec(v, typ, s) },
		"when":              d.when(&s.When, "pipelineStatus"),
		"variables":         d.variables(&s.Variables),
		"failureStrategies": d.failureStrategies(&s.FailureStrategies, level{node: "stage", stage: typ}),
		"delegateSelectors": d.words(&s.DelegateSelectors),
		"timeout":           d.duration(&s.Timeout),
		"strategy":          d.looping(&s.Loop),
		"runMode":           func(v yamldoc.Value) { d.runMode(v, &s.RunMode) },
		"dependsOn":         d.never("stages run in the order in which they are written, and beside each other in parallel blocks; write them so in place of dependsOn"),
		"template":          d.link,
	}
	if typ == StagePipeline {
		known["delegateSelectors"] = d.never("a Pipeline stage runs nothing on a delegate; give selectors to the other pipeline")
		known["runMode"] = d.never("a Pipeline stage isn't run by hand; give the first stage of the other pipeline a runMode")
	}
	if typ == StageDeployment {
		known["skipInstances"] = d.never("skipInstances leaves out hosts that have the artifact already, in deployments to hosts, which aren't supported")
	}
	d.fields(v, known)
	d.need(v, "identifier", "name")
	if !linked(v) {
		d.need(v, "type", "spec")
	}
	if typ == StageDeployment {
		d.onceOnly(v)
	}
	if typ == StageDeployment && neutral(v.Node.Get("failureStrategies")) {
		d.Warnf(v, missingKey, `key "failureStrategies" is missing; a failure then rolls nothing back`)
	}
	return s
}

func (d *decoder) stageSpec(v yamldoc.Value, typ string, s *Stage) {
	p := place{stage: typ, deployment: peek(v, "deploymentType"), gitOps: gitOps(v.Node)}
	known := keys{
		"execution":   func(v yamldoc.Value) { d.execution(v, p, s) },
		"description": func(yamldoc.Value) {},
	}
	switch typ {
	case StageDeployment:
		s.Deployment = &Deployment{}
		d.fields(v, merge(known, d.deployment(s.Deployment, p.gitOps)))
		d.need(v, "execution")
		d.customOnly(v, p.deployment)
		if !d.Watched() && (legacy(v.Node) || p.gitOps) {
			return
		}
		d.need(v, "deploymentType")
		d.oneOf(v, "service", "services", "serviceConfig")
		d.oneOf(v, "environment", "environments", "environmentGroup", "infrastructure")
	case StagePipeline:
		s.Chain = &Chain{}
		d.chain(v, s.Chain)
	case StageApproval, StageCustom:
		d.fields(v, known)
		d.need(v, "execution")
	}
}

func (d *decoder) execution(v yamldoc.Value, p place, s *Stage) {
	back := p
	p.section = seen{}
	back.rollback, back.section = true, seen{}
	d.fields(v, keys{
		"description":   func(yamldoc.Value) {},
		"steps":         func(v yamldoc.Value) { s.Steps = d.steps(v, p, seen{}) },
		"rollbackSteps": func(v yamldoc.Value) { s.RollbackSteps = d.steps(v, back, seen{}) },
	})
	d.need(v, "steps")
	if steps := child(v, "steps"); steps.Is(yamldoc.Sequence) && len(steps.Node.Items) == 0 {
		d.Errorf(steps, emptyList, "found no steps; want one at least")
	}
}
