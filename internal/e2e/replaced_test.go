package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// Killed and started again, a delegate needs no lease to end: what was claimed
// and not begun is done in its first attempt, and what had begun is tried again
// at once, by its strategy. Leases here are longer than any test.
func TestAKilledDelegateIsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "marks")
	p := spawn(t, serveEnv+"="+filepath.Join(dir, "data"), addrEnv+"=127.0.0.1:0", leaseEnv+"=1h")
	s := client(p)
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	const kills = 3
	current, killed := make(chan *process, 1), make(chan struct{}, kills)
	between := &lossy{left: kills, claimed: func() { (<-current).kill(); killed <- struct{}{} }}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = between.lose
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	token := delegateToken(t, s)
	join := func() *process {
		return spawn(t, delegateEnv+"=outside", addrEnv+"="+front.URL, tokenEnv+"="+token, journalEnv+"="+filepath.Join(dir, "journal"))
	}
	s.Apply(t, fmt.Sprintf(`pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [%s]}},
  failureStrategies: [{onFailure: {errors: [DelegateRestart], action: {type: Retry, spec: {retryCount: 1, retryIntervals: [1s], onRetryFailure: {action: {type: Abort}}}}}}]}}]}`,
		shell("a", fmt.Sprintf("echo begun >> %[1]s; [ $(wc -l < %[1]s) -gt 1 ] || sleep 600", file))))
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	for range kills { // between the claim and its answer
		current <- join()
		select {
		case <-killed:
		case <-ctx.Done():
			t.Fatal("the delegate has claimed nothing")
		}
	}
	d := join()
	e, err := s.Until(ctx, id, func(e2e.Execution) bool { return marks(t, file)["begun"] == 1 })
	if err != nil || e.Root.Find("a").Attempt != 1 {
		t.Fatalf("%v; the step began in attempt %d", err, e.Root.Find("a").Attempt)
	}
	d.kill() // in the middle of the step
	join()
	e, err = s.Until(ctx, id, e2e.Ended)
	if err != nil || e.Status != "Success" || e.Root.Find("a").Attempt != 2 || marks(t, file)["begun"] != 2 {
		t.Errorf("%v, %s: %s, attempt %d, marks %v", err, e.Status, e.Message, e.Root.Find("a").Attempt, marks(t, file))
	}
}

// The same for the delegate inside a server that is killed.
func TestAKilledServersOwnDelegateIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, addr := filepath.Join(dir, "marks"), freeAddr(t)
	serve := func() *process {
		return spawn(t, serveEnv+"="+filepath.Join(dir, "data"), addrEnv+"="+addr, delegateEnv+"=embedded", leaseEnv+"=1h")
	}
	p := serve()
	s := client(p)
	s.Apply(t, fmt.Sprintf(`pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [%s]}},
  failureStrategies: [{onFailure: {errors: [DelegateRestart], action: {type: Retry, spec: {retryCount: 1, retryIntervals: [1s], onRetryFailure: {action: {type: Abort}}}}}}]}}]}`,
		shell("a", fmt.Sprintf("echo begun >> %[1]s; [ $(wc -l < %[1]s) -gt 1 ] || sleep 600", file))))
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	if _, err := s.Until(ctx, id, func(e2e.Execution) bool { return marks(t, file)["begun"] == 1 }); err != nil {
		t.Fatal(err)
	}
	p.kill()
	serve()
	e, err := s.Until(ctx, id, e2e.Ended)
	if err != nil || e.Status != "Success" || e.Root.Find("a").Attempt != 2 {
		t.Errorf("%v, %s: %s, attempt %d", err, e.Status, e.Message, e.Root.Find("a").Attempt)
	}
}

// On both hosts: a process that is replaced loses what it had begun, and the
// next one gets what it hadn't, in the same attempt.
func TestAReplacedDelegate(t *testing.T) {
	t.Parallel()
	onEveryHost(t, aReplacedDelegate)
}

func aReplacedDelegate(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	mine := &speaker{Server: *s}
	mine.Token = delegateToken(t, s)
	step := func(id string) string {
		return fmt.Sprintf("{step: {identifier: %[1]s, name: %[1]s, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true, delegateSelectors: [mine], source: {type: Inline, spec: {script: 'true'}}}}}", id)
	}
	s.Apply(t, fmt.Sprintf(`pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [{parallel: [%s, %s]}]}},
  failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: Abort}}}, {onFailure: {errors: [DelegateRestart], action: {type: Retry, spec: {retryCount: 1, retryIntervals: [1s], onRetryFailure: {action: {type: Abort}}}}}}]}}]}`,
		step("begun"), step("claimed")))
	for _, id := range []string{"before", "next"} {
		mine.post(t, "register", protocol.Register{ID: id, Name: "mine", Kinds: []task.Kind{task.KindShell}, Capacity: 5}, nil)
	}
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	gone := protocol.Replaced{ID: "before"}
	var held []protocol.Held
	for number := int64(1); len(held) < 2; number++ {
		for _, a := range mine.claim(t, "before", protocol.Claim{Max: 2, Number: number}) {
			held = append(held, protocol.Held{ID: a.ID, Fence: a.Fence})
			if strings.HasSuffix(a.Node, "begun") {
				gone.Begun = held[len(held)-1:]
			}
		}
		mine.post(t, "before/heartbeat", protocol.Heartbeat{Running: held}, nil)
		mine.pause(ctx, t)
	}
	// One is there soon, the other when its step is tried again.
	for number := int64(1); ; number++ {
		for _, a := range mine.claim(t, "next", protocol.Claim{Max: 2, Number: number, Replaces: []protocol.Replaced{gone}}) {
			mine.post(t, "next/tasks/"+url.PathEscape(string(a.ID))+"/result", protocol.Report{Fence: a.Fence, Result: task.Result{Status: task.Succeeded}}, nil)
		}
		var e e2e.Execution
		if err := s.Call(ctx, http.MethodGet, "/v1/executions/"+id, nil, &e); err != nil {
			t.Fatal(err)
		}
		if !e2e.Ended(e) {
			mine.pause(ctx, t)
			continue
		}
		if b, c := e.Root.Find("begun").Attempt, e.Root.Find("claimed").Attempt; e.Status != "Success" || b != 2 || c != 1 {
			t.Errorf("%s: %s; the steps have the attempts %d and %d; want 2 of what was begun and 1 of the other", e.Status, e.Message, b, c)
		}
		return
	}
}

// speaker speaks the delegates' protocol.
type speaker struct{ e2e.Server }

func (s *speaker) post(t *testing.T, path string, in, out any) {
	t.Helper()
	if err := s.Call(t.Context(), http.MethodPost, "/v1/delegate/"+path, in, out); err != nil {
		t.Fatal(err)
	}
}

func (s *speaker) claim(t *testing.T, id string, in protocol.Claim) []task.Assignment {
	t.Helper()
	var out struct{ Tasks []task.Assignment }
	s.post(t, id+"/claim", in, &out)
	return out.Tasks
}

func (s *speaker) pause(ctx context.Context, t *testing.T) {
	t.Helper()
	select {
	case <-time.After(200 * time.Millisecond):
	case <-ctx.Done():
		t.Fatal("nothing has happened")
	}
}
