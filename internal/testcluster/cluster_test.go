package testcluster_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/testcluster"
)

func TestClustersRunSideBySideAndEndWhole(t *testing.T) {
	t.Parallel()
	first, _ := testcluster.Namespace(t) // of the test run's cluster, which goes on
	tools := builtTools(t)
	dir := t.TempDir()
	second, err := testcluster.Start(t.Context(), testcluster.Config{Dir: dir, Tools: tools, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := testcluster.Ready(t.Context(), second.Kubeconfig); err != nil {
		t.Errorf("second cluster: %v", err)
	}
	second.Stop()
	if err := testcluster.Ready(t.Context(), second.Kubeconfig); err == nil {
		t.Error("second cluster answers after Stop")
	}
	if still := programsOf(t, dir); len(still) > 0 {
		t.Errorf("programs are left after Stop: %q", still)
	}
	if err := testcluster.Ready(t.Context(), first); err != nil {
		t.Errorf("first cluster, after the second stopped: %v", err)
	}
}

func TestStartSaysWhyAProgramEnded(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	if err := os.MkdirAll(filepath.Join(tools, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"stages.yaml": "",
		"bin/etcd":    "#!/bin/sh\necho the disk is on fire\nexit 3\n",
	} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := testcluster.Start(t.Context(), testcluster.Config{Dir: t.TempDir(), Tools: tools, Log: slog.New(slog.DiscardHandler)})
	for _, want := range []string{"etcd ended (exit status 3)", "the disk is on fire"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start: %v, want an error with %q in it", err, want)
		}
	}
}

// builtTools is the folder of the programs that the test run's cluster was built from.
func builtTools(t *testing.T) string {
	t.Helper()
	root, err := testcluster.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := testcluster.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	tools, err := testcluster.Build(t.Context(), root, cache, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// programsOf lists the command lines that name a folder. Linux shows them in /proc; elsewhere the list is empty.
func programsOf(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, line := range lines {
		content, err := os.ReadFile(line)
		if err == nil && strings.Contains(string(content), dir) { // an error: it ended meanwhile
			found = append(found, strings.ReplaceAll(string(content), "\x00", " "))
		}
	}
	return found
}
