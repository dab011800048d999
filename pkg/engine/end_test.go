package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ends is a Runner that notes how waits are ended: each token once.
type ends struct {
	statemachine.Runner
	mu    sync.Mutex
	heard []string
	gone  map[string]bool
	down  error // it can't be reached
}

func (r *ends) end(token, how string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.down != nil:
		return r.down
	case r.gone[token]:
		return statemachine.ErrGone
	}
	r.gone[token] = true
	r.heard = append(r.heard, token+": "+how)
	return nil
}

func (r *ends) Succeed(_ context.Context, token string, output json.RawMessage) error {
	var a Answer
	if err := json.Unmarshal(output, &a); err != nil {
		return err
	}
	if a.Do == "" {
		return r.end(token, string(output))
	}
	return r.end(token, fmt.Sprintf("%s %s %d", a.Do, a.At.Node, a.TimeoutSeconds))
}

func (r *ends) Fail(_ context.Context, token, name, _ string) error { return r.end(token, name) }

// does is the spec of a step that does one thing.
type does step.Action

func (d does) Start(step.In) (step.Action, error) { return step.Action(d), nil }

// quiet is a Waker that wakes nobody.
type quiet struct{}

func (quiet) Wake(context.Context, ref.Scope)                 {}
func (quiet) Look(context.Context, ref.Scope)                 {}
func (quiet) News(context.Context, string, string)            {}
func (quiet) Cancel(context.Context, string, string, task.ID) {}

// faulty is a store whose commits fail, or make the caller panic.
type faulty struct {
	store.Executions
	commit func() error
}

func (f *faulty) CommitExecution(ctx context.Context, id string, c store.Commit) error {
	if f.commit != nil {
		if err := f.commit(); err != nil {
			return err
		}
	}
	return f.Executions.CommitExecution(ctx, id, c)
}

// driven is an execution, x1, of a pipeline with the stage s, whose machine run
// the test plays.
type driven struct {
	*Handler
	t      *testing.T
	runner *ends
	kept   store.Store
	broken *faulty // its executions
	fence  map[task.ID]int64
}

// drive begins the stage of a pipeline with steps of the types task, ask and
// nothing.
func drive(t *testing.T, steps ...*plan.Node) *driven {
	t.Helper()
	root := pipeline(stage("s", steps...))
	doc, err := (&plan.Plan{Root: root}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	d := &driven{t: t, runner: &ends{gone: map[string]bool{}}, kept: open(t).Store, fence: map[task.ID]int64{}}
	d.broken = &faulty{Executions: d.kept.Executions}
	d.kept.Executions = d.broken
	typ := func(name string, a step.Action) step.Type {
		return step.Type{Name: name, New: func(*document.Decoder, yamldoc.Value) step.Spec { return does(a) }}
	}
	now := time.UnixMilli(1_000_000_000).UTC()
	d.Handler = NewHandler(Config{
		Store: d.kept, Runner: d.runner, Waker: quiet{}, Now: func() time.Time { return now },
		Windows: Windows{Heartbeat: 30 * time.Second, NoOne: 5 * time.Minute, Unclaimed: 10 * time.Minute},
		Steps: []step.Type{
			typ("task", step.Action{Task: &step.Task{Kind: task.KindShell}}),
			typ("ask", step.Action{Approval: &plan.Approval{Minimum: 1}}),
			typ("nothing", step.Action{Done: &plan.Outcome{Status: plan.Success}}),
		},
	})
	scope := ref.Scope{Account: "acme"}
	e := store.Execution{ID: "x1", Scope: scope, Pipeline: "p", PlanHash: plan.Hash(doc), Status: plan.Running, StartedAt: now}
	if _, err := d.kept.CreateExecution(t.Context(), e, doc, audit.Record{Scope: scope}); err != nil {
		t.Fatal(err)
	}
	d.advance("p", At{})
	return d
}

func of(typ string) func(*plan.Node) { return func(n *plan.Node) { n.Type = typ } }

// advance asks for a node's machine run what comes next.
func (d *driven) advance(node plan.NodeID, after At) Answer {
	d.t.Helper()
	out := d.call(Call{Op: "advance", Node: node, Run: statemachine.RunName("x1", string(node)), After: after})
	var a Answer
	if err := json.Unmarshal(out, &a); err != nil {
		d.t.Fatal(err)
	}
	return a
}

func (d *driven) call(c Call) json.RawMessage {
	d.t.Helper()
	c.Execution = "x1"
	in, err := json.Marshal(c)
	if err != nil {
		d.t.Fatal(err)
	}
	out, err := d.Handle(d.t.Context(), in)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// await begins a wait of the stage's run.
func (d *driven) await(at At, token string) {
	d.t.Helper()
	d.call(Call{Op: "await", Node: "p.s", Run: statemachine.RunName("x1", "p.s"), At: at, Token: token})
}

// tried is the wait for the first attempt of a step.
func tried(id plan.NodeID) At { return At{Node: id, Attempt: 1, Wait: plan.WaitWork} }

// result has a delegate do a step's task.
func (d *driven) result(id plan.NodeID) store.Task {
	d.t.Helper()
	work := TaskID("x1", id, 1, 0)
	claimed, err := d.kept.ClaimTasks(d.t.Context(), "d1", 1, []task.ID{work}, d.Now().Add(time.Minute))
	if err != nil || len(claimed) != 1 {
		d.t.Fatalf("%d tasks claimed, %v", len(claimed), err)
	}
	done, err := d.kept.CompleteTask(d.t.Context(), work, "d1", claimed[0].Fence, task.Result{Status: task.Succeeded})
	if err != nil {
		d.t.Fatal(err)
	}
	return done
}

func (d *driven) state(id plan.NodeID) plan.State {
	d.t.Helper()
	nodes, err := d.kept.Nodes(d.t.Context(), "x1", id)
	if err != nil || len(nodes) != 1 {
		d.t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	return nodes[0].State
}

func (d *driven) heard(want ...string) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.runner.heard, cmp.Transformer("sorted", func(l []string) []string { return slices.Sorted(slices.Values(l)) })); diff != "" {
		d.t.Errorf("ends of waits (-want +got):\n%s", diff)
	}
}

func (d *driven) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// A result brings the next wait; the last one the end. The same results again
// only have the run ask, if it still waits.
func TestWhoEndsAWaitSaysWhatComesNext(t *testing.T) {
	t.Parallel()
	d := drive(t, st("a", of("task")), st("b", of("task")), st("c", of("nothing")))
	if a := d.advance("p.s", At{}); a.At != tried("p.s.a") {
		t.Fatalf("the first wait is %+v", a)
	}
	d.await(tried("p.s.a"), "t1")
	a := d.result("p.s.a")
	d.must(d.EndTask(t.Context(), a))
	d.must(d.EndTask(t.Context(), a))
	d.await(tried("p.s.b"), "t2")
	b := d.result("p.s.b")
	d.must(d.EndTask(t.Context(), b))
	d.must(d.EndTask(t.Context(), a))
	d.await(tried("p.s.c"), "t3") // it has nothing to wait for: Await ends it
	d.heard("t1: await p.s.b 600", "t2: await p.s.c 600", "t3: "+Done)
	if s := d.state("p.s"); s.Status != plan.Success {
		t.Errorf("the stage is %s: %s", s.Status, s.Message)
	}
}

// A run that began when runs asked after each wait is answered as then, and
// decided for when it asks.
func TestRunsOfEarlierReleasesAreAnsweredAsThen(t *testing.T) {
	t.Parallel()
	d := drive(t, st("a", of("task")), st("b", of("nothing")))
	d.advance("p.s", At{})
	d.call(Call{Op: "await", At: tried("p.s.a"), Token: "t1"})
	d.must(d.EndTask(t.Context(), d.result("p.s.a")))
	if s := d.state("p.s.a"); s.Status != plan.Running {
		t.Errorf("the step is %s before its run has asked", s.Status)
	}
	if a := d.advance("p.s", tried("p.s.a")); a.At != tried("p.s.b") {
		t.Errorf("the next wait is %+v", a)
	}
	d.call(Call{Op: "await", At: tried("p.s.b"), Token: "t2"})
	d.heard(`t1: {"answered":true}`, `t2: {"answered":true}`)
}

// Whoever decides dies between writing the decision and answering the wait:
// the next one that ends it has the run ask, and so does the wait's own time.
// The run hears what was decided.
func TestADecisionThatIsNotToldIsHeardOfWhenTheRunAsks(t *testing.T) {
	t.Parallel()
	d := drive(t, st("a", of("task")), st("b", of("task")))
	d.advance("p.s", At{})
	d.await(tried("p.s.a"), "t1")
	a := d.result("p.s.a")
	d.runner.down = errors.New("no answer")
	if err := d.EndTask(t.Context(), a); err == nil {
		t.Fatal("the wait's end is told as done")
	}
	d.runner.down = nil
	before := d.state("p.s.b")
	d.must(d.EndTask(t.Context(), a)) // the delegate reports again
	for range 2 {
		if got := d.advance("p.s", tried("p.s.a")); got.At != tried("p.s.b") {
			t.Errorf("the run hears of %+v", got)
		}
	}
	d.heard("t1: " + Interrupted)
	if diff := cmp.Diff(before, d.state("p.s.b")); diff != "" {
		t.Errorf("the decision has changed (-before +after):\n%s", diff)
	}
}

// Many end a wait at once: it is decided once, and answered once.
func TestManyEndOneWait(t *testing.T) {
	t.Parallel()
	d := drive(t, st("a", of("task")), st("b", of("task")))
	d.advance("p.s", At{})
	d.await(tried("p.s.a"), "t1")
	a := d.result("p.s.a")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if i%4 == 0 {
				d.advance("p.s", tried("p.s.a")) // the wait's time was up
				return
			}
			if err := d.EndTask(t.Context(), a); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(d.runner.heard) != 1 || d.runner.heard[0] != "t1: await p.s.b 600" && d.runner.heard[0] != "t1: "+Interrupted {
		t.Errorf("the wait was ended with %q", d.runner.heard)
	}
	if s := d.state("p.s.b"); s.Attempt != 1 || s.Status != plan.Running {
		t.Errorf("the next step is %s at attempt %d", s.Status, s.Attempt)
	}
}

// Who can't decide has the run ask, as if nobody decided at the end of waits.
func TestWhoCannotDecideHasTheRunAsk(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func() error{
		"the store can't be reached": func() error { return errors.New("no answer") },
		"it loses every race":        func() error { return store.Stale("a node", 1) },
		"it panics":                  func() error { panic("a decision") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := drive(t, st("a", of("task")), st("b", of("task")))
			d.advance("p.s", At{})
			d.await(tried("p.s.a"), "t1")
			a := d.result("p.s.a")
			d.broken.commit = broken
			d.must(d.EndTask(t.Context(), a))
			d.broken.commit = nil
			d.heard("t1: " + Interrupted)
			if got := d.advance("p.s", tried("p.s.a")); got.At != tried("p.s.b") {
				t.Errorf("the run hears of %+v", got)
			}
		})
	}
}

// An answer of a person that was decided on and got lost isn't lost for good:
// who answers again, or aborts, ends the wait.
func TestAPersonsAnswerThatIsNotTold(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(d *driven, n store.Node) error{
		"another comes too late": func(d *driven, n store.Node) error { return d.EndAgain(d.t.Context(), n) },
		"it is aborted": func(d *driven, _ store.Node) error {
			_, err := d.Abort(d.t.Context(), "x1", audit.Record{Scope: ref.Scope{Account: "acme"}})
			return err
		},
		"it is resumed": func(d *driven, _ store.Node) error {
			_, err := d.Resume(d.t.Context(), "x1", audit.Record{Scope: ref.Scope{Account: "acme"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := drive(t, st("a", of("ask")), st("b", of("task")))
			d.advance("p.s", At{})
			d.await(tried("p.s.a"), "t1")
			nodes, err := d.kept.Nodes(t.Context(), "x1", "p.s.a")
			d.must(err)
			n := nodes[0]
			n.State.Outcome = &plan.Outcome{Status: plan.Success}
			d.must(d.kept.CommitExecution(t.Context(), "x1", store.Commit{Nodes: []store.Node{n}}))
			d.runner.down = errors.New("no answer")
			if err := d.EndNode(t.Context(), n); err == nil {
				t.Fatal("the wait's end is told as done")
			}
			d.runner.down = nil
			nodes, err = d.kept.Nodes(t.Context(), "x1", "p.s.a")
			d.must(err)
			if s := nodes[0].State; s.Status != plan.Success || s.Token != "" || s.Left == "" {
				t.Fatalf("the step is %s, its token %q, what is left %q", s.Status, s.Token, s.Left)
			}
			d.must(again(d, nodes[0]))
			d.heard("t1: " + Interrupted)
			d.await(tried("p.s.b"), "t2") // once aborted it isn't begun
			if err := d.EndAgain(t.Context(), nodes[0]); err != nil {
				t.Error(err)
			}
		})
	}
}

// A step that is about to begin in an aborted execution doesn't.
func TestNothingBeginsOnceAborted(t *testing.T) {
	t.Parallel()
	d := drive(t, st("a", of("task")), st("b", of("task")))
	d.advance("p.s", At{})
	_, err := d.kept.SetInterrupt(t.Context(), "x1", store.InterruptAbort, audit.Record{Scope: ref.Scope{Account: "acme"}})
	d.must(err)
	d.await(tried("p.s.a"), "t1")
	d.heard("t1: " + Done)
	if s := d.state("p.s.a"); s.Status != plan.Aborted {
		t.Errorf("the step is %s", s.Status)
	}
	if _, err := d.kept.Task(t.Context(), TaskID("x1", "p.s.a", 1, 0)); !fault.Is(err, fault.NotFound) {
		t.Errorf("its task: %v", err)
	}
}

// Tokens of both forms are told apart, whatever a host's tokens look like.
func TestTokensAreToldApart(t *testing.T) {
	t.Parallel()
	run := statemachine.RunName("x1", "p.s")
	for _, tt := range []struct {
		call    Call
		part    int
		decides bool
	}{
		{Call{Token: "AQCEAAAAKgAAAAMAAAAA+/=="}, 0, false},
		{Call{Token: run + "|1|2|ABCDEF"}, 0, false},
		{Call{Run: run, Token: "AQCEAAAAKgAAAAMAAAAA+/=="}, 0, true},
		{Call{Run: run + "-10002", Token: run + "|1|2|ABCDEF"}, 10002, true},
	} {
		tt.call.Execution, tt.call.Node = "x1", "p.s"
		text := kept(tt.call)
		token, part, decides := cutToken(text)
		if token != tt.call.Token || part != tt.part || decides != tt.decides {
			t.Errorf("%q is token %q of part %d, decides %t", text, token, part, decides)
		}
		if decides && !strings.HasSuffix(text, tt.call.Token) {
			t.Errorf("%q isn't kept in %q", tt.call.Token, text)
		}
	}
}
