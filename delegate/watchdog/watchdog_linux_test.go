package watchdog_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/watchdog"
)

// roleEnv makes the test binary a delegate that can be killed: it runs the
// scripts that the variable's folder holds.
const roleEnv = "WATCHDOG_TEST_SCRIPTS"

func TestMain(m *testing.M) {
	watchdog.Answer()
	if dir := os.Getenv(roleEnv); dir != "" {
		if err := role(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// role runs the script named ended to its end, leaves that named lasting under
// way, and then lives until its input ends, as a delegate that is told to stop.
func role(dir string) error {
	w := watchdog.New(slog.Default())
	for _, name := range []string{"ended", "lasting"} {
		ctx, release := w.Guard(context.Background(), rand.Text())
		cmd := exec.CommandContext(ctx, "/bin/sh", filepath.Join(dir, name))
		cmd.Dir, cmd.Env = dir, watchdog.Environ(ctx, os.Environ())
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		if name == "ended" {
			_ = cmd.Wait() // what it leaves behind lives
			release()
		}
	}
	fmt.Println("ready")
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err == nil { // told to stop: the task's end is waited for elsewhere
		w.Close()
	}
	return nil
}

// delegate starts a role with its scripts, and gives its process once both
// have written their processes' numbers.
func delegate(t *testing.T, lasting string) (cmd *exec.Cmd, ended, ran []int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ended":   `sleep 600 & echo $! >ended.pids; echo ready >>ended.pids`,
		"lasting": lasting,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+dir)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, ran = numbers(t, filepath.Join(dir, "ended.pids")), numbers(t, filepath.Join(dir, "pids"))
	t.Cleanup(func() {
		for _, pid := range append(ended, ran...) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // most are gone
		}
	})
	return cmd, ended, ran
}

// numbers waits until a script has written its processes' numbers.
func numbers(t *testing.T, file string) []int {
	t.Helper()
	var out []int
	eventually(t, "the processes of "+file, func() bool {
		doc, err := os.ReadFile(file)
		text, ok := strings.CutSuffix(string(doc), "ready\n")
		if err != nil || !ok {
			return false
		}
		for word := range strings.FieldsSeq(text) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pid)
		}
		return true
	})
	return out
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(3 * time.Minute)
	for !done() {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("%s: nothing has happened", what)
		}
	}
}

// gone says whether a process has ended; a zombie has.
func gone(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

// A delegate that is killed takes with it what its running tasks have started,
// however that has hidden. What a task left behind that has ended lives on.
func TestWhatAKilledDelegateRanEnds(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a script and its child":              `sleep 600 & echo $! $$ >pids; echo ready >>pids; wait`,
		"a child in a session of its own":     `setsid sh -c 'echo $$ >>pids; exec sleep 600' & until [ -s pids ]; do sleep 0.05; done; echo $$ >>pids; echo ready >>pids; wait`,
		"a child that ignores signals":        `sh -c 'trap "" TERM HUP INT; echo $$ >>pids; while :; do sleep 1; done' & until [ -s pids ]; do sleep 0.05; done; echo $$ >>pids; echo ready >>pids; wait`,
		"a child with another environment":    `env -i /bin/sh -c 'echo $$ >>pids; exec sleep 600' & until [ -s pids ]; do sleep 0.05; done; echo $$ >>pids; echo ready >>pids; wait`,
		"a child whose script is gone":        `(sleep 600 & echo $! >>pids; echo ready >>pids)`,
		"a delegate's own watchdog beneath":   `SLIPWAY_GUARD_OTHER=1 sleep 600 & echo $! $$ >pids; echo ready >>pids; wait`,
		"a child that starts others for ever": `sh -c 'echo $$ >>pids; while :; do sleep 600 & sleep 0.05; done' & until [ -s pids ]; do sleep 0.05; done; echo $$ >>pids; echo ready >>pids; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, ended, ran := delegate(t, script)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			for _, pid := range ran {
				eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool { return gone(pid) })
			}
			for _, pid := range ended {
				if gone(pid) {
					t.Errorf("what the ended script left behind, process %d, is gone", pid)
				}
			}
		})
	}
}
