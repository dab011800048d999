package session

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// alone makes a command the leader of a group of its own, which ends with its
// entry.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Reserve keeps what this process was given besides its standard files, such as
// locks of who started it, from those that it starts itself.
func Reserve() {
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) // an older kernel can't
}

// secretFile gives a text as a file that is only in memory.
func secretFile(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("script", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("keep the script in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "script")
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close() // the first error counts
		return nil, fmt.Errorf("keep the script in memory: %w", err)
	}
	return f, nil
}

// hide keeps what an entry knows from the command, which may be of the same user.
func hide() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // the token is good for one connection anyway
}
