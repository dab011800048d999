package nativehelm

import (
	"slices"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// Kind is the kind of its tasks.
const Kind = kubernetes.KindHelm

// Op says what a task does: one for each step type.
type Op string

// The operations (semantics/kubernetes §19).
const (
	OpDeploy       Op = "HelmDeploy"
	OpRollback     Op = "HelmRollback"
	OpDelete       Op = "HelmDelete"
	OpCanary       Op = "HelmCanaryDeploy"
	OpCanaryDelete Op = "HelmCanaryDelete"
	OpBlueGreen    Op = "HelmBGDeploy"
	OpSwap         Op = "HelmBlueGreenSwapStep"
	OpDescribe     Op = "Describe" // a chart, without a cluster
)

// Spec is the spec of every step's Work. Revisions carry who does it as a
// label, so that a rollback finds those of its stage and a retry continues its
// own. The place is a kubernetes.Place.
type Spec struct {
	Op     Op                `json:"op"`
	Target kubernetes.Target `json:"target"`

	// Instances is how many a canary has; a percentage is of the chart's.
	Instances *kubernetes.InstanceSelection `json:"instances,omitempty"`

	// IgnoreFailedHistory deploys over a revision that failed or never ended.
	IgnoreFailedHistory bool `json:"ignoreFailedHistory,omitempty"`
	SkipSteadyState     bool `json:"skipSteadyState,omitempty"`
	// UpgradeInstall installs with the flags of the command Upgrade, too.
	UpgradeInstall bool `json:"upgradeInstall,omitempty"`
	RunTests       bool `json:"runTests,omitempty"`
	// SkipCleanup leaves a first release there that failed.
	SkipCleanup bool `json:"skipCleanup,omitempty"`

	Release string `json:"release,omitempty"` // delete: another than the target's
	DryRun  bool   `json:"dryRun,omitempty"`  // delete

	// CommandFlags are the step's; where it has some for a command, the chart's
	// for that command don't count.
	CommandFlags []origin.CommandFlag `json:"commandFlags,omitempty"`
	Environment  map[string]string    `json:"environment,omitempty"`
}

// The environment variables that a step may set: those of the helm command
// that mean something to its library.
const (
	Driver     = "HELM_DRIVER"      // secret or configmap: where releases are kept
	MaxHistory = "HELM_MAX_HISTORY" // how many revisions are kept
)

// CheckEnvironment says what is wrong with an environment variable of a step.
func CheckEnvironment(name, value string) error {
	switch name {
	case Driver:
		if !slices.Contains([]string{"secret", "secrets", "configmap", "configmaps"}, value) {
			return fault.New(fault.Unsupported, "%s is %q; want secret or configmap", name, value)
		}
	case MaxHistory:
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return fault.New(fault.Invalid, "%s is %q; want a number of revisions", name, value)
		}
	default:
		return fault.New(fault.Unsupported, "the environment variable %s can't be honoured: Helm runs as a library, which reads %s and %s only", name, Driver, MaxHistory)
	}
	return nil
}

// Flags are those of a command: the step's, or else the chart's.
func (h *Spec) Flags(command string) (origin.HelmFlags, error) {
	if mine := origin.FlagsFor(command, h.CommandFlags); len(mine) > 0 || h.Target.Manifest == nil {
		return origin.ParseHelmFlags(command, mine)
	}
	return h.Target.Manifest.Chart.Flags(command)
}

// Has says whether there are flags for a command.
func (h *Spec) Has(command string) bool {
	has := len(origin.FlagsFor(command, h.CommandFlags)) > 0
	if m := h.Target.Manifest; m != nil && m.Chart != nil {
		has = has || len(origin.FlagsFor(command, m.Chart.CommandFlags)) > 0
	}
	return has
}

// Removal are the flags about how a release goes: those of Uninstall, or else
// of Delete, as it was called before.
func (h *Spec) Removal() (origin.HelmFlags, error) {
	if h.Has(origin.HelmUninstall) {
		return h.Flags(origin.HelmUninstall)
	}
	return h.Flags(origin.HelmDelete)
}

// FlagsNameFiles says whether flags of any command name files, which may be
// anywhere in the chart's repository.
func (h *Spec) FlagsNameFiles() bool {
	return (&origin.Chart{CommandFlags: h.CommandFlags}).FlagsNameFiles()
}

// Download are the flags about how the chart is got: those of Pull, or else of
// Fetch, as it was called before, and those of Add and Update.
func (h *Spec) Download() (origin.HelmFlags, error) {
	merged := origin.Chart{CommandFlags: h.CommandFlags}
	if m := h.Target.Manifest; m != nil && m.Chart != nil {
		for _, f := range m.Chart.CommandFlags {
			if len(origin.FlagsFor(f.Command, h.CommandFlags)) == 0 {
				merged.CommandFlags = append(merged.CommandFlags, f)
			}
		}
	}
	return merged.Download()
}
