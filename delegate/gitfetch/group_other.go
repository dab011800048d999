//go:build !unix

package gitfetch

import (
	"context"
	"os/exec"
)

// command is git. There are no bounds for processes here.
func command(ctx context.Context, _ Limits, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "git", args...)
}

// together does nothing where there are no process groups.
func together(*exec.Cmd) {}
