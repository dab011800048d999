package session

import (
	"os"
	"os/exec"
)

// On Windows no session is opened; these are for the compiler.

func alone(*exec.Cmd) {}

func terminate(leader *os.Process, _ bool) { kill(leader) }

func kill(leader *os.Process) { _ = leader.Kill() } // gone is as good

func signalOf(*os.ProcessState) int { return 0 }

func remains(*os.Process) bool { return false }

// Detach has a process outlive who starts it.
func Detach(*exec.Cmd) {}

func gone(error) bool { return false }
