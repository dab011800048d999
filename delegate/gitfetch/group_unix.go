//go:build unix

package gitfetch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// command is git with bounds, which hold for all that it starts. Where a system
// doesn't know one of them, the others hold. A file that grows too large is an
// error of git's, not its end.
func command(ctx context.Context, most Limits, args ...string) *exec.Cmd {
	const bounded = `trap '' XFSZ; ulimit -f "$1"; ulimit -d "$2"; shift 2; exec git "$@"`
	const block, kilo = 512, 1024 // what a shell counts in
	blocks, kilos := strconv.FormatInt(most.File/block, 10), strconv.FormatInt(most.Memory/kilo, 10)
	return exec.CommandContext(ctx, "sh", append([]string{"-c", bounded, "git", blocks, kilos}, args...)...)
}

// together makes a command stop with all processes that it has started: git
// leaves the talking to others, which would wait on for a host that is silent.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // git takes its lock files away
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
