package origin

import (
	"io"

	"github.com/spf13/pflag"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// CommandBuild is the one command of Kustomize that flags can be for.
const CommandBuild = "Build"

// Kustomize is what only a manifest of the type Kustomize has.
type Kustomize struct {
	// Overlay is the folder with the kustomization, below the manifest's own.
	Overlay string `json:"overlay,omitempty"`
	// PatchesPaths are files of patches in the manifest's repository.
	PatchesPaths []string      `json:"patchesPaths,omitempty"`
	CommandFlags []CommandFlag `json:"commandFlags,omitempty"`
}

// Flags are the flags of its command; none for nil.
func (k *Kustomize) Flags() []CommandFlag {
	if k == nil {
		return nil
	}
	return k.CommandFlags
}

// KustomizeFlags is what flags of Build ask for. Kustomize is a library here:
// no plugin and no helm command can be run.
type KustomizeFlags struct {
	AnyPlace bool // files from outside of the kustomization's folder may be loaded
	Legacy   bool // objects in Kustomize's old order
}

// CheckKustomizeFlag says what is wrong with one entry of commandFlags.
func CheckKustomizeFlag(command, flag string) error {
	_, err := ParseKustomizeFlags([]CommandFlag{{Command: command, Flag: flag}})
	return err
}

// ParseKustomizeFlags reads flags of Build.
func ParseKustomizeFlags(list []CommandFlag) (KustomizeFlags, error) {
	set := pflag.NewFlagSet(CommandBuild, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	load := set.String("load-restrictor", "LoadRestrictionsRootOnly", "")
	reorder := set.String("reorder", "none", "")
	var words []string
	for _, f := range list {
		more, err := splitWords(f.Flag)
		if err != nil {
			return KustomizeFlags{}, fault.New(fault.Invalid, "the flag %q: %w", f.Flag, err)
		}
		words = append(words, more...)
	}
	if err := set.Parse(words); err != nil {
		return KustomizeFlags{}, fault.New(fault.Unsupported, "flags of the command Build: %w; want one of %s", err, known(set))
	}
	switch {
	case *load != "LoadRestrictionsRootOnly" && *load != "LoadRestrictionsNone":
		return KustomizeFlags{}, fault.New(fault.Invalid, "--load-restrictor is %q; want LoadRestrictionsRootOnly or LoadRestrictionsNone", *load)
	case *reorder != "none" && *reorder != "legacy":
		return KustomizeFlags{}, fault.New(fault.Invalid, "--reorder is %q; want none or legacy", *reorder)
	}
	return KustomizeFlags{AnyPlace: *load == "LoadRestrictionsNone", Legacy: *reorder == "legacy"}, nil
}
