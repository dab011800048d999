package task

import (
	"slices"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// HelmOp says what a Helm task does: one for each step type.
type HelmOp string

// The operations (semantics/kubernetes §19).
const (
	OpHelmDeploy       HelmOp = "HelmDeploy"
	OpHelmRollback     HelmOp = "HelmRollback"
	OpHelmDelete       HelmOp = "HelmDelete"
	OpHelmCanary       HelmOp = "HelmCanaryDeploy"
	OpHelmCanaryDelete HelmOp = "HelmCanaryDelete"
	OpHelmBlueGreen    HelmOp = "HelmBGDeploy"
	OpHelmSwap         HelmOp = "HelmBlueGreenSwapStep"
	OpHelmDescribe     HelmOp = "Describe" // a chart, without a cluster
)

// Helm is the spec of every native Helm step's Work. Revisions carry who does
// it as a label, so that a rollback finds those of its stage and a retry
// continues its own. The place is a KubernetesPlace.
type Helm struct {
	Op     HelmOp           `json:"op"`
	Target KubernetesTarget `json:"target"`

	// Instances is how many a canary has; a percentage is of the chart's.
	Instances *InstanceSelection `json:"instances,omitempty"`

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
	CommandFlags []CommandFlag     `json:"commandFlags,omitempty"`
	Environment  map[string]string `json:"environment,omitempty"`
}

// The environment variables that a step may set: those of the helm command
// that mean something to its library.
const (
	HelmDriver     = "HELM_DRIVER"      // secret or configmap: where releases are kept
	HelmMaxHistory = "HELM_MAX_HISTORY" // how many revisions are kept
)

// CheckHelmEnvironment says what is wrong with an environment variable of a step.
func CheckHelmEnvironment(name, value string) error {
	switch name {
	case HelmDriver:
		if !slices.Contains([]string{"secret", "secrets", "configmap", "configmaps"}, value) {
			return fault.New(fault.Unsupported, "%s is %q; want secret or configmap", name, value)
		}
	case HelmMaxHistory:
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return fault.New(fault.Invalid, "%s is %q; want a number of revisions", name, value)
		}
	default:
		return fault.New(fault.Unsupported, "the environment variable %s can't be honoured: Helm runs as a library, which reads %s and %s only", name, HelmDriver, HelmMaxHistory)
	}
	return nil
}

// Chart is what only a manifest of the type HelmChart has.
type Chart struct {
	Name         string        `json:"name,omitempty"`         // in a repository of charts
	Version      string        `json:"version,omitempty"`      // empty: the newest
	HelmVersion  string        `json:"helmVersion,omitempty"`  // V3, V380 or V4; empty: V3
	SubChartPath string        `json:"subChartPath,omitempty"` // below the chart's folder
	CommandFlags []CommandFlag `json:"commandFlags,omitempty"`
}

// ChartFound is what a chart says of itself, and where it was found
// (semantics/entities §2.3).
type ChartFound struct {
	Manifest    string     `json:"manifest"` // identifier
	CommitID    string     `json:"commitId,omitempty"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Version     string     `json:"version"`
	APIVersion  string     `json:"apiVersion"`
	AppVersion  string     `json:"appVersion"`
	KubeVersion string     `json:"kubeVersion"`
	Metadata    ChartPlace `json:"metadata"`
}

// ChartPlace is where a chart was found; what its store doesn't have is empty.
type ChartPlace struct {
	URL        string `json:"url"`
	BasePath   string `json:"basePath"` // of a registry, or of a repository
	BucketName string `json:"bucketName"`
	CommitID   string `json:"commitId"`
	Branch     string `json:"branch"`
}

// Flags are those of a command: the step's, or else the chart's.
func (h *Helm) Flags(command string) (HelmFlags, error) {
	if mine := flagsFor(command, h.CommandFlags); len(mine) > 0 || h.Target.Manifest == nil {
		return ParseHelmFlags(command, mine)
	}
	return h.Target.Manifest.Chart.Flags(command)
}

// Has says whether there are flags for a command.
func (h *Helm) Has(command string) bool {
	has := len(flagsFor(command, h.CommandFlags)) > 0
	if m := h.Target.Manifest; m != nil && m.Chart != nil {
		has = has || len(flagsFor(command, m.Chart.CommandFlags)) > 0
	}
	return has
}

// Removal are the flags about how a release goes: those of Uninstall, or else
// of Delete, as it was called before.
func (h *Helm) Removal() (HelmFlags, error) {
	if h.Has(HelmUninstall) {
		return h.Flags(HelmUninstall)
	}
	return h.Flags(HelmDelete)
}

// Flags are those of a command.
func (c *Chart) Flags(command string) (HelmFlags, error) {
	if c == nil {
		return ParseHelmFlags(command, nil)
	}
	return ParseHelmFlags(command, flagsFor(command, c.CommandFlags))
}

func flagsFor(command string, list []CommandFlag) []CommandFlag {
	return slices.DeleteFunc(slices.Clone(list), func(f CommandFlag) bool { return f.Command != command })
}

// FlagsNameFiles says whether flags of any command name files, which may be
// anywhere in the chart's repository.
func (h *Helm) FlagsNameFiles() bool { return nameFiles(h.CommandFlags) }

// FlagsNameFiles says whether flags of any command name files, which may be
// anywhere in the chart's repository.
func (c *Chart) FlagsNameFiles() bool { return nameFiles(c.CommandFlags) }

func nameFiles(list []CommandFlag) bool {
	return slices.ContainsFunc(list, func(f CommandFlag) bool {
		flags, err := ParseHelmFlags(f.Command, []CommandFlag{f})
		return err == nil && len(flags.Values)+len(flags.SetFile) > 0
	})
}

// Download are the flags about how the chart is got: those of Pull, or else of
// Fetch, as it was called before, and those of Add and Update.
func (h *Helm) Download() (HelmFlags, error) {
	merged := Chart{CommandFlags: h.CommandFlags}
	if m := h.Target.Manifest; m != nil && m.Chart != nil {
		for _, f := range m.Chart.CommandFlags {
			if len(flagsFor(f.Command, h.CommandFlags)) == 0 {
				merged.CommandFlags = append(merged.CommandFlags, f)
			}
		}
	}
	return merged.Download()
}

// Download are the flags about how the chart is got.
func (c *Chart) Download() (HelmFlags, error) {
	command := HelmPull
	if c != nil && len(flagsFor(HelmPull, c.CommandFlags)) == 0 {
		command = HelmFetch
	}
	f, err := c.Flags(command)
	if err != nil {
		return f, err
	}
	add, err := c.Flags(HelmAdd)
	f.InsecureTLS, f.PlainHTTP, f.PassEverywhere = f.InsecureTLS || add.InsecureTLS, f.PlainHTTP || add.PlainHTTP, f.PassEverywhere || add.PassEverywhere
	if err != nil {
		return f, err
	}
	update, err := c.Flags(HelmUpdate)
	f.Timeout = update.Timeout
	return f, err
}
