package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step/queue"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestQueueSteps(t *testing.T) {
	t.Parallel()
	again := plan.Action{Type: plan.Retry, RetryCount: 1, Then: &plan.Action{Type: plan.MarkAsFailure}}
	tests := []struct {
		name    string
		edits   []func(*plan.Node)
		stage   string // the stage's timeout
		turn    bool
		aborted bool
		ends    string
		left    string // queues
		took    time.Duration
	}{
		{name: "pipeline §7.2 it passes when its turn has come", turn: true, ends: "p:Success s:Success q:Success b:Success"},
		{
			name: "pipeline §7.2 the timeout bounds the wait and fails with the type Timeout", edits: []func(*plan.Node){timeout("30m"), level(on(act(plan.Ignore), fault.Timeout))},
			ends: "p:IgnoreFailed s:IgnoreFailed q:IgnoreFailed b:Success", left: "k", took: 30 * time.Minute,
		},
		{
			name: "each attempt stands in line anew", edits: []func(*plan.Node){timeout("30m"), level(on(again))},
			ends: "p:Expired s:Expired q:Expired b:Skipped", left: "k k", took: time.Hour,
		},
		{name: "the stage's time ends the wait", edits: []func(*plan.Node){timeout("30m")}, stage: "5m", ends: "p:Expired s:Expired q:Expired", left: "k", took: 5 * time.Minute},
		{name: "an abort ends the wait", aborted: true, ends: "p:Aborted s:Aborted q:Aborted", left: "k"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(with(stage("s", st("q", tt.edits...), st("b")), timeout(tt.stage))))
			s.script["q"] = []any{stands("k")}
			s.turn, s.twice = tt.turn, true
			begin := s.now
			if tt.aborted {
				stage := s.plan.Root.Children[0]
				s.advance(s.plan.Root.ID, 0, At{})
				s.await(s.advance(stage.ID, 0, At{}))
				s.aborted = true
			}
			s.run(s.plan.Root.ID)
			if got := s.ends(); got != tt.ends {
				t.Errorf("ends %s, want %s", got, tt.ends)
			}
			if got := strings.Join(s.left, " "); got != tt.left {
				t.Errorf("left the queues %q, want %q", got, tt.left)
			}
			if took := s.now.Sub(begin); took != tt.took {
				t.Errorf("it took %s, want %s", took, tt.took)
			}
		})
	}
}

// A group that begins again keeps the keys that its Queue steps hold.
func TestARetriedGroupKeepsItsKeys(t *testing.T) {
	t.Parallel()
	again := plan.Action{Type: plan.RetryStepGroup, Depth: 1, RetryCount: 1}
	s := newSim(t, pipeline(stage("s", group("g", st("a"), st("q"), st("b", level(on(again)))))))
	s.script["q"], s.script["b"], s.turn = []any{stands("k")}, []any{fails{fault.Unknown}, true}, true
	for at := (At{}); s.states["p.s.g"].Try == 0; {
		d := s.advance("p.s.g", 0, at)
		if at = d.At; d.Do == DoAwait {
			s.await(d)
		}
	}
	if got := s.states["p.s.g.q"]; got.Turn != "k" {
		t.Errorf("the step holds %q, want k", got.Turn)
	}
}

// A Queue step holds for its stage or its pipeline, wherever it stands.
func TestQueueScopes(t *testing.T) {
	t.Parallel()
	holding := func(id, scope string) *plan.Node {
		docs, _ := yamldoc.Parse("", []byte("spec: {key: k, scope: "+scope+"}"))
		n := st(id)
		n.Type, n.Doc = queue.Type().Name, docs[0]
		return n
	}
	s := newSim(t, pipeline(
		rolling(stage("a", st("x"), parallel(group("g", holding("q1", "Stage")), holding("q2", "Pipeline"))), holding("q3", "Stage")),
		stage("b", holding("q4", "Stage")),
	))
	got := map[string][]string{}
	for _, n := range append(s.plan.Root.Children, s.plan.Root) {
		for _, q := range queues(s.plan, n, []string{queue.Type().Name}, func(id plan.NodeID) plan.State { return s.states[id] }) {
			got[n.Identifier] = append(got[n.Identifier], q.Identifier)
		}
	}
	want := map[string][]string{"a": {"q1", "q3"}, "b": {"q4"}, "p": {"q2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
}

// A step that listens leaves its list when its time is up, each time, and when
// somebody aborts.
func TestListenersLeaveTheirList(t *testing.T) {
	t.Parallel()
	for _, aborted := range []bool{false, true} {
		s := newSim(t, pipeline(stage("s", st("l", timeout("30m"), level(on(retryOnce()))))))
		s.script["l"], s.twice = []any{listens("hook")}, true
		begin, ends, left, took := s.now, "p:Expired s:Expired l:Expired", "hook hook", time.Hour
		if aborted {
			stage := s.plan.Root.Children[0]
			s.advance(s.plan.Root.ID, 0, At{})
			s.await(s.advance(stage.ID, 0, At{}))
			s.aborted = true
			ends, left, took = "p:Aborted s:Aborted l:Aborted", "hook", 0
		}
		s.run(s.plan.Root.ID)
		if got := strings.Join(s.left, " "); s.ends() != ends || got != left || s.now.Sub(begin) != took {
			t.Errorf("aborted %t: %s, left %q after %s; want %s, %q and %s", aborted, s.ends(), got, s.now.Sub(begin), ends, left, took)
		}
	}
}
