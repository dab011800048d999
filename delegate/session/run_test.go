package session_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	sessions "github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/session"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestMain(m *testing.M) {
	session.Answer()
	os.Exit(m.Run())
}

// opened is a machine with a session s1.
func opened(t *testing.T, cfg sessions.Config) *sessions.Sessions {
	t.Helper()
	cfg.Dir, cfg.Orphan, cfg.Environ = t.TempDir(), 2*time.Minute, os.Environ()
	s := sessions.New(cfg)
	if _, err := s.Start(t.Context(), task.Session{ID: "s1", Execution: "e1", Node: "n"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background(), "s1"); err != nil {
			t.Error(err)
		}
	})
	return s
}

func assigned(fence int64) task.Assignment {
	return task.Assignment{ID: "t", Node: "n1", Attempt: 1, Fence: fence, Timeout: time.Minute}
}

// What fills the workspace beyond its limit fails, in the middle or at its end,
// and is told by which setting.
func TestAWorkspaceIsBounded(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"in the middle": "head -c 3000000 /dev/zero > big; sleep 600",
		"at its end":    "head -c 3000000 /dev/zero > big",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, sessions.Config{Limit: 1 << 20, Look: 50 * time.Millisecond})
			_, err := s.Run(t.Context(), "s1", assigned(1), sessions.Command{Args: []string{"sh", "-c", script}, Out: io.Discard, Err: io.Discard})
			// It may be looked at while it is written.
			if want := regexp.MustCompile("holds [23] MiB; this delegate allows 1 by --workspace-limit"); !fault.Is(err, fault.TooLarge) || !want.MatchString(err.Error()) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// Another process on the machine finds the command that runs, with all that it has
// said, though it has other credentials; what has lost its lease leaves it alone.
func TestACommandIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	s := opened(t, sessions.Config{})
	command := func(key string, out io.Writer) sessions.Command {
		return sessions.Command{
			Args: []string{"sh", "-c", `echo begun >> marks; echo "it has begun"; until [ -e end ]; do sleep 0.02; done; echo "it ends"`},
			Env:  []string{"AWS_SESSION_TOKEN=" + key}, Out: out, Err: io.Discard,
		}
	}
	first, lose := context.WithCancelCause(t.Context())
	lost := make(chan error, 1)
	go func() {
		_, err := s.Run(first, "s1", assigned(1), command("one", onFirst(func() { lose(executor.ErrLeaseLost) })))
		lost <- err
	}()
	if err := <-lost; !errors.Is(err, executor.ErrLeaseLost) {
		t.Fatalf("the first ends with %v", err)
	}
	var said strings.Builder
	next := sessions.New(s.Config)
	seen := onFirst(func() {
		if err := os.WriteFile(filepath.Join(s.Workspace("s1"), "end"), nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	exit, err := next.Run(t.Context(), "s1", assigned(2), command("two", io.MultiWriter(&said, seen)))
	marks, _ := os.ReadFile(filepath.Join(s.Workspace("s1"), "marks")) // its absence shows
	if err != nil || exit.Code != 0 || said.String() != "it has begun\nit ends\n" || string(marks) != "begun\n" {
		t.Errorf("%+v, %v; it says %q and has begun %q", exit, err, said.String(), marks)
	}
}

// onFirst is a writer that does something when something is first written.
func onFirst(do func()) io.Writer {
	return writer(sync.OnceFunc(do))
}

type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}
