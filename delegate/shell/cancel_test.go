//go:build unix

package shell

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/pkg/task"
)

// started waits until a script has written its processes' ids into a file.
func started(t *testing.T, file string) []int {
	t.Helper()
	var ids []int
	eventually(t, func() bool {
		doc, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(doc), "ready\n") {
			return false
		}
		for word := range strings.FieldsSeq(strings.TrimSuffix(string(doc), "ready\n")) {
			id, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		return true
	})
	return ids
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(2 * time.Minute)
	for !done() {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatal("nothing has happened")
		}
	}
}

func TestCancelEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a grandchild": `bash -c 'sleep 300 & echo $! >>"$pids"; wait' & echo $! >>"$pids"
			until [ "$(wc -l <"$pids")" -ge 2 ]; do :; done; echo $$ ready >>"$pids"; wait`,
		"a grandchild that ignores SIGTERM and closed its output": `(trap '' TERM; echo $BASHPID >>"$pids"; exec sleep 300 >/dev/null 2>&1) &
			until [ -s "$pids" ]; do :; done; echo $$ ready >>"$pids"; wait`,
		"a script that ignores SIGTERM": `trap '' TERM; echo $$ ready >"$pids"; while :; do sleep 300; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			p := task.Shell{Shell: "Bash", Script: script, Env: map[string]string{"pids": pids}}
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := New(os.Environ(), t.TempDir())(ctx, executortest.Assignment(t, task.KindShell, p), executortest.New(t, nil).Env)
				ended <- err
			}()
			ids := started(t, pids)
			at := time.Now()
			cancel(executor.ErrCancelled)
			if err := <-ended; !errors.Is(err, executor.ErrCancelled) {
				t.Errorf("error %v, want the cause %v", err, executor.ErrCancelled)
			}
			for _, id := range ids {
				eventually(t, func() bool { return gone(id) })
			}
			if took := time.Since(at); took > 30*time.Second { // a second, where nothing else runs
				t.Errorf("all %d processes were gone after %s, want them gone soon", len(ids), took)
			}
		})
	}
}

// gone says whether a process has ended. An orphan may stay as a zombie where
// nobody reaps it; that has ended too.
func gone(id int) bool {
	if errors.Is(syscall.Kill(id, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "stat"))
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

func TestAChildLeftBehindDoesntHoldTheStep(t *testing.T) {
	t.Parallel()
	at := time.Now()
	r, env, err := runScript(t, task.Shell{Script: "sleep 300 & echo $!"})
	if err != nil || r.Status != task.Succeeded {
		t.Fatalf("got %s, %v; want %s", r.Status, err, task.Succeeded)
	}
	if took := time.Since(at); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	line, _, _ := strings.Cut(env.Text(Unit, executor.Info), "\n")
	id, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
		t.Errorf("the child that was left behind is gone: %v", err)
	}
}
