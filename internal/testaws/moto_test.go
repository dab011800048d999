package testaws_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// The node machine behaves on moto as AWS documents it. One moto serves all:
// each test has a machine and an engine of its own there.
func TestMachine(t *testing.T) {
	t.Parallel()
	host := testaws.NewHost(t)
	on := account{host: host, endpoint: testaws.Moto(t, host)}
	tests := []struct {
		name string
		run  func(*testing.T, account)
	}{
		{name: "a run", run: aRun},
		{name: "waits end", run: waitsEnd},
		{name: "tokens", run: tokens},
		{name: "retries", run: retries},
		{name: "retries anew", run: retriesAnew},
		{name: "a broken run", run: aBrokenRun},
		{name: "a stopped run", run: aStoppedRun},
		{name: "names are unique", run: namesAreUnique},
		{name: "max concurrency", run: maxConcurrency},
		{name: "data limit", run: dataLimit},
		{name: "an error of the definition", run: runtimeError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, on)
		})
	}
}

// A run waits for one token after the other, starts children by name and waits
// for them, and ends.
func aRun(t *testing.T, on account) {
	t.Helper()
	var m *machine
	m = newMachine(t, on, func(c call, before int) (string, error) {
		switch {
		case c.Op == "await" && before == 0:
			return `{}`, m.succeed(t.Context(), c.Token, `{"do":"await","at":{"node":"second"},"timeoutSeconds":60,"heartbeatSeconds":30}`)
		case c.Op == "await":
			_, err := m.SendTaskFailure(t.Context(), &sfn.SendTaskFailureInput{TaskToken: &c.Token, Error: aws.String("Slipway.Interrupted")})
			return `{}`, err
		case c.Node != "root":
			return done, nil
		}
		return []string{
			await(60, 30), `{"do":"children","at":{},"maxConcurrency":1,"children":[{"node":"a","name":"root-a"},{"node":"b","name":"root-b"}]}`, done,
		}[before], nil
	})
	run := m.start(t, "root")
	if out := m.ended(t, run); out.Status != types.ExecutionStatusSucceeded {
		t.Errorf("the run ended %s %s %s", out.Status, aws.ToString(out.Error), aws.ToString(out.Cause))
	}
	want := "Advance Decide Await Await Advance Decide Children Child Ended Child Ended Advance Decide Done"
	if d := cmp.Diff(want, m.states(t, run)); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
	if d := cmp.Diff(`{"node":"second"}`, compact(t, m.called("await")[1].At)); d != "" {
		t.Errorf("the second wait (-want +got):\n%s", d)
	}
	for _, name := range []string{"root-a", "root-b"} {
		child := strings.TrimSuffix(run, "root") + name
		if out := m.ended(t, child); out.Status != types.ExecutionStatusSucceeded {
			t.Errorf("child %s ended %s", name, out.Status)
		}
	}
}

// Waits end by their timeout, by silence, or by a failure that keeps its name
// and cause.
func waitsEnd(t *testing.T, on account) {
	t.Helper()
	tests := []struct {
		name               string
		timeout, heartbeat int
		fail               bool
		want               string // Error
		cause              string
	}{
		{name: "timeout", timeout: 2, heartbeat: 1000, want: "States.Timeout"},
		{name: "silence", timeout: 1000, heartbeat: 1, want: "States.Timeout"},
		{name: "failure", timeout: 1000, heartbeat: 900, fail: true, want: "Slipway.Aborted", cause: "somebody said so"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var m *machine
			m = newMachine(t, on, func(c call, before int) (string, error) {
				if c.Op == "advance" && before == 0 {
					return await(tt.timeout, tt.heartbeat), nil
				}
				if c.Op == "await" && tt.fail {
					_, err := m.SendTaskFailure(t.Context(), &sfn.SendTaskFailureInput{TaskToken: &c.Token, Error: &tt.want, Cause: &tt.cause})
					return `{}`, err
				}
				return done, nil
			})
			m.ended(t, m.start(t, "n"))
			var got struct{ Error, Cause string }
			if err := json.Unmarshal(m.called("advance")[1].Event, &got); err != nil {
				t.Fatal(err)
			}
			if got.Error != tt.want || got.Cause != tt.cause {
				t.Errorf("the engine heard %+v, want %s %q", got, tt.want, tt.cause)
			}
			token := m.called("await")[0].Token
			var gone *types.TaskTimedOut
			if err := m.succeed(t.Context(), token, `{}`); !errors.As(err, &gone) {
				t.Errorf("an answer after the end: %v, want TaskTimedOut", err)
			}
		})
	}
}

// Heartbeats keep a wait; the first answer counts and the second is told so.
func tokens(t *testing.T, on account) {
	t.Helper()
	m := newMachine(t, on, func(c call, before int) (string, error) {
		if c.Op == "advance" {
			return await(60, 2), nil
		}
		return done, nil
	})
	run := m.start(t, "n")
	token := m.token(t, 0)
	for range 5 {
		if _, err := m.SendTaskHeartbeat(t.Context(), &sfn.SendTaskHeartbeatInput{TaskToken: &token}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-t.Context().Done():
		case <-time.After(600 * time.Millisecond): // together longer than the silence that is allowed
		}
	}
	var invalid *types.InvalidOutput
	if err := m.succeed(t.Context(), token, `{`); !errors.As(err, &invalid) {
		t.Errorf("an answer that isn't JSON: %v, want InvalidOutput", err)
	}
	if err := m.succeed(t.Context(), token, `{"at":{"node":"second"}}`); err != nil {
		t.Fatal(err)
	}
	var gone *types.TaskTimedOut
	if err := m.succeed(t.Context(), token, `{"at":{"node":"third"}}`); !errors.As(err, &gone) {
		t.Errorf("a second answer: %v, want TaskTimedOut", err)
	}
	if _, err := m.SendTaskHeartbeat(t.Context(), &sfn.SendTaskHeartbeatInput{TaskToken: &token}); !errors.As(err, &gone) {
		t.Errorf("a heartbeat after the answer: %v, want TaskTimedOut", err)
	}
	var none *types.InvalidToken
	if err := m.succeed(t.Context(), "nobody's", `{}`); !errors.As(err, &none) {
		t.Errorf("an unknown token: %v, want InvalidToken", err)
	}
	if err := m.end(t.Context(), m.token(t, 1)); err != nil {
		t.Fatal(err)
	}
	m.ended(t, run)
	if d := cmp.Diff(`{"node":"second"}`, compact(t, m.called("await")[1].At)); d != "" {
		t.Errorf("the second wait (-want +got):\n%s", d)
	}
}

// token waits for the engine's n-th call for a wait and gives its token.
func (m *machine) token(t *testing.T, n int) string {
	t.Helper()
	for len(m.called("await")) <= n {
		wait(t.Context(), t)
	}
	return m.called("await")[n].Token
}

// An attempt that failed is made again with a token of its own, and the wait
// that follows is a whole one.
func retries(t *testing.T, on account) {
	t.Helper()
	var m *machine
	m = newMachine(t, on, func(c call, before int) (string, error) {
		switch {
		case before == 0:
			return "", &kindError{"Slipway.Transient", "try again"}
		case c.Op == "await" && before == 1: // the wait itself fails
			_, err := m.SendTaskFailure(t.Context(), &sfn.SendTaskFailureInput{TaskToken: &c.Token, Error: aws.String("Slipway.Transient")})
			return `{}`, err
		case c.Op == "await":
			return `{}`, m.end(t.Context(), c.Token)
		case before == 1:
			return await(60, 30), nil
		}
		return done, nil
	})
	if out := m.ended(t, m.start(t, "n")); out.Status != types.ExecutionStatusSucceeded {
		t.Errorf("the run ended %s %s %s", out.Status, aws.ToString(out.Error), aws.ToString(out.Cause))
	}
	tokens := map[string]bool{}
	for _, c := range m.called("await") {
		tokens[c.Token] = true
	}
	if len(tokens) != 3 || len(m.called("await")) != 3 {
		t.Errorf("%d tokens of %d attempts, want 3 of 3", len(tokens), len(m.called("await")))
	}
}

// Whoever leaves a state has all attempts again when the run comes back to it:
// eight in all would be too few here.
func retriesAnew(t *testing.T, on account) {
	t.Helper()
	var m *machine
	m = newMachine(t, on, func(c call, before int) (string, error) {
		switch {
		case c.Op == "advance":
			return await(60, 30), nil
		case before%3 < 2:
			return "", &kindError{"Slipway.Transient", "try again"}
		case before < 12:
			return `{}`, m.succeed(t.Context(), c.Token, await(60, 30))
		}
		return `{}`, m.end(t.Context(), c.Token)
	})
	if out := m.ended(t, m.start(t, "n")); out.Status != types.ExecutionStatusSucceeded {
		t.Errorf("the run ended %s %s %s", out.Status, aws.ToString(out.Error), aws.ToString(out.Cause))
	}
}

// An engine that can't decide breaks the run, with the error's name and cause
// (Fail with ErrorPath and CausePath).
func aBrokenRun(t *testing.T, on account) {
	t.Helper()
	m := newMachine(t, on, func(c call, _ int) (string, error) {
		if c.Op == "break" {
			return `{}`, nil
		}
		return "", &kindError{"Invalid", "no such node"}
	})
	run := m.start(t, "n")
	out := m.ended(t, run)
	if out.Status != types.ExecutionStatusFailed || aws.ToString(out.Error) != "Invalid" || !strings.Contains(aws.ToString(out.Cause), "no such node") {
		t.Errorf("the run ended %s %s %s, want FAILED Invalid and the cause", out.Status, aws.ToString(out.Error), aws.ToString(out.Cause))
	}
	if d := cmp.Diff("Advance Break Broken", m.states(t, run)); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
}

// StopExecution ends a run and its children at once, and nothing happens
// afterwards.
func aStoppedRun(t *testing.T, on account) {
	t.Helper()
	m := newMachine(t, on, func(c call, _ int) (string, error) {
		if c.Op == "advance" && c.Node == "root" {
			return `{"do":"children","at":{},"maxConcurrency":0,"children":[{"node":"a","name":"root-a"}]}`, nil
		}
		return await(1000, 900), nil
	})
	run := m.start(t, "root")
	token := m.token(t, 0)
	_, err := m.StopExecution(t.Context(), &sfn.StopExecutionInput{ExecutionArn: &run, Error: aws.String("Slipway.Stopped"), Cause: aws.String("aborted")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &run})
	if err != nil {
		t.Fatal(err)
	}
	if out.Status != types.ExecutionStatusAborted || aws.ToString(out.Error) != "Slipway.Stopped" || aws.ToString(out.Cause) != "aborted" {
		t.Errorf("right after the stop: %s %s %s", out.Status, aws.ToString(out.Error), aws.ToString(out.Cause))
	}
	if child := m.ended(t, run+"-a"); child.Status != types.ExecutionStatusAborted {
		t.Errorf("the child ended %s, want ABORTED", child.Status)
	}
	var gone *types.TaskTimedOut
	if err := m.succeed(t.Context(), token, `{}`); !errors.As(err, &gone) {
		t.Errorf("an answer after the stop: %v, want TaskTimedOut", err)
	}
	for _, run := range []string{run, run + "-a"} {
		events := m.history(t, run)
		for events[len(events)-1].Type != types.HistoryEventTypeExecutionAborted { // written a moment after the stop
			wait(t.Context(), t)
			events = m.history(t, run)
		}
		for _, e := range events {
			if e.Type == types.HistoryEventTypeTaskTimedOut || e.Type == types.HistoryEventTypeTaskFailed {
				t.Errorf("the history has %s; a stop is no failure of a task", e.Type)
			}
		}
	}
	if got := len(m.called("advance")); got != 2 {
		t.Errorf("the engine was asked %d times, want 2", got)
	}
}

// A run's name is its identity: many who start it at once get one run, and the
// name is refused when the run is over.
func namesAreUnique(t *testing.T, on account) {
	t.Helper()
	m := newMachine(t, on, func(c call, _ int) (string, error) {
		if c.Op == "advance" && string(c.Event) == "{}" {
			return await(60, 50), nil
		}
		return done, nil
	})
	arns := sync.Map{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			out, err := m.StartExecution(t.Context(), startInput(m.arn, "n"))
			if err != nil {
				t.Error(err)
				return
			}
			arns.Store(aws.ToString(out.ExecutionArn), true)
		})
	}
	wg.Wait()
	token := m.token(t, 0)
	if err := m.end(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	arns.Range(func(arn, _ any) bool {
		m.ended(t, arn.(string)) //nolint:forcetypeassert // stored above
		return true
	})
	if got := len(m.called("await")); got != 1 {
		t.Errorf("%d runs of one name", got)
	}
	var exists *types.ExecutionAlreadyExists
	if _, err := m.StartExecution(t.Context(), startInput(m.arn, "n")); !errors.As(err, &exists) {
		t.Errorf("the name of a run that has ended: %v, want ExecutionAlreadyExists", err)
	}
}

// A Map runs no more children at once than MaxConcurrencyPath says.
func maxConcurrency(t *testing.T, on account) {
	t.Helper()
	var now, most atomic.Int32
	var m *machine
	m = newMachine(t, on, func(c call, before int) (string, error) {
		if c.Node == "root" && before == 0 {
			return `{"do":"children","at":{},"maxConcurrency":2,"children":[{"node":"a","name":"a"},{"node":"b","name":"b"},{"node":"c","name":"c"},{"node":"d","name":"d"}]}`, nil
		}
		if c.Op == "await" {
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			now.Add(-1)
			return `{}`, m.end(t.Context(), c.Token)
		}
		if c.Node != "root" && before == 0 {
			return await(60, 50), nil
		}
		return done, nil
	})
	if out := m.ended(t, m.start(t, "root")); out.Status != types.ExecutionStatusSucceeded {
		t.Errorf("the run ended %s %s", out.Status, aws.ToString(out.Cause))
	}
	if got := most.Load(); got > 2 {
		t.Errorf("%d children at once, want 2 at most", got)
	}
}

// A result over 256 KiB fails its task, with an error that a catcher of
// States.ALL gets.
func dataLimit(t *testing.T, on account) {
	t.Helper()
	m := newMachine(t, on, func(c call, _ int) (string, error) {
		if c.Op == "break" {
			return `{}`, nil
		}
		return `{"do":"done","filler":"` + strings.Repeat("x", 262144) + `"}`, nil
	})
	out := m.ended(t, m.start(t, "n"))
	if out.Status != types.ExecutionStatusFailed || len(m.called("break")) != 1 {
		t.Fatalf("the run ended %s %s %s; want the engine to be told", out.Status, aws.ToString(out.Error), aws.ToString(out.Cause))
	}
	if got := string(m.called("break")[0].Event); !strings.Contains(got, "States.DataLimitExceeded") {
		t.Errorf("the engine heard %s", got)
	}
}

// An error of the definition itself ends the run, whoever catches what: here a
// path that leads nowhere.
func runtimeError(t *testing.T, on account) {
	t.Helper()
	m := newMachine(t, on, func(call, int) (string, error) { return `{"do":"await"}`, nil })
	out := m.ended(t, m.start(t, "n"))
	if out.Status != types.ExecutionStatusFailed || aws.ToString(out.Error) != "States.Runtime" || len(m.called("break")) != 0 {
		t.Errorf("the run ended %s %s %s; want FAILED States.Runtime, and nobody told", out.Status, aws.ToString(out.Error), aws.ToString(out.Cause))
	}
}

// EventBridge hears of what becomes of a run, with its input and error.
func TestRunsTell(t *testing.T) {
	t.Parallel()
	host, seen := script(t, `{}`)
	host.Subscribe("f", "ABORTED", "FAILED")
	m := newMachine(t, account{host: host, endpoint: testaws.Moto(t, host)}, func(c call, _ int) (string, error) {
		if c.Op == "advance" && c.Node == "failing" {
			return "", &kindError{"Invalid", "no such node"}
		}
		return await(60, 50), nil
	})
	m.ended(t, m.start(t, "failing"))
	run := m.start(t, "stopped")
	m.token(t, 0)
	if _, err := m.StopExecution(t.Context(), &sfn.StopExecutionInput{ExecutionArn: &run, Error: aws.String("Slipway.Stopped")}); err != nil {
		t.Fatal(err)
	}
	type detail struct{ Name, Status, Input, Error string }
	var got []detail
	for range 2 {
		var e struct {
			Source     string
			DetailType string `json:"detail-type"`
			Detail     detail
		}
		seen.next(t, &e)
		if e.Source != "aws.states" || e.DetailType != "Step Functions Execution Status Change" {
			t.Errorf("the event is of %s %q", e.Source, e.DetailType)
		}
		got = append(got, e.Detail)
	}
	want := []detail{
		{"failing", "FAILED", aws.ToString(startInput(m.arn, "failing").Input), "Invalid"},
		{"stopped", "ABORTED", aws.ToString(startInput(m.arn, "stopped").Input), "Slipway.Stopped"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}
