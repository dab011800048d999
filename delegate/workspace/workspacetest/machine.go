// Package workspacetest gives tests of steps that run tools a machine with a session
// on it, and tries such steps in what may come between.
//
// The test's program must call session.Answer first of all.
package workspacetest

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	sessions "github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Session is the session that is open, and Stage the stage that it is of.
const (
	Session = "s1"
	Stage   = "pipeline.stages.s"
)

// Machine is a delegate's machine with an open session of a stage, for which its Env
// stands.
type Machine struct {
	*executortest.Env

	World    *testaws.World
	Sessions *sessions.Sessions
	Accesses *aws.Accesses

	t     *testing.T
	steps int
}

// New makes a machine whose PATH is given, and that has more in its environment.
func New(t *testing.T, w *testaws.World, programs string, environ ...string) *Machine {
	t.Helper()
	m := &Machine{
		t: t, World: w, Env: executortest.New(t, nil),
		Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}},
	}
	m.Execution = "e1"
	environ = append(environ, "PATH="+programs, "AWS_ENDPOINT_URL="+w.Endpoint)
	m.Sessions = sessions.New(sessions.Config{Dir: t.TempDir(), Orphan: 2 * time.Minute, Environ: environ})
	m.open()
	t.Cleanup(m.close)
	return m
}

// Account is that of a World.
func Account() task.AWS {
	return task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "hush-secret", Region: testaws.Region}
}

func (m *Machine) open() {
	m.t.Helper()
	if _, err := m.Sessions.Start(m.t.Context(), task.Session{ID: Session, Execution: "e1", Node: Stage}); err != nil {
		m.t.Fatal(err)
	}
}

func (m *Machine) close() {
	if err := m.Sessions.Close(context.Background(), Session); err != nil {
		m.t.Error(err)
	}
}

// Reopen ends the session with all that runs in it, and opens it once more, with
// nothing in it: a rollback has a session of its own.
func (m *Machine) Reopen() {
	m.t.Helper()
	m.close()
	m.open()
}

// Stores has the file store hold files below /app; those whose names begin with a
// slash lie elsewhere.
func (m *Machine) Stores(files map[string]string) {
	m.Files = func(_ context.Context, named string) ([]task.StoredFile, error) {
		var out []task.StoredFile
		for name, text := range files {
			at := path.Join("/app", name)
			if path.IsAbs(name) {
				at = name
			}
			if at == named || strings.HasPrefix(at, named+"/") {
				out = append(out, task.StoredFile{Path: at, Name: path.Base(at), Content: []byte(text)})
			}
		}
		if len(out) == 0 {
			return nil, fault.New(fault.NotFound, "there is no file or folder %s", named)
		}
		return out, nil
	}
}

// Step is the task of the stage's next step.
func (m *Machine) Step(kind task.Kind, w task.Work, spec any) task.Assignment {
	m.t.Helper()
	m.steps++
	w.Execution, w.Stage, w.Step = m.Execution, Stage, fmt.Sprint("n", m.steps)
	var err error
	if w.Spec, err = json.Marshal(spec); err != nil {
		m.t.Fatal(err)
	}
	a := executortest.Assignment(m.t, kind, w)
	a.Execution, a.Node, a.Timeout = m.Execution, w.Step, 2*time.Minute
	return a
}

// Do does a task, which must end as is wanted.
func (m *Machine) Do(run executor.Executor, a task.Assignment, want task.Status) task.Result {
	m.t.Helper()
	ctx, stop := context.WithTimeout(m.t.Context(), 2*time.Minute)
	defer stop()
	r, err := run(ctx, a, m.Env.Env)
	if err != nil {
		r = task.Result{Status: task.Errored, Message: err.Error(), FailureTypes: fault.Failures(err)}
	}
	if r.Status != want {
		m.t.Fatalf("it is %s: %s; want %s\n%s", r.Status, r.Message, want, m.Log())
	}
	return r
}

// Log is all that the stage's steps have written.
func (m *Machine) Log() string {
	out := ""
	for _, unit := range m.Units() {
		out += m.Text(unit, executor.Info) + m.Text(unit, executor.Error)
	}
	return out
}

// Says wants something to be in the log.
func (m *Machine) Says(want string) {
	m.t.Helper()
	if !strings.Contains(m.Log(), want) {
		m.t.Errorf("the log lacks %q:\n%s", want, m.Log())
	}
}

// Stack is the status of a stack and its template; both are empty if there is none.
func (m *Machine) Stack(name string) (status, template string) {
	m.t.Helper()
	client := cloudformation.NewFromConfig(m.World.Config())
	out, err := client.DescribeStacks(m.t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		return "", ""
	}
	doc, err := client.GetTemplate(m.t.Context(), &cloudformation.GetTemplateInput{StackName: &name})
	if err != nil {
		return string(out.Stacks[0].StackStatus), ""
	}
	return string(out.Stacks[0].StackStatus), sdk.ToString(doc.TemplateBody)
}
