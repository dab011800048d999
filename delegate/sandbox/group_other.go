//go:build !unix

package sandbox

import "os/exec"

func apart(*exec.Cmd) {}

func (c *child) kill() { _ = c.cmd.Process.Kill() } // it may have ended

func signalled(*exec.ExitError) bool { return false }
