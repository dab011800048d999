//go:build !linux

package testcluster

import "syscall"

// dieWithParent keeps the terminal's Ctrl-C from a child. Only Linux can tie a child's life to its parent's:
// elsewhere the control plane outlives a parent that is killed before it calls Stop.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
