package testdynamo

import "syscall"

// dieWithParent ties a child to the thread that starts it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
