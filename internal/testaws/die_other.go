//go:build !linux

package testaws

import "syscall"

// dieWithParent keeps the terminal's Ctrl-C from a child. Only Linux can tie a
// child's life to its parent's: elsewhere a child outlives a test that is
// killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
