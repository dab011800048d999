package engine

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step/barrier"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// meets is a Barrier step of the barrier "b".
func meets(id string) *plan.Node {
	docs, _ := yamldoc.Parse("", []byte("spec: {barrierRef: b}"))
	n := st(id)
	n.Type, n.Doc = barrier.Type().Name, docs[0]
	return n
}

// A step waits at its barrier until the states of the others say that it is
// open or broken.
func TestBarriers(t *testing.T) {
	t.Parallel()
	waiting := plan.State{Status: plan.ResourceWaiting, Wait: plan.WaitBarrier, Attempt: 1}
	is := func(s plan.Status) plan.State { return plan.State{Status: s, Attempt: 1} }
	tests := []struct {
		name   string
		states map[plan.NodeID]plan.State // of others than x, which waits
		want   plan.Status
		why    string
	}{
		{name: "pipeline §7.1 it waits for those that haven't come", states: map[plan.NodeID]plan.State{"p.par3.s2.y": is(plan.Running), "p.par3.s3.g.z": waiting}},
		{name: "pipeline §7.1 it is open when all have come", states: map[plan.NodeID]plan.State{"p.par3.s2.y": waiting, "p.par3.s3.g.z": waiting}, want: plan.Success},
		{name: "who has passed has come, whatever followed", states: map[plan.NodeID]plan.State{"p.par3.s2.y": is(plan.Success), "p.par3.s2": is(plan.Failed), "p.par3.s3.g.z": waiting}, want: plan.Success},
		{name: "pipeline §7.1 who ends without it isn't waited for", states: map[plan.NodeID]plan.State{"p.par3.s2": is(plan.Success), "p.par3.s3.g": is(plan.Skipped)}, want: plan.Success},
		{name: "nor who is skipped", states: map[plan.NodeID]plan.State{"p.par3.s2.y": is(plan.Skipped), "p.par3.s3": is(plan.Skipped)}, want: plan.Success},
		{
			name: "unless a failure before it made it be skipped", want: plan.Failed, why: "barrier b: step y of stage s2 won't come after a failure",
			states: map[plan.NodeID]plan.State{"p.par3.s2.y": {Status: plan.Skipped, FailedSoFar: true}, "p.par3.s3.g.z": waiting},
		},
		{
			name: "pipeline §7.1 who fails before it comes makes the others fail", want: plan.Failed, why: "barrier b: stepGroup g of stage s3 won't come after a failure",
			states: map[plan.NodeID]plan.State{"p.par3.s2.y": is(plan.Running), "p.par3.s3.g": is(plan.Errored)},
		},
		{
			name: "so does who gave up waiting", want: plan.Failed, why: "barrier b: step y of stage s2 won't come after a failure",
			states: map[plan.NodeID]plan.State{"p.par3.s2.y": is(plan.Expired), "p.par3.s3.g.z": waiting},
		},
		{name: "but not if that was ignored", states: map[plan.NodeID]plan.State{"p.par3.s2.y": is(plan.IgnoreFailed), "p.par3.s3.g.z": waiting}, want: plan.Success},
		{
			name: "and a stage that turned to its rollback", want: plan.Failed, why: "barrier b: stage s2 won't come after a failure",
			states: map[plan.NodeID]plan.State{"p.par3.s2": {Status: plan.Running, Rollback: true}, "p.par3.s3.g.z": waiting},
		},
		{name: "one that is tried again may still come", states: map[plan.NodeID]plan.State{"p.par3.s2.y": {Status: plan.Running, Wait: plan.WaitRetry, Attempt: 1}, "p.par3.s3.g.z": waiting}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(parallel(
				stage("s1", meets("x"), st("after")), stage("s2", st("before"), meets("y")), stage("s3", group("g", meets("z"))),
			)))
			for id, state := range tt.states {
				if s.plan.Node(id) == nil {
					t.Fatalf("the plan has no node %s", id)
				}
				s.states[id] = state
			}
			s.states["p.par3.s1"] = plan.State{Status: plan.Running}
			s.states["p.par3.s1.x"] = waiting
			d := s.advance("p.par3.s1", 0, At{Node: "p.par3.s1.x", Attempt: 1, Wait: plan.WaitBarrier})
			got := s.states["p.par3.s1.x"]
			if tt.want == "" {
				if d.At.Wait != plan.WaitBarrier || got.Status != plan.ResourceWaiting {
					t.Errorf("it is %s and awaits %+v; want it to wait", got.Status, d.At)
				}
				return
			}
			if got.Status != tt.want || got.Message != tt.why {
				t.Errorf("it ended %s: %q; want %s: %q", got.Status, got.Message, tt.want, tt.why)
			}
		})
	}
}

// A barrier with one step is open; one where nobody else comes in time isn't,
// and its strategies decide.
func TestBarrierAlone(t *testing.T) {
	t.Parallel()
	s := newSim(t, pipeline(stage("s", meets("x"))))
	s.script["x"] = []any{comes{}}
	s.run("p")
	if got := s.ends(); got != "p:Success s:Success x:Success" {
		t.Errorf("alone: %s", got)
	}
	y := with(meets("y"), timeout("1m"), level(on(act(plan.Ignore))))
	s = newSim(t, pipeline(parallel(stage("s", y), stage("t", st("long"), meets("z")))))
	s.script["y"], s.script["z"] = []any{comes{}}, []any{comes{}}
	s.run("p") // which lets y wait in vain before it begins with t
	if got := s.ends(); got != "p:IgnoreFailed s:IgnoreFailed y:IgnoreFailed t:Success long:Success z:Success" {
		t.Errorf("in time: %s", got)
	}
}

// The iterations of a loop share a barrier; until the loop has started, it
// isn't known who will come.
func TestBarriersInLoops(t *testing.T) {
	t.Parallel()
	s := newSim(t, pipeline(parallel(stage("s1", meets("x")), loop(stage("s2", meets("y"))))))
	const lp = "p.par2.s2"
	waiting := plan.State{Status: plan.ResourceWaiting, Wait: plan.WaitBarrier, Attempt: 1}
	two := &plan.Iterations{List: []plan.Iteration{{Postfix: "_0"}, {Postfix: "_1"}}}
	s.states["p.par2.s1.x"] = waiting
	open := func(more map[plan.NodeID]plan.State) bool {
		for id, state := range more {
			s.states[id] = state
		}
		in := s.input("p", 0, At{})
		seen := states{plan: in.Plan, meets: in.Meets, stored: in.State}
		return seen.barrier(s.plan.Node("p.par2.s1.x")) != nil
	}
	if open(nil) {
		t.Error("it is open before the loop has started")
	}
	if open(map[plan.NodeID]plan.State{lp: {Status: plan.Running, Iterations: two}, lp + "_0.y": waiting}) {
		t.Error("it is open before the second iteration has come")
	}
	if !open(map[plan.NodeID]plan.State{lp + "_1.y": waiting}) {
		t.Error("it isn't open when all have come")
	}
	if !open(map[plan.NodeID]plan.State{lp: {Status: plan.Skipped}, lp + "_0.y": {}, lp + "_1.y": {}}) {
		t.Error("it isn't open although the loop was skipped")
	}
}

// The end of a step, of what it is in, and a turn to rollback may open or
// break a barrier; nothing else does.
func TestWhatConcernsABarrier(t *testing.T) {
	t.Parallel()
	s := newSim(t, pipeline(stage("s", st("a"), group("g", meets("x")))))
	steps := barriers(s.plan, []string{barrier.Type().Name}, func(plan.NodeID) plan.State { return plan.State{} })["b"]
	tests := []struct {
		node  plan.NodeID
		state plan.State
		want  bool
	}{
		{"p.s.g.x", plan.State{Status: plan.Success}, true},
		{"p.s.g.x", plan.State{Status: plan.ResourceWaiting}, false},
		{"p.s.g", plan.State{Status: plan.Skipped}, true},
		{"p.s", plan.State{Status: plan.Running, Cursor: 1}, false},
		{"p.s", plan.State{Status: plan.Running, Rollback: true}, true},
		{"p.s", plan.State{Status: plan.Running, Rollback: true, Cursor: 1}, false},
		{"p.s.a", plan.State{Status: plan.Failed}, false},
	}
	for _, tt := range tests {
		if got := concerns(s.plan, steps, []Write{{Node: tt.node, State: tt.state}}); got != tt.want {
			t.Errorf("%s %+v: %t, want %t", tt.node, tt.state, got, tt.want)
		}
	}
}
