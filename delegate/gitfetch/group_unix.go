//go:build unix

package gitfetch

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

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
