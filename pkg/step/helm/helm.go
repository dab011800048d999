// Package helm holds what the native Helm step types share: the start of
// their one kind of task and the fields that several of them have (kubernetes
// spec §19). It is no step type itself: each is a package of its own, such as
// pkg/step/helmdeploy. What a task does with a release is left to
// delegate/helm.
package helm

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Start makes the task of a payload: it adds where the step stands and what
// its stage deploys to. A delegate must have the step's selectors and those of
// the cluster's connector (entities spec §9.1).
func Start(in step.In, p task.Helm) (step.Action, error) {
	if in.Deployment == nil || in.Deployment.Kubernetes == nil {
		return step.Action{}, fault.New(fault.Invalid, "the step needs a Deployment stage with a Kubernetes infrastructure")
	}
	p.Target = *in.Deployment.Kubernetes
	p.Execution, p.Stage, p.Step, p.Rollback = in.Execution, string(in.StageNode), string(in.Node), in.Rollback
	selectors := slices.Concat(in.Selectors, p.Target.Selectors)
	p.Target.Selectors = nil
	return step.Action{Task: &step.Task{Kind: task.KindHelm, Payload: p, Selectors: selectors}}, nil
}

// Common are the fields of every Helm step that changes a release.
type Common struct {
	SkipSteady  yamldoc.Field[bool]
	Tests       yamldoc.Field[bool]
	Flags       []task.CommandFlag
	Environment map[string]string
}

// Key decodes a key of the spec if it is one of these; false if it isn't.
func (c *Common) Key(e yamldoc.Value, r *yamldoc.Report) bool {
	switch e.Key {
	case "skipSteadyStateCheck":
		c.SkipSteady = r.Bool(e)
	case "runChartTests":
		c.Tests = r.Bool(e)
	case "commandFlags":
		c.Flags = Flags(r, e)
	case "environmentVariables":
		c.Environment = Environment(r, e)
	case "delegateSelectors": // the plan's
		r.Strings(e)
	default:
		return false
	}
	return true
}

// Keys are those that Key decodes.
func Keys() []string {
	return []string{"skipSteadyStateCheck", "runChartTests", "commandFlags", "environmentVariables", "delegateSelectors"}
}

// Commands are those that flags may be for (entities spec §2.3).
func Commands() []string {
	return []string{
		"Fetch", "Template", "Pull", "Install", "Upgrade", "Rollback", "History", "Delete", "Uninstall", "List", "Add", "Update", "Version", "Test",
	}
}

// Flags decodes commandFlags, a list of {commandType, flag}. Helm is a library
// here, so a flag that means nothing to it is refused (see
// task.ParseHelmFlags). One that has an expression is checked when the step starts.
func Flags(r *yamldoc.Report, v yamldoc.Value) []task.CommandFlag {
	var list []task.CommandFlag
	for item := range r.List(v) {
		var kind, text yamldoc.Field[string]
		var at yamldoc.Value
		for e := range r.Mapping(item) {
			switch e.Key {
			case "commandType":
				kind = r.Enum(e, Commands()...)
			case "flag":
				text, at = r.String(e), e
			default:
				r.Unknown(e, "commandType", "flag")
			}
		}
		if item.Is(yamldoc.Mapping) {
			r.Missing(item, "commandType", "flag")
		}
		f := task.CommandFlag{Command: kind.Value, Flag: step.Text(text)}
		if slices.Contains(Commands(), kind.Value) && text.Set {
			CheckFlag(r, at, f.Command, f.Flag)
		}
		list = append(list, f)
	}
	return list
}

// CheckFlag reports what is wrong with a flag whose text is known.
func CheckFlag(r *yamldoc.Report, v yamldoc.Value, command, flag string) {
	if strings.Contains(flag, "<+") {
		return
	}
	err := task.CheckHelmFlag(command, flag)
	switch {
	case fault.Is(err, fault.Unsupported):
		r.Unsupported(v, "%s", err)
	case err != nil:
		r.Errorf(v, "WRONG_VALUE", "%s", err)
	}
}

// Environment decodes environmentVariables.
func Environment(r *yamldoc.Report, v yamldoc.Value) map[string]string {
	out := r.StringMap(v).Value
	for _, e := range v.Node.Entries {
		if e.Value == nil || strings.Contains(e.Value.Value, "<+") {
			continue
		}
		at := yamldoc.Sub(e.Value, v.Path+"."+e.Key)
		err := task.CheckHelmEnvironment(e.Key, e.Value.Value)
		switch {
		case fault.Is(err, fault.Unsupported):
			r.Unsupported(at, "%s", err)
		case err != nil:
			r.Errorf(at, "WRONG_VALUE", "%s", err)
		}
	}
	return out
}

// Install are the fields of a Helm step that installs or upgrades a release.
type Install struct {
	Common
	IgnoreFailed   yamldoc.Field[bool] // deploys over a revision that failed
	UpgradeInstall yamldoc.Field[bool] // "helm upgrade --install", also the first time
}

// Key decodes a key of the spec if it is one of these; false if it isn't.
func (i *Install) Key(e yamldoc.Value, r *yamldoc.Report) bool {
	switch e.Key {
	case "ignoreReleaseHistFailStatus":
		i.IgnoreFailed = r.Bool(e)
	case "useUpgradeInstall":
		i.UpgradeInstall = r.Bool(e)
	default:
		return i.Common.Key(e, r)
	}
	return true
}

// InstallKeys are those that Install.Key decodes.
func InstallKeys() []string {
	return append([]string{"ignoreReleaseHistFailStatus", "useUpgradeInstall"}, Keys()...)
}

// Payload is the payload of an operation with these fields.
func (i *Install) Payload(op task.HelmOp) task.Helm {
	return task.Helm{
		Op: op, IgnoreFailedHistory: i.IgnoreFailed.Value, UpgradeInstall: i.UpgradeInstall.Value,
		SkipSteadyState: i.SkipSteady.Value, RunTests: i.Tests.Value, CommandFlags: i.Flags, Environment: i.Environment,
	}
}
