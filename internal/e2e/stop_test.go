package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// one is a pipeline with one Custom stage of the given steps, in flow style.
func one(id, steps, more string) string {
	return fmt.Sprintf("pipeline: {identifier: %[1]s, name: %[1]s, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [%[2]s]}}%[3]s}}, {stage: {identifier: always, name: always, type: Custom, when: {pipelineStatus: All}, spec: {execution: {steps: [%[4]s]}}}}]}",
		id, steps, more, shell("after", "true"))
}

func shell(id, script string) string {
	return fmt.Sprintf("{step: {identifier: %[1]s, name: %[1]s, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: %[2]q}}}}}", id, script)
}

// An abort reaches a running script and the processes that it started at once, by
// the socket; nothing runs afterwards, not even a stage with All
// (semantics/pipeline §14.28).
func TestAnAbortReachesGrandchildren(t *testing.T) {
	t.Parallel()
	t.Run("one machine", func(t *testing.T) {
		t.Parallel()
		anAbortReachesGrandchildren(t, func(tb testing.TB) *e2e.Server {
			tb.Helper()
			// The next heartbeat, which would tell it too, is too late.
			return e2e.Start(tb, wire.ServeConfig{EmbeddedDelegate: true, Heartbeat: 10 * e2e.Patience})
		})
	})
	t.Run("AWS", func(t *testing.T) {
		t.Parallel()
		anAbortReachesGrandchildren(t, func(tb testing.TB) *e2e.Server {
			tb.Helper()
			return e2e.StartAWS(tb).Server
		})
	})
}

func anAbortReachesGrandchildren(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	pidFile := filepath.Join(t.TempDir(), "pid")
	s := start(t)
	s.Apply(t, one("p", shell("long", fmt.Sprintf("(sleep 600 & echo $! > %s; wait) & wait", pidFile)), ""))
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	var pid int
	if _, err := s.Until(ctx, id, func(e2e.Execution) bool {
		text, _ := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Call(ctx, "POST", "/v1/executions/"+id+"/abort", nil, nil); err != nil {
		t.Fatal(err)
	}
	e, err := s.Until(ctx, id, func(e e2e.Execution) bool { return e2e.Ended(e) && syscall.Kill(pid, 0) != nil })
	if err != nil {
		t.Fatal(err)
	}
	if after := e.Root.Find("after"); e.Status != "Aborted" || after.Status != "NotStarted" {
		t.Errorf("the execution is %s, the stage that always runs has a step that is %s", e.Status, after.Status)
	}
}

// Without an eligible delegate the step says which selectors were wanted and
// which delegates there are, and fails by its strategy after the given time
// (semantics/pipeline §14.40).
func TestNoEligibleDelegate(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"a"}, Heartbeat: time.Second, NoDelegateAfter: 2 * time.Second})
	s.Apply(t, one("p", shell("wants", "true"), ", delegateSelectors: [a, b], failureStrategies: [{onFailure: {errors: [DelegateProvisioning], action: {type: Ignore}}}]"))
	e := s.Run(t, "p", nil)
	wants := e.Root.Find("wants")
	if e.Status != "IgnoreFailed" || wants.Status != "IgnoreFailed" {
		t.Errorf("the execution is %s, the step %s", e.Status, wants.Status)
	}
	for _, want := range []string{"No eligible delegate(s) in account to execute task.", "a, b", "embedded"} {
		if !strings.Contains(wants.Message, want) {
			t.Errorf("the message is %q; want %q in it", wants.Message, want)
		}
	}
}

// 200 executions of ten steps at once on one delegate: all end, none is lost.
func TestManyExecutionsAtOnce(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Capacity: 64})
	s.Apply(t, steps("noop", 10, "# nothing"))
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			id, err := s.TryBegin(ctx, "noop", nil)
			var e e2e.Execution
			if err == nil {
				e, err = s.Every(ctx, 250*time.Millisecond, id, e2e.Ended)
			}
			if err != nil || e.Status != "Success" {
				t.Errorf("%v: %s %s", err, e.Status, e.Message)
			}
		})
	}
	all.Wait()
	t.Logf("memory of server, delegate and test together: %.0f MB", memory(t, "self"))
}

// A stage of more steps than one machine run drives goes on in others.
func TestAStageOfManySteps(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
	s.Apply(t, steps("long", 450, "# nothing"))
	e := run(t, s, "long", "Success", nil)
	for i := range 450 {
		if n := e.Root.Find(fmt.Sprint("s", i)); n == nil || n.Status != "Success" {
			t.Fatalf("step %d is %+v", i, n)
		}
	}
}

// memory is how much of a process is resident, in MB.
func memory(tb testing.TB, pid string) float64 {
	tb.Helper()
	return resident(tb, pid, "VmRSS:")
}

// resident is a line of a process's status, in MB.
func resident(tb testing.TB, pid, key string) float64 {
	tb.Helper()
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		tb.Fatal(err)
	}
	var kilobytes float64
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			_, err = fmt.Sscan(rest, &kilobytes)
		}
	}
	if err != nil || kilobytes == 0 {
		tb.Fatalf("/proc/%s/status has no %s %v", pid, key, err)
	}
	return kilobytes / 1000
}

// A failure strategy aborts an execution while another step runs.
func TestAStrategyAborts(t *testing.T) {
	t.Parallel()
	onEveryHost(t, aStrategyAborts)
}

func aStrategyAborts(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	s.Apply(t, one("strategy", "{parallel: ["+shell("long", "sleep 600")+", "+shell("fails", "exit 1")+"]}",
		", failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: Abort}}}]"))
	run(t, s, "strategy", "Aborted", nil)
}
