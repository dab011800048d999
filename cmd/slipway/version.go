package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is that of the release, set by the linker.
var version string

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version this is", GroupID: groupAdmin, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": currentVersion()}
			return a.shows.print(v, func() error {
				fmt.Fprintln(a.shows.people(), "slipway", v["version"])
				return nil
			})
		},
	}
}

func currentVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	return builtFrom(info)
}

// builtFrom is the commit of a checkout that was built, or the version that "go install" fetched.
func builtFrom(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "dev-" + s.Value[:min(12, len(s.Value))]
		}
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "dev"
}
