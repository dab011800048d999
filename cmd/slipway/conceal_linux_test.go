package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user without rights, as which the programs of a test run if it
// is root's: root sees everything.
const nobody = 65534

func asNobody(cmd *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// TestAnotherOfItsUsersProcessesSeesNoToken: what a script of a delegate could
// read of the delegate itself.
func TestAnotherOfItsUsersProcessesSeesNoToken(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, dir := range []string{filepath.Dir(home), home} {
		if err := os.Chmod(dir, 0o777); err != nil { // another user comes here
			t.Fatal(err)
		}
	}
	// By this name the test's binary is the program. cp writes it, since what this
	// process writes itself can't be executed while another test forks.
	program := filepath.Join(home, "slipway")
	if out, err := exec.CommandContext(t.Context(), "cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("copy the program: %v: %s", err, out)
	}
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	serve := asNobody(exec.CommandContext(t.Context(), program, "serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(home, "data")))
	serve.Dir, serve.Env = home, append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "SLIPWAY_CONFIG="+filepath.Join(home, "config.yaml"), "SPIED=upon")
	said, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = serve.Wait()
	})
	lines := bufio.NewScanner(said)
	for serving := false; !serving && lines.Scan(); {
		serving = strings.Contains(lines.Text(), "slipway serves")
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // until it ends
	for _, file := range []string{"environ", "mem", "maps"} {
		read := asNobody(exec.CommandContext(t.Context(), "head", "-c", "1", fmt.Sprintf("/proc/%d/%s", serve.Process.Pid, file)))
		read.Env = append(os.Environ(), "LC_ALL=C")
		var complaint strings.Builder
		read.Stderr = &complaint
		if out, err := read.Output(); err == nil || !strings.Contains(complaint.String(), "Permission denied") {
			t.Errorf("another process reads the server's %s: %q, %v, %s; want that it is denied", file, out, err, &complaint)
		}
	}
}
