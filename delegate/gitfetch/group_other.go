//go:build !unix

package gitfetch

import "os/exec"

// together does nothing where there are no process groups.
func together(*exec.Cmd) {}
