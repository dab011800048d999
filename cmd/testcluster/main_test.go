package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway-cd/slipway/internal/testcluster"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"testcluster": main})
}

// TestBuildGoesThroughTheProxy needs no cluster and no internet: the proxy refuses all.
func TestBuildGoesThroughTheProxy(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("for other systems some programs are built without a look at publishers")
	}
	root, err := testcluster.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked := map[string]bool{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.Method+" "+r.Host] = true
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(func() {
		proxy.Close()
		want := map[string]bool{"CONNECT dl.k8s.io:443": true, "CONNECT github.com:443": true}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("the proxy was asked for (-want +got):\n%s", diff)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir: "testdata/build",
		Setup: func(env *testscript.Env) error {
			env.Setenv("SLIPWAY_CACHE", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("CHECKOUT", root)
			env.Setenv("HTTPS_PROXY", proxy.URL)
			bin := filepath.Join(env.WorkDir, "bin")
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return os.Chmod(filepath.Join(bin, "go"), 0o700)
		},
	})
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
