package testaws_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// The functions of testdata, each built once for all tests.
var (
	bootstrap = sync.OnceValues(func() (string, error) { return build("function") })
	scripted  = sync.OnceValues(func() (string, error) { return build("scripted") })
)

// built is the folder of what build makes.
var built string

func build(name string) (string, error) {
	file := filepath.Join(built, name)
	out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", file, "./testdata/"+name).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return file, nil
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "testaws-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // in the temporary folder anyway
	os.Exit(code)
}

// deploy makes a host with the function of testdata.
func deploy(t *testing.T, f testaws.Function) *testaws.Host {
	t.Helper()
	file, err := bootstrap()
	if err != nil {
		t.Fatal(err)
	}
	f.Name, f.Binary = "f", file
	if f.Timeout == 0 {
		f.Timeout = 20 * time.Second
	}
	host := testaws.NewHost(t)
	host.Add(f)
	return host
}

// report is what testdata/function knows of itself.
type report struct {
	Name, Greeting, ARN string
	PID                 int
	Remaining           time.Duration
}

func invoke(t *testing.T, host *testaws.Host, event string) testaws.Result {
	t.Helper()
	r, err := host.Invoke(t.Context(), "f", []byte(event))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func reported(t *testing.T, r testaws.Result) report {
	t.Helper()
	if r.Error != "" {
		t.Fatalf("the function failed: %s", r.Payload)
	}
	var got report
	if err := json.Unmarshal(r.Payload, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestFunctionsGetTheirSurroundings(t *testing.T) {
	t.Parallel()
	host := deploy(t, testaws.Function{Env: []string{"GREETING=hello"}})
	got := reported(t, invoke(t, host, `{}`))
	want := report{Name: "f", Greeting: "hello", ARN: testaws.FunctionARN("f"), PID: got.PID, Remaining: got.Remaining}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("surroundings (-want +got):\n%s", d)
	}
	if got.Remaining <= 0 || got.Remaining > 20*time.Second {
		t.Errorf("the function has %s left, want at most its timeout of 20s", got.Remaining)
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()
	host := deploy(t, testaws.Function{})
	first, second := reported(t, invoke(t, host, `{}`)), reported(t, invoke(t, host, `{}`))
	if first.PID != second.PID {
		t.Errorf("an idle instance wasn't used again: processes %d and %d", first.PID, second.PID)
	}
	held := filepath.Join(t.TempDir(), "held")
	busy := make(chan testaws.Result, 1)
	go func() {
		r, _ := host.Invoke(t.Context(), "f", fmt.Appendf(nil, `{"do":"hold","path":%q}`, held))
		busy <- r
	}()
	appears(t, held)
	other := reported(t, invoke(t, host, `{}`))
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	if got := reported(t, <-busy); got.PID == other.PID {
		t.Errorf("process %d had two invocations at once", got.PID)
	}
	if got := len(host.Usage("f").ColdStarts); got != 2 {
		t.Errorf("%d cold starts, want 2", got)
	}
}

// An invocation beyond the function's concurrency is refused, as Lambda does.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	host := deploy(t, testaws.Function{Concurrency: 1})
	held := filepath.Join(t.TempDir(), "held")
	busy := make(chan testaws.Result, 1)
	go func() {
		r, _ := host.Invoke(t.Context(), "f", fmt.Appendf(nil, `{"do":"hold","path":%q}`, held))
		busy <- r
	}()
	appears(t, held)
	if got := errorType(t, invoke(t, host, `{}`)); got != "Lambda.TooManyRequestsException" {
		t.Errorf("error %q while the only instance is busy", got)
	}
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	reported(t, <-busy)
	reported(t, invoke(t, host, `{}`))
}

// A caller that goes away doesn't end what it began.
func TestACallerGoesAway(t *testing.T) {
	t.Parallel()
	host := deploy(t, testaws.Function{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := host.Invoke(ctx, "f", []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	reported(t, r)
}

// appears returns when another process has made a file.
func appears(t *testing.T, path string) {
	t.Helper()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		function testaws.Function
		event    string
		want     string // errorType
	}{
		{name: "an error", event: `{"do":"refuse"}`, want: "refusal"},
		{name: "a process that ends", event: `{"do":"exit"}`, want: "Runtime.ExitError"},
		{name: "a process that doesn't start", function: testaws.Function{Env: []string{"BROKEN=1"}}, event: `{}`, want: "Runtime.ExitError"},
		{name: "a timeout", function: testaws.Function{Timeout: time.Second}, event: `{"do":"hold","path":%q}`, want: "Sandbox.Timedout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			event := tt.event
			if strings.Contains(event, "%q") {
				event = fmt.Sprintf(event, filepath.Join(t.TempDir(), "held"))
			}
			r := invoke(t, deploy(t, tt.function), event)
			if got := errorType(t, r); got != tt.want || r.Error != "Unhandled" {
				t.Errorf("error %s %q, want Unhandled %q", r.Error, got, tt.want)
			}
		})
	}
}

func errorType(t *testing.T, r testaws.Result) string {
	t.Helper()
	var doc struct{ ErrorType string }
	if err := json.Unmarshal(r.Payload, &doc); err != nil {
		t.Fatalf("%v: %s", err, r.Payload)
	}
	return doc.ErrorType
}

func TestAnInstanceIsReplacedAfterItEnds(t *testing.T) {
	t.Parallel()
	host := deploy(t, testaws.Function{})
	before := reported(t, invoke(t, host, `{}`))
	invoke(t, host, `{"do":"exit"}`)
	if after := reported(t, invoke(t, host, `{}`)); after.PID == before.PID {
		t.Errorf("process %d answered after its end", after.PID)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		faults      testaws.Faults
		want        string
		invocations int
	}{
		{name: "before", faults: testaws.Faults{Before: 1}, want: "Lambda.ServiceException", invocations: 0},
		{name: "after", faults: testaws.Faults{After: 1}, want: "Lambda.ServiceException", invocations: 1},
		{name: "twice", faults: testaws.Faults{Twice: true}, want: "", invocations: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := deploy(t, testaws.Function{})
			host.Fail("f", tt.faults)
			if got := errorType(t, invoke(t, host, `{}`)); got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
			if got := host.Usage("f").Invocations; got != tt.invocations {
				t.Errorf("the function had %d invocations, want %d", got, tt.invocations)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	host := deploy(t, testaws.Function{})
	invoke(t, host, `{"do":"allocate"}`)
	got := host.Usage("f")
	if got.Invocations != 1 || got.Time <= 0 || got.MaxRSS < 64<<20 {
		t.Errorf("usage %+v, want 1 invocation, some time and over 64 MiB", got)
	}
}
