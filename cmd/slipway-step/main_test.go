package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxSize is what the program has at most, in bytes: it is copied into containers,
// and runs once for each step.
const maxSize = 8 << 20

func TestSize(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "slipway-step")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", file, ".")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxSize {
		t.Errorf("the program has %d bytes; want at most %d", info.Size(), maxSize)
	}
}
