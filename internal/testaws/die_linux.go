package testaws

import "syscall"

// dieWithParent ties a child to the thread that starts it, and keeps the
// terminal's Ctrl-C from it: the test decides when it ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
