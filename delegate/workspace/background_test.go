package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/session"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

// background is a task that begins a program in the background.
func (m *machine) background(node, command string, attempt int) task.Assignment {
	m.t.Helper()
	spec, err := json.Marshal(lane.Background{
		Run:  lane.Run{Session: "s1", Env: map[string]string{"OWN": "x"}, Idle: []string{"image"}},
		Name: node, Shell: "sh", Command: command,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	payload, err := json.Marshal(task.Work{Execution: "e1", Stage: "pipeline.stages.s", Step: node, Spec: spec})
	if err != nil {
		m.t.Fatal(err)
	}
	return task.Assignment{
		ID: "t", Fence: int64(attempt), Kind: lane.KindBackground, Payload: payload, Execution: "e1", Node: node, Attempt: attempt, Timeout: time.Minute,
	}
}

// step runs a program of a later step, and gives its error and its log.
func (m *machine) step(script string) (log string, err error) {
	env := executortest.New(m.t, nil)
	tool := &workspace.Tool{
		Section: executor.Section{Env: env.Env, Unit: "Build"}, Sessions: m.sessions, Spec: lane.Run{Session: "s1"},
		Task: task.Assignment{ID: "t2", Fence: 1, Node: "later " + script, Attempt: 1, Timeout: time.Minute},
	}
	err = tool.Run(m.t.Context(), "", "sh", "-c", script)
	return env.Text("Build", executor.Info) + env.Text("Build", executor.Error), err
}

// ended waits until what a step has begun has ended.
func (m *machine) ended(node string) {
	m.t.Helper()
	if _, err := m.sessions.Client("s1").Follow(m.t.Context(), session.Step(node+" background"), 1, 0, func(session.Log) error { return nil }); err != nil {
		m.t.Fatal(err)
	}
}

// A program in the background goes on beside the steps after it, with its own
// variables alone, and ends with the session.
func TestBackground(t *testing.T) {
	t.Parallel()
	m := open(t)
	env := executortest.New(t, nil)
	mark := filepath.Join(t.TempDir(), "ended")
	run := workspace.NewBackground(m.sessions)
	r, err := run(t.Context(), m.background("db", `trap "echo $OWN > `+mark+`; echo that is all; exit 0" TERM
echo "it serves"
until [ -e never ]; do echo tick >> ticks; sleep 0.05; done`, 1), env.Env)
	if err != nil || r.Status != task.Succeeded {
		t.Fatalf("%+v, %v", r, err)
	}
	log := env.Text("Execute", executor.Info)
	for _, want := range []string{"image don't apply", "it serves\n", "goes on until the session ends"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if log, err := m.step(`n=$(wc -l < ticks); until [ "$(wc -l < ticks)" -gt "$n" ]; do sleep 0.05; done; echo "OWN is $OWN."`); err != nil || !strings.Contains(log, "OWN is .") {
		t.Errorf("%v\n%s", err, log)
	}
	if err := m.sessions.Close(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(mark); err != nil || string(text) != "x\n" {
		t.Errorf("the end of the session tells the program by %q, %v", text, err)
	}
	if log := env.Text("Execute", executor.Info); !strings.HasSuffix(log, "that is all\nIt has ended with its session.\n") {
		t.Errorf("in the end the log is\n%s", log)
	}
}

// A program that ends at once fails its step, unless it ends well; one that ends
// later is told to a step that fails after it.
func TestBackgroundEnds(t *testing.T) {
	t.Parallel()
	m := open(t)
	run := workspace.NewBackground(m.sessions)
	for command, want := range map[string]string{
		"echo why >&2; exit 3":                              "the command ended at once, with exit code 3",
		"false; sleep 600":                                  "the command ended at once, with exit code 1",
		"(sleep 600 > note &)":                              "",
		"until [ -e note ]; do sleep 0.01; done; sleep 600": "",
	} {
		env := executortest.New(t, nil)
		r, err := run(t.Context(), m.background("of "+command, command, 1), env.Env)
		if got := r.Message; err != nil || got != want {
			t.Errorf("%s: %v, %q; want %q\n%s", command, err, got, want, env.Text("Execute", executor.Error))
		}
	}
	env := executortest.New(t, nil)
	if _, err := run(t.Context(), m.background("db", "until [ -e go ]; do sleep 0.02; done; echo gone wrong; exit 4", 1), env.Env); err != nil {
		t.Fatal(err)
	}
	if log, err := m.step("exit 1"); err == nil || strings.Contains(log, "background step db") {
		t.Errorf("%v\n%s", err, log)
	}
	if _, err := m.step("touch go"); err != nil {
		t.Fatal(err)
	}
	m.ended("db")
	if log, err := m.step("exit 2"); err == nil || !strings.Contains(log, "the program of the background step db has ended by itself, with exit code 4 after ") {
		t.Errorf("%v\n%s", err, log)
	}
	if err := m.sessions.Close(t.Context(), "s1"); err != nil { // when all is told
		t.Fatal(err)
	}
	if log := env.Text("Execute", executor.Info); !strings.Contains(log, "gone wrong\nWarning: it has ended by itself, with exit code 4 after ") {
		t.Errorf("the log is\n%s", log)
	}
}

// What was begun is begun once for each attempt, whoever asks; an abort ends it, and
// the next attempt ends what the one before has begun.
func TestBackgroundIsBegunOnce(t *testing.T) {
	t.Parallel()
	m := open(t)
	run := workspace.NewBackground(m.sessions)
	const command = `echo begun >> marks; until [ -e end ]; do sleep 0.02; done`
	running := func() (n int) {
		t.Helper()
		info, err := m.sessions.Client("s1").Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range info.Steps {
			if one.State.Phase != session.Ended {
				n++
			}
		}
		return n
	}
	marks := func() int {
		text, _ := os.ReadFile(filepath.Join(m.sessions.Workspace("s1"), "marks")) // its absence shows
		return strings.Count(string(text), "begun")
	}
	lost, lose := context.WithCancelCause(t.Context())
	lose(executor.ErrLeaseLost)
	for range 2 { // the lease is lost as it begins; the one after finds it
		if _, err := run(lost, m.background("db", command, 1), executortest.New(t, nil).Env); !errors.Is(err, executor.ErrLeaseLost) {
			t.Fatal(err)
		}
		if _, err := run(t.Context(), m.background("db", command, 1), executortest.New(t, nil).Env); err != nil {
			t.Fatal(err)
		}
	}
	if marks() != 1 || running() != 1 {
		t.Errorf("it was begun %d times and runs %d times", marks(), running())
	}
	if _, err := run(t.Context(), m.background("db", command, 2), executortest.New(t, nil).Env); err != nil {
		t.Fatal(err)
	}
	if marks() != 2 || running() != 1 {
		t.Errorf("tried again, it was begun %d times and runs %d times", marks(), running())
	}
	ctx, abort := context.WithCancelCause(t.Context())
	env := executortest.New(t, nil)
	begun := make(chan error, 1)
	go func() {
		_, err := run(ctx, m.background("other", "touch other; sleep 600", 1), env.Env)
		begun <- err
	}()
	if _, err := m.step("until [ -e other ]; do sleep 0.01; done"); err != nil {
		t.Fatal(err)
	}
	abort(executor.ErrCancelled)
	if err := <-begun; !errors.Is(err, executor.ErrCancelled) {
		t.Errorf("the abort is %v", err)
	}
	m.ended("other")
	if running() != 1 {
		t.Errorf("after the abort, %d run", running())
	}
}
