package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step/barrier"
)

// sim runs a plan as the node machine would, on a clock of its own: every
// wait ends by the scripted outcome of its attempt or, without one, by time.
type sim struct {
	t         *testing.T
	plan      *plan.Plan
	states    map[plan.NodeID]plan.State
	script    map[string][]any // step identifier, or id -> what each attempt does
	decide    map[string]plan.ActionType
	now       time.Time
	aborted   bool
	paused    bool            // somebody resumes it when nothing else is left to do
	pauses    []string        // what waited for that
	gated     bool            // the pipeline waits for a place
	runs      map[string]bool // machine runs that began, by node and part
	begun     []string        // identifiers of steps, in the order in which attempts began
	cancels   []string
	given     []string       // identifiers of those who get their inputs, after a minute
	turn      bool           // what waits for its turn gets it
	turned    []int          // how many steps had begun each time that something got its turn
	queueless bool           // where a stage deploys to can't be found out
	left      []string       // queues that were left without having been passed
	olders    []string       // lists on which older approvals were rejected
	stopped   []string       // executions that steps no longer wait for
	waves     []int          // iterations that were started together
	parts     int            // machine runs of one node, at most
	twice     bool           // deliver every advance twice
	anew      bool           // decide again once the execution is aborted, as Handler does
	loops     map[string]any // identifier -> how many iterations, or an error
	choose    func() (*plan.Deployment, error)
	frozen    func(n *plan.Node, at time.Time) Frozen
	enforced  func(n *plan.Node, attempt int, o plan.Outcome) plan.Outcome
}

// deployer is the type of steps that deploy something.
const deployer = "deploys"

// hang is an attempt that gives no answer; its time-out ends it.
type hang struct{}

// took is a success after a time.
type took time.Duration

// looks finds an answer after so many looks in vain, a minute apart.
type looks int

// stands is an attempt that stands in the queue of a key.
type stands string

// listens is an attempt that stands on the list of a webhook.
type listens string

// comes is an attempt that comes to its barrier.
type comes struct{}

// asks is an approval that is asked for and that nobody answers.
type asks plan.Approval

// fails is a failure of the given types.
type fails []fault.FailureType

func newSim(t *testing.T, root *plan.Node) *sim {
	t.Helper()
	p := &plan.Plan{Root: root}
	doc, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = plan.Decode(doc); err != nil {
		t.Fatal(err)
	}
	return &sim{
		t: t, plan: p, states: map[plan.NodeID]plan.State{}, runs: map[string]bool{}, script: map[string][]any{},
		decide: map[string]plan.ActionType{}, now: time.Unix(1_000_000, 0).UTC(),
	}
}

// run drives a node's machine run to its end.
func (s *sim) run(id plan.NodeID) { s.runPart(id, 0) }

func (s *sim) runPart(id plan.NodeID, part int) {
	var after At
	s.parts = max(s.parts, part+1)
	if name := fmt.Sprint(id, part); s.runs[name] {
		s.t.Fatalf("part %d of %s runs twice", part, id)
	} else {
		s.runs[name] = true
	}
	for range 10_000 {
		d := s.advance(id, part, after)
		switch d.Do {
		case DoDone:
			return
		case DoChildren:
			if s.plan.Node(id).Kind == plan.KindLoop {
				s.waves = append(s.waves, len(d.Children))
			}
			for _, c := range d.Children {
				s.runPart(c.Node, c.Part)
			}
		case DoAwait:
			s.await(d)
		}
		after = d.At
	}
	s.t.Fatalf("%s doesn't end", id)
}

func (s *sim) advance(id plan.NodeID, part int, after At) Decision {
	aborted := s.aborted
	d := Next(s.input(id, part, after))
	if d.Do == DoAwait && (aborted || driver(s.plan.Node(d.At.Node)) != id) {
		s.t.Fatalf("%s waits for %v; aborted: %v; in the run of %s", id, d.At, aborted, driver(s.plan.Node(d.At.Node)))
	}
	if s.anew && d.Abort && !s.aborted {
		s.aborted = true
		for _, w := range d.reason(s.plan, func(id plan.NodeID) plan.State { return s.states[id] }) {
			s.states[w.Node] = w.State
		}
		d = Next(s.input(id, part, after))
	}
	for _, w := range d.Writes {
		s.states[w.Node] = w.State
	}
	for _, c := range d.Cancel {
		s.cancels = append(s.cancels, s.plan.Node(c.Node).Identifier)
	}
	for _, l := range d.Leave {
		s.left = append(s.left, l.Key)
	}
	for _, l := range d.Approved {
		s.olders = append(s.olders, l.Key)
	}
	s.stopped = append(s.stopped, d.Stop...)
	s.aborted = s.aborted || d.Abort
	if s.twice {
		again := Next(s.input(id, part, after))
		if again.Do != d.Do || again.At != d.At || len(again.Writes) > 0 {
			s.t.Fatalf("advance of %s isn't idempotent: first %v at %v, then %v at %v with %d writes",
				id, d.Do, d.At, again.Do, again.At, len(again.Writes))
		}
	}
	return d
}

func (s *sim) input(id plan.NodeID, part int, after At) Input {
	return Input{
		Plan: s.plan, Node: id, Part: part, Now: s.now, Gated: s.gated, Aborted: s.aborted, Paused: s.paused, After: after,
		Window:  Windows{Heartbeat: 30 * time.Second, NoOne: 5 * time.Minute, Unclaimed: 10 * time.Minute},
		State:   func(id plan.NodeID) plan.State { return s.states[id] },
		Meets:   []string{barrier.Type().Name},
		Deploys: func(n *plan.Node) bool { return n.Type == deployer },
		Enforced: func(n *plan.Node, attempt int, o plan.Outcome, _ func(plan.NodeID) plan.State) plan.Outcome {
			return s.enforced(n, attempt, o)
		},
		Task: func(n *plan.Node, attempt, look int) TaskFacts {
			if st := s.states[n.ID]; attempt > st.Attempt || look > st.Look {
				s.t.Errorf("a decision asks for the task of %s's attempt %d, look %d, which it begins itself", n.ID, attempt, look)
			}
			return TaskFacts{}
		},
		Condition: func(_ *plan.Node, body string, _ func(plan.NodeID) plan.State) (bool, error) {
			early := s.now.Before(time.Unix(1_000_000, 0).Add(time.Minute))
			switch body {
			case "true":
				return true, nil
			case "false":
				return false, nil
			case "a minute later: true", "a minute later: false": // it can't be evaluated before
				if !early {
					return strings.HasSuffix(body, "true"), nil
				}
			case "for a minute": // it can't be evaluated after that
				if early {
					return true, nil
				}
			}
			return false, fault.New(fault.Invalid, "condition %q", body)
		},
		Loop: func(n *plan.Node, _ func(plan.NodeID) plan.State) (plan.Iterations, error) {
			switch v := s.loops[n.Identifier].(type) {
			case error:
				return plan.Iterations{}, v
			case plan.Iterations:
				return v, nil
			case int:
				var its plan.Iterations
				for i := range v {
					its.List = append(its.List, plan.Iteration{Postfix: fmt.Sprintf("_%d", i)})
				}
				return its, nil
			}
			return plan.Iterations{}, nil
		},
		Choose: func(*plan.Node, func(plan.NodeID) plan.State) (*plan.Deployment, error) { return s.choose() },
		Frozen: func(n *plan.Node, st plan.State, at time.Time) (Frozen, error) {
			if n.Kind == plan.KindLoop && st.Iterations == nil {
				s.t.Errorf("%s is judged before its iterations are known", n.ID)
			}
			if s.frozen == nil {
				return Frozen{}, nil
			}
			return s.frozen(n, at), nil
		},
		Patience: func(n *plan.Node, _ func(plan.NodeID) plan.State) (time.Duration, error) {
			return time.ParseDuration(n.Manual)
		},
		Timeout: func(n *plan.Node, _ func(plan.NodeID) plan.State) (time.Duration, error) {
			if n.Timeout == "" {
				return 0, nil
			}
			return time.ParseDuration(n.Timeout)
		},
	}
}

// await lets a wait end: by the attempt's script, a decision, or time.
func (s *sim) await(d Decision) {
	n := s.plan.Node(d.At.Node)
	st := s.states[n.ID]
	switch d.At.Wait {
	case plan.WaitIntervention:
		if a, ok := s.decide[n.Identifier]; ok {
			delete(s.decide, n.Identifier)
			o := *st.Outcome
			o.Decision = a
			st.Outcome = &o
			s.states[n.ID] = st
			return
		}
	case plan.WaitWork:
		if s.work(n, st) {
			return
		}
	case plan.WaitPause:
		s.paused = false
		s.pauses = append(s.pauses, n.Identifier)
		return
	case plan.WaitTurn:
		if s.queueless && n.Kind == plan.KindStage {
			o := failed(errors.New("it deploys to <+nowhere>"))
			st.Outcome = &o
			s.states[n.ID] = st
			return
		}
		if s.turn {
			st.Wait, st.Status = plan.WaitWork, plan.Running
			if n.Kind == plan.KindStage {
				st.Turn, s.turned = "queue", append(s.turned, len(s.begun))
			}
			if n.Kind == plan.KindStep {
				st.Outcome = &plan.Outcome{Status: plan.Success}
			}
			s.states[n.ID] = st
			return
		}
	case plan.WaitChild:
		if s.child(n, st) {
			return
		}
	case plan.WaitInput:
		if slices.Contains(s.given, n.Identifier) {
			st.Answered = true
			s.states[n.ID] = st
			s.now = s.now.Add(time.Minute)
			return
		}
	case plan.WaitRetry, plan.WaitLook, plan.WaitBarrier, plan.WaitEvent: // only time ends it
	}
	s.now = s.now.Add(d.Wake)
}

// child lets the execution end that a step has started; false when it doesn't.
func (s *sim) child(n *plan.Node, st plan.State) bool {
	list := s.script[n.Identifier]
	r, ok := list[min(st.Attempt, len(list))-1].(runs)
	if !ok || r.ends == "" {
		return false
	}
	s.now = s.now.Add(r.after)
	st.Outcome = &plan.Outcome{Status: r.ends, Failures: []fault.FailureType{fault.Unknown}}
	s.states[n.ID] = st
	return true
}

// work does what the script says of an attempt; false when nothing answers.
func (s *sim) work(n *plan.Node, st plan.State) bool {
	s.begun = append(s.begun, n.Identifier)
	var act any = true
	list := s.script[string(n.ID)]
	if len(list) == 0 {
		list = s.script[n.Identifier]
	}
	if len(list) > 0 {
		act = list[min(st.Attempt, len(list))-1]
	}
	o := plan.Outcome{Status: plan.Success}
	switch a := act.(type) {
	case hang:
		return false
	case took:
		if end := s.now.Add(time.Duration(a)); end.After(st.Deadline) {
			return false
		}
		s.now = s.now.Add(time.Duration(a))
	case asks:
		if st.Approval != nil {
			return false
		}
		approval := plan.Approval(a)
		st.Status, st.Approval = plan.ApprovalWaiting, &approval
		if a.Auto != nil {
			st.Until = a.Auto.At
		}
		if a.RejectsOlder {
			st.Turn = "list"
		}
		s.states[n.ID] = st
		return true
	case looks:
		if st.Look < int(a) {
			o = plan.Outcome{Again: time.Minute, Message: "not yet"}
		}
	case listens:
		st.Wait, st.Status, st.Turn = plan.WaitEvent, plan.WaitStepRunning, string(a)
		s.states[n.ID] = st
		return true
	case stands:
		st.Wait, st.Status, st.Turn = plan.WaitTurn, plan.ResourceWaiting, string(a)
		s.states[n.ID] = st
		return true
	case runs:
		st.Wait, st.Child = plan.WaitChild, fmt.Sprintf("x%d", st.Attempt)
		s.states[n.ID] = st
		return true
	case comes:
		st.Wait, st.Status = plan.WaitBarrier, plan.ResourceWaiting
		s.states[n.ID] = st
		return true
	case fails:
		o = plan.Outcome{Status: plan.Failed, Failures: a, Message: n.Identifier + " broke"}
	case plan.Status:
		o = plan.Outcome{Status: a, Failures: []fault.FailureType{fault.Unknown}}
	case string:
		switch a {
		case "abort":
			s.aborted = true
			return true
		case "pause":
			s.paused = true
		case "marked":
			o = plan.Outcome{Status: plan.Failed, Failures: []fault.FailureType{fault.UserMarkedFailure}, Marked: true}
		}
	}
	st.Outcome = &o
	s.states[n.ID] = st
	return true
}

// ends lists every node that has a state with how it ended, in plan order.
func (s *sim) ends() string {
	var out []string
	var walk func(*plan.Node)
	walk = func(n *plan.Node) {
		st, ok := s.states[n.ID]
		if ok && n.Kind != plan.KindParallel {
			out = append(out, fmt.Sprintf("%s:%s", n.Identifier, st.Status))
		}
		if n.Kind == plan.KindLoop {
			if st.Iterations == nil {
				return
			}
			for _, it := range st.Iterations.List {
				walk(s.plan.Node(n.Iteration(it.Postfix)))
			}
			return
		}
		for _, c := range slices.Concat(n.Children, n.Rollback) {
			walk(c)
		}
	}
	walk(s.plan.Root)
	return strings.Join(out, " ")
}

// The builders of plans: ids are the path of identifiers.

func pipeline(children ...*plan.Node) *plan.Node {
	return place("", &plan.Node{Kind: plan.KindPipeline, Identifier: "p", Children: children})
}

func stage(id string, children ...*plan.Node) *plan.Node {
	return &plan.Node{Kind: plan.KindStage, Identifier: id, Children: children}
}

func group(id string, children ...*plan.Node) *plan.Node {
	return &plan.Node{Kind: plan.KindGroup, Identifier: id, Children: children}
}

func parallel(children ...*plan.Node) *plan.Node {
	return &plan.Node{Kind: plan.KindParallel, Identifier: fmt.Sprintf("par%d", len(children)), Children: children}
}

// loop repeats a node.
func loop(n *plan.Node, edits ...func(*plan.Loop)) *plan.Node {
	l := &plan.Node{Kind: plan.KindLoop, Identifier: n.Identifier, Loop: &plan.Loop{}, Children: []*plan.Node{n}}
	for _, e := range edits {
		e(l.Loop)
	}
	return l
}

func skipQueued(l *plan.Loop) { l.SkipQueued = true }

func st(id string, edits ...func(*plan.Node)) *plan.Node {
	n := &plan.Node{Kind: plan.KindStep, Identifier: id}
	for _, e := range edits {
		e(n)
	}
	return n
}

func when(status string, condition ...string) func(*plan.Node) {
	return func(n *plan.Node) { n.When = &plan.When{Status: status, Condition: strings.Join(condition, "")} }
}

func timeout(d string) func(*plan.Node) { return func(n *plan.Node) { n.Timeout = d } }

func on(a plan.Action, types ...fault.FailureType) plan.Strategy {
	if len(types) == 0 {
		types = []fault.FailureType{fault.AllErrors}
	}
	return plan.Strategy{Errors: types, Action: a}
}

func act(t plan.ActionType) plan.Action { return plan.Action{Type: t} }

// failAll rolls the stage back without waiting for the others of the block.
func failAll(n *plan.Node) {
	level(on(plan.Action{Type: plan.StageRollback, FailAll: true}))(n)
}

// deploying makes a step one that deploys something.
func deploying(n *plan.Node) { n.Type = deployer }

// level adds strategies of the next outer level to a step.
func level(list ...plan.Strategy) func(*plan.Node) {
	return func(n *plan.Node) { n.Strategies = append(n.Strategies, list) }
}

// rolling gives a stage rollback steps.
func rolling(n *plan.Node, rollback ...*plan.Node) *plan.Node {
	n.Rollback = rollback
	return n
}

func with(n *plan.Node, edits ...func(*plan.Node)) *plan.Node {
	for _, e := range edits {
		e(n)
	}
	return n
}

func place(prefix string, n *plan.Node) *plan.Node {
	n.ID = plan.NodeID(strings.TrimPrefix(prefix+"."+n.Identifier, "."))
	for _, c := range n.Children {
		if n.Kind == plan.KindLoop {
			place(prefix, c)
		} else {
			place(string(n.ID), c)
		}
	}
	for _, c := range n.Rollback {
		place(string(n.ID)+".rollback", c)
	}
	return n
}
