package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// On AWS a Chromium shows the console's pages from their function, logs in, runs a
// pipeline, hears over the WebSocket API how it goes on, and approves (web/e2e/aws.mjs).
func TestConsoleInABrowserOnAWS(t *testing.T) {
	t.Parallel()
	web, err := filepath.Abs("../../web")
	if err != nil {
		t.Fatal(err)
	}
	for _, needed := range []string{"dist/index.html", "node_modules/playwright-core"} {
		if _, err := os.Stat(filepath.Join(web, needed)); err != nil {
			t.Skip("the console isn't built; make test-console builds it")
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip(err)
	}
	a := e2e.StartAWS(t)
	binary := filepath.Join(t.TempDir(), "console")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=lambda.norpc,console", "-ldflags=-s -w", "-o", binary, "github.com/slipway-cd/slipway/functions/console")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the console's function: %v\n%s", err, out)
	}
	// The other one has no pages: all tests of functions would have to wait for Node.
	a.Host.Add(testaws.Function{Name: "console", Binary: binary, Env: []string{"SLIPWAY_SOCKET=" + a.Sockets.URL}, Timeout: time.Minute})
	tests := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=spec", "e2e/aws.mjs")
	tests.Dir = web
	tests.Env = append(os.Environ(), "SLIPWAY_AT="+a.URL, "SLIPWAY_TOKEN="+a.Token)
	if out, err := tests.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
