package main

import (
	"runtime/debug"
	"testing"
)

func TestABuildTellsWhatItWasBuiltFrom(t *testing.T) {
	t.Parallel()
	commit := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}}
	for name, c := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"go install of a version":  {debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		"a checkout":               {debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260102030405-0123456789ab+dirty"}, Settings: commit}, "dev-0123456789ab"},
		"a checkout without a VCS": {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "dev"},
		"a test":                   {debug.BuildInfo{}, "dev"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := builtFrom(&c.info); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
