package main

import (
	"fmt"
	"syscall"
)

// conceal keeps this process's environment and memory, and with them its token,
// from the scripts that it runs as the same user: /proc shows them to root
// alone. A program that is executed is as it always is.
func conceal() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return fmt.Errorf("keep this process's memory from others: %w", errno)
	}
	return nil
}
