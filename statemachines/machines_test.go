package statemachines_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/statemachines"
)

// host runs the node machine with a function as its engine.
type host interface {
	start(ctx context.Context, run, node string) error
	succeed(ctx context.Context, token, output string) error
	fail(ctx context.Context, token, name, cause string) error
	// path is the states that a run has passed, and how it ended; empty while
	// it is under way.
	path(ctx context.Context, run string) (string, error)
}

// failure is a function's error under a name.
type failure struct{ name, cause string }

func (f *failure) Error() string { return f.name + ": " + f.cause }

// engine plays the engine by a script.
type engine struct {
	mu    sync.Mutex
	lines map[string][]string // what follows "advance p:", by what precedes it
	host  host
	err   error
}

func newEngine(script string) *engine {
	e := &engine{lines: map[string][]string{}}
	for line := range strings.Lines(script) {
		call, answer, _ := strings.Cut(strings.TrimSpace(line), ": ")
		e.lines[call] = append(e.lines[call], answer)
	}
	return e
}

// next takes the next line of a call.
func (e *engine) next(call string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.lines[call]
	if len(list) == 0 {
		e.err = errors.Join(e.err, fmt.Errorf("%s isn't in the script, or comes too often", call))
		return "", &failure{"Script.Ended", call}
	}
	e.lines[call] = list[1:]
	return list[0], nil
}

// left is what of the script hasn't been asked for.
func (e *engine) left() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for call, list := range e.lines {
		for _, l := range list {
			out = append(out, call+": "+l)
		}
	}
	return out
}

// handle answers one invocation.
func (e *engine) handle(ctx context.Context, payload []byte) ([]byte, error) {
	var c struct {
		Op, Node, Token string
		At              struct{ Node string }
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	waits := c.Op == "await"
	if waits {
		c.Node = c.At.Node
	}
	line, err := e.next(c.Op + " " + c.Node)
	if err != nil {
		return nil, err
	}
	verb, rest, _ := strings.Cut(line, " ")
	name, cause, _ := strings.Cut(rest, ": ")
	words := strings.Fields(rest)
	switch verb {
	case "error":
		return nil, &failure{name, cause}
	case "answered": // as releases before answered
		return []byte(`{}`), e.host.succeed(ctx, c.Token, `{"answered":true}`)
	case "fail":
		return []byte(`{}`), e.host.fail(ctx, c.Token, name, cause)
	case "await":
		answer := fmt.Sprintf(`{"do":"await","at":{"node":%q},"timeoutSeconds":%s,"heartbeatSeconds":%s,"children":[],"maxConcurrency":0}`, words[0], words[1], words[2])
		if waits {
			return []byte(`{}`), e.host.succeed(ctx, c.Token, answer)
		}
		return []byte(answer), nil
	case "children":
		return children(words), nil
	case "done":
		if waits {
			return []byte(`{}`), e.host.fail(ctx, c.Token, "Slipway.Done", "")
		}
		return []byte(`{"do":"done","at":{},"timeoutSeconds":0,"heartbeatSeconds":0,"children":[],"maxConcurrency":0}`), nil
	}
	return []byte(`{}`), nil // silence, ok
}

func children(words []string) []byte {
	most := 0
	if i := slices.Index(words, "max"); i >= 0 {
		most, _ = strconv.Atoi(words[i+1]) // a script with a typing error has no bound
		words = words[:i]
	}
	list := []string{}
	for _, w := range words {
		list = append(list, fmt.Sprintf(`{"node":%q,"name":"run-%s"}`, w, w))
	}
	return fmt.Appendf(nil, `{"do":"children","at":{"node":"p"},"timeoutSeconds":0,"heartbeatSeconds":0,"children":[%s],"maxConcurrency":%d}`, strings.Join(list, ","), most)
}

func input(node string) string {
	return fmt.Sprintf(`{"execution":"x","node":%q,"event":{},"next":{"value":{"at":{},"timeoutSeconds":60,"heartbeatSeconds":30}}}`, node)
}

// embedded is pkg/asl.
type embedded struct{ *asl.Engine }

func newEmbedded(t *testing.T, e *engine) host {
	t.Helper()
	m, err := asl.Parse("node", statemachines.Node, map[string]string{"EngineFunctionArn": "engine", "NodeMachineArn": "node"})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	machines, err := asl.Open(t.Context(), asl.Config{
		DB: db, Machines: map[string]*asl.Machine{"node": m}, Concurrency: 4, Trace: true,
		Functions: map[string]asl.Handler{"engine": func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			out, err := e.handle(ctx, in)
			var f *failure
			if errors.As(err, &f) {
				return nil, &asl.Failure{Name: f.name, Cause: f.cause}
			}
			return out, err
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(machines.Close(context.Background()), db.Close()) })
	return embedded{machines}
}

func (h embedded) start(ctx context.Context, run, node string) error {
	return h.StartExecution(ctx, "node", run, json.RawMessage(input(node)))
}

func (h embedded) succeed(ctx context.Context, token, output string) error {
	return h.SendTaskSuccess(ctx, token, json.RawMessage(output))
}

func (h embedded) fail(ctx context.Context, token, name, cause string) error {
	return h.SendTaskFailure(ctx, token, name, cause)
}

func (h embedded) path(ctx context.Context, run string) (string, error) {
	x, err := h.DescribeExecution(ctx, run)
	if errors.Is(err, asl.ErrExecutionDoesNotExist) || err == nil && x.Status == "RUNNING" {
		return "", nil
	}
	return outer(h.History(run)) + x.Status, err
}

// outer leaves out the states inside Children, whose order isn't certain.
func outer(states []string) string {
	var b strings.Builder
	for _, s := range states {
		if s != "Child" && s != "Ended" {
			b.WriteString(s + " ")
		}
	}
	return b.String()
}

// emulated is moto's Step Functions.
type emulated struct {
	client  *sfn.Client
	machine string
}

func newEmulated(t *testing.T, moto *motoHost, e *engine) host {
	t.Helper()
	name := "node-" + strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()[strings.LastIndex(t.Name(), "/")+1:])
	h := &emulated{client: sfn.NewFromConfig(testaws.Config(moto.endpoint))}
	h.machine = "arn:aws:states:" + testaws.Region + ":" + testaws.Account + ":stateMachine:" + name
	moto.host.AddFunc(name, func(ctx context.Context, in []byte) ([]byte, error) {
		out, err := e.handle(ctx, in)
		var f *failure
		if errors.As(err, &f) {
			return nil, &testaws.Failure{Type: f.name, Message: f.cause}
		}
		return out, err
	})
	definition := strings.NewReplacer("${EngineFunctionArn}", testaws.FunctionARN(name), "${NodeMachineArn}", h.machine).Replace(string(statemachines.Node))
	if _, err := h.client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: &name, Definition: &definition, RoleArn: aws.String("arn:aws:iam::" + testaws.Account + ":role/machine"),
	}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *emulated) start(ctx context.Context, run, node string) error {
	_, err := h.client.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &h.machine, Name: &run, Input: aws.String(input(node))})
	return err
}

func (h *emulated) succeed(ctx context.Context, token, output string) error {
	_, err := h.client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: &output})
	return err
}

func (h *emulated) fail(ctx context.Context, token, name, cause string) error {
	_, err := h.client.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: &token, Error: &name, Cause: &cause})
	return err
}

func (h *emulated) path(ctx context.Context, run string) (string, error) {
	runs, err := h.client.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &h.machine})
	if err != nil {
		return "", err
	}
	for _, x := range runs.Executions {
		if aws.ToString(x.Name) != run || x.Status == "RUNNING" {
			continue
		}
		var states []string
		history := sfn.NewGetExecutionHistoryPaginator(h.client, &sfn.GetExecutionHistoryInput{ExecutionArn: x.ExecutionArn})
		for history.HasMorePages() {
			page, err := history.NextPage(ctx)
			if err != nil {
				return "", err
			}
			for _, e := range page.Events {
				if d := e.StateEnteredEventDetails; d != nil {
					states = append(states, aws.ToString(d.Name))
				}
			}
		}
		return outer(states) + string(x.Status), nil
	}
	return "", nil
}

type motoHost struct {
	host     *testaws.Host
	endpoint string
}

// TestMachines runs every case of testdata on both hosts.
func TestMachines(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	moto := &motoHost{host: testaws.NewHost(t)}
	moto.endpoint = testaws.Moto(t, moto.host)
	hosts := map[string]func(*testing.T, *engine) host{
		"embedded": newEmbedded,
		"moto":     func(t *testing.T, e *engine) host { t.Helper(); return newEmulated(t, moto, e) },
	}
	t.Run("cases", func(t *testing.T) { // moto outlives them
		for _, file := range files {
			for name, open := range hosts {
				t.Run(name+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
					t.Parallel()
					runCase(t, file, open)
				})
			}
		}
	})
}

func runCase(t *testing.T, file string, open func(*testing.T, *engine) host) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, f := range archive.Files {
		parts[f.Name] = string(f.Data)
	}
	e := newEngine(parts["script.txt"])
	e.host = open(t, e)
	if err := e.host.start(t.Context(), "run-p", "p"); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(parts["path.txt"]) {
		node, _, _ := strings.Cut(line, ":")
		fmt.Fprintf(&got, "%s: %s\n", node, ended(t, e.host, "run-"+node))
	}
	if diff := cmp.Diff(parts["path.txt"], got.String()); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if left := e.left(); e.err != nil || len(left) > 0 {
		t.Errorf("the script: %v; not asked for: %v", e.err, left)
	}
}

// ended waits for a run's end. It looks less often the longer that takes, or
// looking would be most of what moto does.
func ended(t *testing.T, h host, run string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 320*time.Millisecond) {
		path, err := h.path(ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		if path != "" {
			return path
		}
		select {
		case <-ctx.Done():
			return "doesn't end"
		case <-time.After(pause):
		}
	}
}
