//go:build unix && !linux

package session

import (
	"os/exec"
	"syscall"
)

// alone makes a command the leader of a group of its own.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
