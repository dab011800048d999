package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// orphanEnv makes the test program start a child that never ends, say its
// process id, and wait.
const orphanEnv = "SANDBOX_TEST_PARENT"

func TestMain(m *testing.M) {
	sandbox.Answer(verbs())
	if err := os.Setenv("SLIPWAY_TEST_TOKEN", "secret"); err != nil {
		panic(err)
	}
	if os.Getenv(orphanEnv) != "" {
		parent()
	}
	os.Exit(m.Run())
}

// verbs are what a template might do.
func verbs() sandbox.Verbs {
	return sandbox.Verbs{
		"echo": func(_ context.Context, c sandbox.Call) (any, error) {
			fmt.Println("what prints is no answer")
			_, err := fmt.Fprintln(c.Log, "a line for the log")
			return c.Request, err
		},
		"environment": func(context.Context, sandbox.Call) (any, error) { return os.Environ(), nil },
		"whoami":      func(context.Context, sandbox.Call) (any, error) { return os.Getpid(), nil },
		"refuse": func(context.Context, sandbox.Call) (any, error) {
			return nil, fault.New(fault.NotFound, "no such thing").Causing(fault.Connectivity)
		},
		"break": func(context.Context, sandbox.Call) (any, error) { panic("oh") },
		"ask": func(_ context.Context, c sandbox.Call) (any, error) {
			var got string
			err := c.Ask("name", "question", &got)
			return got, err
		},
		"ask on": func(_ context.Context, c sandbox.Call) (any, error) {
			for {
				if err := c.Ask("name", "question", new(any)); err != nil {
					return nil, err
				}
			}
		},
		"size": func(_ context.Context, c sandbox.Call) (any, error) {
			n, err := sandbox.Decode[int](c)
			return strings.Repeat("x", n), err
		},
		"memory": func(context.Context, sandbox.Call) (any, error) {
			var all [][]byte
			for len(all) < 1<<20 { // a tebibyte
				all = append(all, bytes.Repeat([]byte("x"), 1<<20))
			}
			return len(all), nil
		},
		"at once": func(context.Context, sandbox.Call) (any, error) { return len(make([]int, 1<<37)), nil },
		"deep":    func(context.Context, sandbox.Call) (any, error) { return deeper(1), nil },
		"never":   func(_ context.Context, c sandbox.Call) (any, error) { return spin(c) },
		"log on": func(_ context.Context, c sandbox.Call) (any, error) {
			for range 1000 {
				if _, err := c.Log.Write(bytes.Repeat([]byte("x"), 10<<10)); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
	}
}

// deeper never comes to its end.
func deeper(n int) int {
	if n < 0 {
		return n
	}
	return deeper(n+1) + deeper(n-1)
}

func spin(c sandbox.Call) (any, error) {
	_, err := fmt.Fprintln(c.Log, os.Getpid())
	for i := 0; err == nil; i++ {
		if i < 0 {
			break
		}
	}
	return nil, err
}

func run(t *testing.T, s *sandbox.Sandbox, verb string, request, answer any) (string, error) {
	t.Helper()
	var log bytes.Buffer
	err := s.Run(t.Context(), sandbox.Work{Verb: verb, What: "doing it", Request: request, Log: &log}, answer)
	return log.String(), err
}

func TestAChildAnswers(t *testing.T) {
	t.Parallel()
	s := sandbox.New(0)
	defer s.Close()
	for range 3 { // in new children and in one that was kept ready
		var got map[string]string
		log, err := run(t, s, "echo", map[string]string{"a": "<b>"}, &got)
		if err != nil || got["a"] != "<b>" || log != "a line for the log\n" {
			t.Errorf("got %v, %v and the log %q", got, err, log)
		}
	}
}

func TestAChildDoesOneThing(t *testing.T) {
	t.Parallel()
	s := sandbox.New(0)
	defer s.Close()
	seen := map[int]bool{os.Getpid(): true}
	for range 4 {
		var pid int
		if _, err := run(t, s, "whoami", nil, &pid); err != nil || seen[pid] {
			t.Errorf("process %d did it again, or %v", pid, err)
		}
		seen[pid] = true
	}
}

func TestErrorsOfAChild(t *testing.T) {
	t.Parallel()
	s := sandbox.New(sandbox.LeastMemory)
	defer s.Close()
	for _, tt := range []struct {
		verb    string
		request any
		code    fault.Code
		failure fault.FailureType
		message string
	}{
		{"refuse", nil, fault.NotFound, fault.Connectivity, "no such thing"},
		{"break", nil, fault.Internal, "", "doing it broke: oh"},
		{"unheard of", nil, fault.Internal, "", "doesn't know how to do"},
		{"memory", nil, fault.TooLarge, fault.ResourceLimitsFailure, "doing it took more than 128 MiB of memory"},
		{"at once", nil, fault.TooLarge, fault.ResourceLimitsFailure, "doing it took more than 128 MiB of memory"},
		{"deep", nil, fault.TooLarge, fault.ResourceLimitsFailure, "doing it"},
		{"ask", nil, fault.TooLarge, "", "doing it asks for more than 1000 things"},
	} {
		t.Run(tt.verb, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, s, tt.verb, tt.request, new(any))
			if fault.CodeOf(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.message) {
				t.Errorf("got %s: %v; want %s: %s", fault.CodeOf(err), err, tt.code, tt.message)
			}
			if tt.failure != "" && fault.Failures(err)[0] != tt.failure {
				t.Errorf("it causes %v; want %s", fault.Failures(err), tt.failure)
			}
		})
	}
}

// An answer is bounded with the quotes around a text and the end of the line.
func TestAnAnswerAtTheBound(t *testing.T) {
	t.Parallel()
	s := sandbox.New(0)
	defer s.Close()
	for n, fits := range map[int]bool{sandbox.MaxAnswer - 3: true, sandbox.MaxAnswer - 2: false} {
		var got string
		if _, err := run(t, s, "size", n, &got); (err == nil) != fits || fits && len(got) != n {
			t.Errorf("%d bytes: got %d and %v", n, len(got), err)
		} else if !fits && (!fault.Is(err, fault.TooLarge) || err.Error() != "doing it: it makes more than 16 MiB") {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
}

func TestTheLogOfAChildIsBounded(t *testing.T) {
	t.Parallel()
	s := sandbox.New(0)
	defer s.Close()
	if log, err := run(t, s, "log on", nil, new(any)); err != nil || len(log) != 1<<20 {
		t.Errorf("got %d bytes of log, %v", len(log), err)
	}
}

func TestAChildIsKilledWithItsTask(t *testing.T) {
	t.Parallel()
	s := sandbox.New(0)
	defer s.Close()
	cause := errors.New("the step was aborted")
	ctx, stop := context.WithCancelCause(t.Context())
	pid := make(writes, 1)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, sandbox.Work{Verb: "never", What: "doing it", Log: pid}, new(any)) }()
	child := number(t, <-pid)
	stop(cause)
	if err := <-ended; !errors.Is(err, cause) || !strings.Contains(err.Error(), "doing it took more than the task's time") {
		t.Errorf("it ended with %v", err)
	}
	if err := syscall.Kill(child, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child is still there: %v", err)
	}
}

func TestAChildMayAsk(t *testing.T) {
	t.Parallel()
	s := sandbox.New(0)
	defer s.Close()
	asked := 0
	w := sandbox.Work{Verb: "ask", What: "asking", Log: &bytes.Buffer{}, Asked: func(_ context.Context, name string, question json.RawMessage) (any, error) {
		if asked++; asked > 1 {
			return nil, nil
		}
		return name + strings.TrimSpace(string(question)), nil
	}}
	var got string
	if err := s.Run(t.Context(), w, &got); err != nil || got != `name"question"` {
		t.Errorf("got %q, %v", got, err)
	}
	asked, w.Verb = 0, "ask on"
	if err := s.Run(t.Context(), w, &got); !fault.Is(err, fault.TooLarge) || asked != 1000 {
		t.Errorf("%d questions were answered, then %v", asked, err)
	}
}

func TestAChildSeesNoSecrets(t *testing.T) {
	t.Parallel()
	s := sandbox.New(0)
	defer s.Close()
	var got []string
	if _, err := run(t, s, "environment", nil, &got); err != nil || len(got) == 0 {
		t.Fatalf("got %v, %v", got, err)
	}
	for _, one := range got {
		if strings.Contains(one, "secret") || strings.HasPrefix(one, "HOME=") {
			t.Errorf("the child sees %s", one)
		}
	}
}

// parent is a program with a child in a loop.
func parent() {
	s := sandbox.New(0)
	err := s.Run(context.Background(), sandbox.Work{Verb: "never", What: "doing it", Log: os.Stdout}, new(any))
	fmt.Println(err)
	os.Exit(1)
}

func TestAChildDiesWithItsParent(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	pid := make(writes, 1)
	cmd.Env, cmd.Stdout = append(os.Environ(), orphanEnv+"=1"), pid
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := number(t, <-pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.After(2 * time.Minute); alive(child); {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatal("the child goes on without its parent")
		}
	}
}

// alive says whether a process runs; one that has ended may wait for somebody
// to take it away.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// writes gives what is written first.
type writes chan string

func (w writes) Write(p []byte) (int, error) {
	select {
	case w <- string(p):
	default:
	}
	return len(p), nil
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func BenchmarkRun(b *testing.B) {
	s := sandbox.New(0)
	defer s.Close()
	for b.Loop() {
		var pid int
		if err := s.Run(b.Context(), sandbox.Work{Verb: "whoami", What: "asking"}, &pid); err != nil {
			b.Fatal(err)
		}
	}
}
