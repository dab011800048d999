package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testport"
)

// process is a server or a delegate that can be killed.
type process struct {
	cmd  *exec.Cmd
	line string // the first that it printed
}

// spawn runs the test binary as a server or a delegate. A server has printed
// its address when spawn returns.
func spawn(tb testing.TB, env ...string) *process {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "GOGC=100"), env...) // of some the memory is measured, as users have it
	cmd.Stderr = tb.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p := &process{cmd: cmd}
	tb.Cleanup(p.kill)
	if strings.HasPrefix(env[0], serveEnv) {
		if p.line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
			tb.Fatalf("the server didn't start: %v", err)
		}
	}
	return p
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// freeAddr is an address that a server can have again after a restart.
func freeAddr(tb testing.TB) string {
	tb.Helper()
	addresses, err := testport.Free(1)
	if err != nil {
		tb.Fatal(err)
	}
	return addresses[0]
}

// marking is a pipeline of 12 steps, each of which appends its name to a
// file: a sequential stage, two parallel stages, one of them with a parallel
// block. A task that dies with its delegate is tried again.
func marking(file, pause string) string {
	step := func(id string) string {
		return fmt.Sprintf("{step: {identifier: %[1]s, name: %[1]s, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: 'sleep %[3]s; echo %[1]s >> %[2]s'}}}}}", id, file, pause)
	}
	stage := func(id, steps string) string {
		return fmt.Sprintf("{stage: {identifier: %[1]s, name: %[1]s, type: Custom, spec: {execution: {steps: [%[2]s]}}, failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: Retry, spec: {retryCount: 100, retryIntervals: [1s], onRetryFailure: {action: {type: Abort}}}}}}]}}", id, steps)
	}
	list := func(ids ...string) string {
		var out []string
		for _, id := range ids {
			out = append(out, step(id))
		}
		return strings.Join(out, ", ")
	}
	return fmt.Sprintf("pipeline: {identifier: marking, name: marking, stages: [%s, {parallel: [%s, %s]}]}",
		stage("one", list("a", "b", "c", "d")),
		stage("two", list("e", "f")+", {parallel: ["+list("g", "h")+"]}"),
		stage("three", list("i", "j", "k", "l")))
}

// kills is how often the server is killed.
const kills = 50

// Killed at 50 random moments and started again each time, the server ends
// the pipeline: every step's side effect has happened, and no step that had
// succeeded ran again. With the delegate in the server, its task dies with it
// each time; a delegate of its own goes on and reports to the next server.
func TestAKilledServerGoesOn(t *testing.T) {
	t.Parallel()
	t.Run("delegate inside", func(t *testing.T) {
		t.Parallel()
		killServers(t, "embedded", "0.1")
	})
	t.Run("delegate outside", func(t *testing.T) {
		t.Parallel()
		killServers(t, "", "1.5") // its steps aren't disturbed: they must last until the kills are over
	})
}

func killServers(t *testing.T, embedded, pause string) {
	t.Helper()
	dir := t.TempDir()
	file, addr := filepath.Join(dir, "marks"), freeAddr(t)
	serve := func() *process {
		return spawn(t, serveEnv+"="+filepath.Join(dir, "data"), addrEnv+"="+addr, delegateEnv+"="+embedded)
	}
	p := serve()
	s := client(p)
	if embedded == "" {
		spawn(t, delegateEnv+"=outside", addrEnv+"="+s.URL, tokenEnv+"="+delegateToken(t, s))
	}
	s.Apply(t, marking(file, pause))
	id := s.Begin(t, "marking", nil)

	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	settled := map[string]int{} // marks of steps that had succeeded when the server was killed
	early := 0                  // kills while the pipeline ran
	for range kills {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+random.IntN(300))*time.Millisecond)
		e, _ := s.Until(ctx, id, e2e.Ended) // it ends by time, nearly always
		cancel()
		if !e2e.Ended(e) {
			early++
		}
		for _, step := range allSteps() {
			if n := e.Root.Find(step); n != nil && n.Status == "Success" && settled[step] == 0 {
				settled[step] = marks(t, file)[step]
			}
		}
		p.kill()
		p = serve()
	}
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	e, err := s.Until(ctx, id, e2e.Ended)
	if err != nil || e.Status != "Success" {
		t.Fatalf("seed %d: %v, %s: %s", seed, err, e.Status, e.Message)
	}
	got := marks(t, file)
	for _, step := range allSteps() {
		if before, ok := settled[step]; got[step] == 0 || ok && got[step] != before {
			t.Errorf("seed %d: step %s has %d marks; it had %d when it had succeeded", seed, step, got[step], before)
		}
	}
	t.Logf("seed %d: marks %v; %d kills while it ran, %d steps had succeeded by then", seed, got, early, len(settled))
}

func allSteps() []string { return strings.Split("a b c d e f g h i j k l", " ") }

// client speaks to a spawned server.
func client(p *process) *e2e.Server {
	url, token, _ := strings.Cut(strings.TrimSpace(p.line), " ")
	return &e2e.Server{URL: url, Token: token, Org: "default", Project: "default_project"}
}

// delegateToken makes a token for a delegate.
func delegateToken(tb testing.TB, s *e2e.Server) string {
	tb.Helper()
	var made struct{ Secret string }
	if err := s.Call(tb.Context(), "POST", "/v1/tokens", map[string]string{"kind": "delegate", "name": "outside"}, &made); err != nil {
		tb.Fatal(err)
	}
	return made.Secret
}

// Killed in the middle of a step, a delegate's task is lost: the step is
// tried again by its strategy on another delegate: once a few heartbeats are
// missed, long before its own time is up.
func TestAKilledDelegatesStepIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "marks")
	p := spawn(t, serveEnv+"="+filepath.Join(dir, "data"), addrEnv+"=127.0.0.1:0")
	s := client(p)
	token := delegateToken(t, s)
	first := spawn(t, delegateEnv+"=first", addrEnv+"="+s.URL, tokenEnv+"="+token)
	script := fmt.Sprintf("echo begun >> %[1]s; [ $(wc -l < %[1]s) -gt 1 ] || sleep 600", file)
	s.Apply(t, fmt.Sprintf(`pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom,
  spec: {execution: {steps: [{step: {identifier: a, name: a, type: ShellScript, timeout: 1h, spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: %q}}}}}]}},
  failureStrategies: [{onFailure: {errors: [DelegateRestart], action: {type: Retry, spec: {retryCount: 1, retryIntervals: [1s], onRetryFailure: {action: {type: Abort}}}}}}]}}]}`, script))
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	if _, err := s.Until(ctx, id, func(e2e.Execution) bool { return marks(t, file)["begun"] == 1 }); err != nil {
		t.Fatal(err)
	}
	first.kill()
	spawn(t, delegateEnv+"=second", addrEnv+"="+s.URL, tokenEnv+"="+token)
	e, err := s.Until(ctx, id, e2e.Ended)
	if err != nil || e.Status != "Success" || e.Root.Find("a").Attempt != 2 {
		t.Fatalf("%v, %s: %s, attempt %d", err, e.Status, e.Message, e.Root.Find("a").Attempt)
	}
}

// marks counts the lines of a file.
func marks(t *testing.T, file string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(data)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}
