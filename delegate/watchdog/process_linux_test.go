package watchdog

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Told to stop, a delegate that has nothing under way leaves all as it is.
func TestWhatWasLeftBehindLivesAfterANormalEnd(t *testing.T) {
	t.Parallel()
	w := New(slog.Default())
	ctx, release := w.Guard(t.Context(), "NORMAL")
	pid := leave(ctx, t)
	release()
	dog := w.dog.cmd.Process.Pid
	w.Close()
	until(t, func() bool { return gone(dog) })
	if gone(pid) {
		t.Errorf("process %d is gone", pid)
	}
	if err := End(t.Context(), "NORMAL"); err != nil || !gone(pid) {
		t.Errorf("asked for by its mark, its end gives %v; gone: %t", err, gone(pid))
	}
}

// A watchdog that was killed itself is replaced with the next program, and its
// successor knows of all that run.
func TestAKilledWatchdogIsReplaced(t *testing.T) {
	t.Parallel()
	w := New(slog.Default())
	first, _ := w.Guard(t.Context(), "FIRST")
	pids := []int{leave(first, t)}
	dog := w.dog.cmd.Process
	if err := dog.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return gone(dog.Pid) })
	second, _ := w.Guard(t.Context(), "SECOND")
	pids = append(pids, leave(second, t))
	w.Close() // and both run
	for _, pid := range pids {
		until(t, func() bool { return gone(pid) })
	}
}

// Without a mark nothing is added, and no process is started.
func TestAnEnvironmentWithoutAMark(t *testing.T) {
	t.Parallel()
	if got := Environ(t.Context(), []string{"A=1"}); len(got) != 1 {
		t.Errorf("the environment is %q, want it as it was", got)
	}
}

// leave has a program under a mark leave a process behind.
func leave(ctx context.Context, t *testing.T) int {
	t.Helper()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!")
	cmd.Env = Environ(ctx, os.Environ())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // it is gone, or has to
	return pid
}

// gone says whether a process has ended; a zombie has.
func gone(pid int) bool {
	_, alive := look(pid)
	return !alive || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(3 * time.Minute)
	for !done() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatal("nothing has happened")
		}
	}
}
