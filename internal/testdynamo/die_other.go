//go:build !linux

package testdynamo

import "syscall"

// dieWithParent does nothing: only Linux can tie a child's life to its
// parent's. Elsewhere the server outlives the tests.
func dieWithParent() *syscall.SysProcAttr { return nil }
