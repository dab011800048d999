package template

import "strings"

// Kind is what a template stands for, spelled as its type.
type Kind string

// The kinds of template (semantics/pipeline §9.1).
const (
	Step             Kind = "Step"
	StepGroup        Kind = "StepGroup"
	Stage            Kind = "Stage"
	Pipeline         Kind = "Pipeline"
	ArtifactSource   Kind = "ArtifactSource"
	CustomDeployment Kind = "CustomDeployment"
	SecretManager    Kind = "SecretManager"
	MonitoredService Kind = "MonitoredService"
	Notification     Kind = "Notification"
	Workspace        Kind = "Workspace"
)

// Kinds lists the kinds.
func Kinds() []Kind {
	return []Kind{
		Step, StepGroup, Stage, Pipeline, ArtifactSource, CustomDeployment, SecretManager, MonitoredService, Notification, Workspace,
	}
}

// Supported says whether Slipway can make something of a template of the kind.
func (k Kind) Supported() bool {
	switch k {
	case Step, StepGroup, Stage, Pipeline, ArtifactSource, Notification, CustomDeployment, SecretManager:
		return true
	case MonitoredService, Workspace:
	}
	return false
}

// Overridable are the settings that a template of the kind may allow a link to
// override, and the key of each (semantics/pipeline §9.3).
func Overridable(k Kind) map[string]string {
	node := map[string]string{
		"ConditionalExecution": "when", "LoopingStrategy": "strategy", "FailureStrategy": "failureStrategies",
		"DelegateSelectors": "delegateSelectors",
	}
	switch k {
	case Step:
		node["PolicyEnforcement"] = "enforce"
	case Stage:
		node["ExecutionStrategy"] = "runMode"
	case StepGroup:
	case Pipeline:
		return map[string]string{
			"DelegateSelectors": "delegateSelectors", "PipelineTimeout": "timeout",
			"AllowStageExecutions": "allowStageExecutions", "FixedInputsOnRerun": "fixedInputsOnRerun",
		}
	case ArtifactSource, CustomDeployment, SecretManager, MonitoredService, Notification, Workspace:
		return nil
	}
	return node
}

// ID is the identifier under which a version is kept.
func ID(identifier, label string) string { return identifier + "@" + label }

// SplitID takes an ID apart; the label is empty if there is none.
func SplitID(id string) (identifier, label string) {
	identifier, label, _ = strings.Cut(id, "@")
	return identifier, label
}
