package asl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/asl"
)

// A function that panics is a function that fails: its state's Retry says how
// often it is tried again, then the run fails, and no other does.
func TestAPanicFailsItsOwnRun(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e := open(t, machine("A", `"A":`+task(`"Retry":[{"ErrorEquals":["Runtime.ExitError"],"MaxAttempts":2,"IntervalSeconds":1,"BackoffRate":1}],"End":true`)), asl.Config{
		Functions: functions(func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			if string(in) == `{"poison":true}` {
				calls.Add(1)
				panic("poison")
			}
			return in, nil
		}),
	})
	e.start(t, "poisonous", `{"poison":true}`)
	e.start(t, "well", `{}`)
	if x := ended(t, e.Engine, "well"); x.Status != "SUCCEEDED" {
		t.Errorf("the other run ended %s", x.Status)
	}
	x := ended(t, e.Engine, "poisonous")
	if x.Status != "FAILED" || x.Error != "Runtime.ExitError" || x.Cause != "the function panicked: poison" {
		t.Errorf("the run ended %s %s %s", x.Status, x.Error, x.Cause)
	}
	if calls.Load() != 3 {
		t.Errorf("%d calls; want one and two more", calls.Load())
	}
}

// hold is a function that keeps its slot until the test lets it go.
type hold struct {
	mu    sync.Mutex
	calls []string
	in    chan string
	out   chan struct{}
}

func newHold() *hold { return &hold{in: make(chan string, 100), out: make(chan struct{})} }

func (h *hold) handle(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
	h.mu.Lock()
	h.calls = append(h.calls, string(in))
	h.mu.Unlock()
	h.in <- string(in)
	<-h.out
	return in, nil
}

func (h *hold) called() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.calls...)
}

// A task whose time is up while it waits for a slot calls nothing: neither its
// own function, nor that of the state that the run is in by then.
func TestACallThatIsOverIsNotMade(t *testing.T) {
	t.Parallel()
	h := newHold()
	payload := func(name, more string) string {
		return `"` + name + `":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","Payload":"\"` + name + `\""},"ResultPath":null,` + more + `}`
	}
	e := open(t, machine("Which", `"Which":{"Type":"Choice","Choices":[{"Variable":"$.first","BooleanEquals":true,"Next":"Hold"}],"Default":"Late"},`+
		payload("Hold", `"End":true`)+`,`+
		payload("Late", `"TimeoutSeconds":1,"Catch":[{"ErrorEquals":["States.Timeout"],"ResultPath":null,"Next":"After"}],"Next":"After"`)+`,`+payload("After", `"End":true`)), asl.Config{
		Functions: functions(h.handle), Trace: true,
	})
	e.start(t, "holder", `{"first":true}`)
	<-h.in
	e.start(t, "late", `{"first":false}`)
	e.start(t, "stopped", `{"first":false}`)
	if err := e.StopExecution(t.Context(), "stopped", "E", "c"); err != nil {
		t.Fatal(err)
	}
	for len(e.History("late")) < 3 { // it is in After, and waits for a slot
		tick(t)
	}
	close(h.out)
	for _, run := range []string{"holder", "late"} {
		if x := ended(t, e.Engine, run); x.Status != "SUCCEEDED" {
			t.Errorf("%s ended %s %s", run, x.Status, x.Error)
		}
	}
	if diff := cmp.Diff([]string{`"Hold"`, `"After"`}, h.called()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// tick lets a moment pass.
func tick(t *testing.T) {
	t.Helper()
	select {
	case <-t.Context().Done():
		t.Fatal("it doesn't come")
	case <-time.After(time.Millisecond):
	}
}

// A function that hangs loses its slot when its time is up, whether its state
// waits for it or for a token.
func TestAFunctionThatHangsGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"lambda:invoke", "lambda:invoke.waitForTaskToken"} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			h := newHold()
			e := open(t, machine("A", `"A":{"Type":"Task","Resource":"arn:aws:states:::`+resource+`","TimeoutSeconds":3600,
				"Parameters":{"FunctionName":"f","Payload.$":"$.name"},"End":true}`), asl.Config{
				CallTimeout: 200 * time.Millisecond, Functions: functions(h.handle),
			})
			defer close(h.out) // before the engine is closed
			for _, run := range []string{"one", "two"} {
				e.start(t, run, `{"name":"\"`+run+`\""}`)
			}
			for _, run := range []string{"one", "two"} {
				if x := ended(t, e.Engine, run); x.Status != "FAILED" || x.Error != "Sandbox.Timedout" {
					t.Errorf("%s ended %s %s", run, x.Status, x.Error)
				}
			}
			if got := len(h.called()); got != 2 {
				t.Errorf("%d calls; want both, one after the other in the only slot", got)
			}
		})
	}
}

// One whose runs fill all that it may have keeps nobody else's waiting.
func TestRunsOfOneLeaveSlotsToOthers(t *testing.T) {
	t.Parallel()
	h := newHold()
	e := open(t, machine("A", `"A":`+task(`"End":true`)), asl.Config{
		Concurrency: 4, Functions: functions(h.handle), Whose: func(run string) string { return run[:1] },
	})
	for i := range 10 {
		e.start(t, fmt.Sprint("a", i), `{"of":"a"}`)
	}
	for range 3 {
		<-h.in
	}
	e.start(t, "b", `{"of":"b"}`)
	if got := <-h.in; got != `{"of":"b"}` {
		t.Errorf("with three calls of one under way %s is called; want the other's", got)
	}
	close(h.out)
	for i := range 10 {
		if x := ended(t, e.Engine, fmt.Sprint("a", i)); x.Status != "SUCCEEDED" {
			t.Errorf("run %d ended %s", i, x.Status)
		}
	}
}
