//go:build unix

package session

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// terminate tells a command and its children to end.
func terminate(leader *os.Process, interrupt bool) {
	signal := syscall.SIGTERM
	if interrupt {
		signal = syscall.SIGINT
	}
	_ = syscall.Kill(-leader.Pid, signal) // gone is as good
}

// kill ends a command and its children.
func kill(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) } // likewise

func signalOf(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return int(ws.Signal())
	}
	return 0
}

// Detach has a process outlive who starts it.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// remains says whether a command has left somebody of its group behind.
func remains(leader *os.Process) bool { return syscall.Kill(-leader.Pid, 0) == nil }

// gone says whether nobody listens at a socket: its host has ended.
func gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}
