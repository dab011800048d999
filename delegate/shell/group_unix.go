//go:build unix

package shell

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ownGroup makes the process the leader of a new group, which its children
// belong to.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// stop ends a group: SIGTERM, then SIGKILL for who is left after the grace
// period. The kernel doesn't give a group's number to a new process while the
// group has members, so nobody else is hit.
func stop(leader *os.Process) {
	if syscall.Kill(-leader.Pid, syscall.SIGTERM) != nil {
		return
	}
	grace := time.NewTimer(graceful)
	defer grace.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-grace.C:
			_ = syscall.Kill(-leader.Pid, syscall.SIGKILL) // gone meanwhile is as good
			return
		case <-look.C:
			if syscall.Kill(-leader.Pid, 0) != nil {
				return // nobody left
			}
		}
	}
}

// signalled gives the signal that ended a process.
func signalled(s *os.ProcessState) (int, bool) {
	ws, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return 0, false
	}
	return int(ws.Signal()), true
}
