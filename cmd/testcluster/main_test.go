package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway-cd/slipway/internal/testcluster"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"testcluster": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	if os.Getenv(testcluster.KubeconfigEnv) == "" {
		t.Skipf("%s isn't set: the control plane may not be built; run this by \"make test\"", testcluster.KubeconfigEnv)
	}
	root, err := testcluster.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := testcluster.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			// A cache of the script's own, so that it can't meet a developer's shared cluster, with this machine's programs.
			own := filepath.Join(env.WorkDir, ".cache")
			env.Setenv("SLIPWAY_CACHE", own)
			env.Setenv("CHECKOUT", root)
			for _, name := range []string{"HOME", "GOPATH", "GOCACHE"} { // for "go list" of a build that has nothing to do
				env.Setenv(name, os.Getenv(name))
			}
			if err := os.Mkdir(own, 0o700); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(cache, "cluster"), filepath.Join(own, "cluster"))
		},
	})
}
