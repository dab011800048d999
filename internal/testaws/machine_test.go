package testaws_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/statemachines"
)

// call is what the node machine sends to the engine.
type call struct {
	Op, Execution, Node, Run, Token string

	After, At json.RawMessage
	Event     json.RawMessage
}

// kindError is a function's error with the name that a state machine sees.
type kindError struct{ kind, message string }

func (e *kindError) Error() string { return e.kind + ": " + e.message }

// machine is the node machine on moto; its engine is a compiled function that
// asks the test.
type machine struct {
	*sfn.Client
	arn string

	mu    sync.Mutex
	calls []call
}

const done = `{"do":"done","at":{}}`

func await(timeout, heartbeat int) string {
	return fmt.Sprintf(`{"do":"await","at":{},"timeoutSeconds":%d,"heartbeatSeconds":%d}`, timeout, heartbeat)
}

// account is a host of functions and moto with it.
type account struct {
	host     *testaws.Host
	endpoint string
}

// newMachine makes the node machine under the test's name. The script is the engine: it gets each
// call and how many calls of its op and node there were before it.
func newMachine(t *testing.T, on account, script func(c call, before int) (string, error)) *machine {
	t.Helper()
	file, err := scripted()
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' {
			return '-'
		}
		return r
	}, t.Name())
	m := &machine{
		Client: sfn.NewFromConfig(testaws.Config(on.endpoint)), arn: "arn:aws:states:" + testaws.Region + ":" + testaws.Account + ":stateMachine:" + name,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, script) }))
	t.Cleanup(server.Close)
	on.host.Add(testaws.Function{Name: name, Binary: file, Env: []string{"SCRIPT=" + server.URL}, Timeout: time.Minute})
	definition := strings.NewReplacer("${EngineFunctionArn}", testaws.FunctionARN(name), "${NodeMachineArn}", m.arn).Replace(string(statemachines.Node))
	_, err = m.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: &name, Definition: &definition, RoleArn: aws.String("arn:aws:iam::" + testaws.Account + ":role/machine"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) serve(w http.ResponseWriter, r *http.Request, script func(call, int) (string, error)) {
	var c call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	before := 0
	for _, other := range m.calls {
		if other.Op == c.Op && other.Node == c.Node {
			before++
		}
	}
	m.calls = append(m.calls, c)
	m.mu.Unlock()
	answer, err := script(c, before)
	var kind *kindError
	if errors.As(err, &kind) {
		w.Header().Set("Error-Type", kind.kind)
		answer = kind.message
	}
	_, _ = w.Write([]byte(answer))
}

// called gives the calls of an op so far.
func (m *machine) called(op string) []call {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []call
	for _, c := range m.calls {
		if c.Op == op {
			found = append(found, c)
		}
	}
	return found
}

func (m *machine) start(t *testing.T, name string) string {
	t.Helper()
	out, err := m.StartExecution(t.Context(), startInput(m.arn, name))
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.ExecutionArn)
}

func startInput(arn, name string) *sfn.StartExecutionInput {
	input := fmt.Sprintf(`{"execution":"e","node":%q,"event":{},"next":{"value":{"at":{},"timeoutSeconds":60,"heartbeatSeconds":30}}}`, name)
	return &sfn.StartExecutionInput{StateMachineArn: &arn, Name: &name, Input: &input}
}

// ended waits for a run's end: moto is another process.
func (m *machine) ended(t *testing.T, run string) *sfn.DescribeExecutionOutput {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
		out, err := m.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &run})
		if err != nil {
			t.Fatal(err)
		}
		if out.Status != types.ExecutionStatusRunning {
			return out
		}
		wait(ctx, t)
	}
}

// wait is a moment between two looks at another process.
func wait(ctx context.Context, t *testing.T) {
	t.Helper()
	select {
	case <-ctx.Done():
		t.Fatal(ctx.Err())
	case <-time.After(10 * time.Millisecond):
	}
}

// history gives a run's events without those that say only that something was
// scheduled or started.
func (m *machine) history(t *testing.T, run string) []types.HistoryEvent {
	t.Helper()
	var events []types.HistoryEvent
	pages := sfn.NewGetExecutionHistoryPaginator(m.Client, &sfn.GetExecutionHistoryInput{ExecutionArn: &run})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, page.Events...)
	}
	return events
}

// states gives the names of the states that a run entered.
func (m *machine) states(t *testing.T, run string) string {
	t.Helper()
	var names []string
	for _, e := range m.history(t, run) {
		if e.StateEnteredEventDetails != nil {
			names = append(names, aws.ToString(e.StateEnteredEventDetails.Name))
		}
	}
	return strings.Join(names, " ")
}

// compact is JSON without the space that moto puts into it.
func compact(t *testing.T, doc json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// end ends a wait as whoever says that nothing more is to be done.
func (m *machine) end(ctx context.Context, token string) error {
	_, err := m.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: &token, Error: aws.String("Slipway.Done")})
	return err
}

// succeed answers a token from the engine's script.
func (m *machine) succeed(ctx context.Context, token, output string) error {
	_, err := m.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: &output})
	return err
}
