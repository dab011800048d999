//go:build !unix

package shell

import (
	"os"
	"os/exec"
)

// ownGroup does nothing where there are no process groups.
func ownGroup(*exec.Cmd) {}

// stop ends the process alone.
func stop(leader *os.Process) { _ = leader.Kill() } // gone already is as good

func signalled(*os.ProcessState) (int, bool) { return 0, false }
