package execution

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// group saves a user group of a project.
func group(t *testing.T, s store.Store, scope ref.Scope, id string, users ...string) {
	t.Helper()
	doc := "userGroup: {identifier: " + id + ", name: " + id + ", users: [" + strings.Join(users, ", ") + "]}"
	_, err := s.SaveEntity(t.Context(), store.Entity{Key: store.EntityKey{Scope: scope, Kind: ref.UserGroup, ID: id}, YAML: []byte(doc)}, audit.Record{Scope: scope})
	must(t, err)
}

// semantics/pipeline §7.7: an answer is of somebody in one of the groups, as they
// are when it comes, whom nothing keeps from it.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	kept := setup(t)
	project := ref.Scope{Account: "acme", Org: "o", Project: "p"}
	group(t, kept, project, "leads", "ann", "bo")
	group(t, kept, ref.Scope{Account: "acme"}, "auditors", "cy")
	s := service(kept, time.Now)
	tests := []struct {
		name, user string
		approval   plan.Approval
		refused    string // empty: may answer
	}{
		{"in the group", "bo", plan.Approval{Groups: []string{"leads"}}, ""},
		{"in the second of two", "cy", plan.Approval{Groups: []string{"leads", "account.auditors"}}, ""},
		{"in none", "cy", plan.Approval{Groups: []string{"leads"}}, "cy is in none of the groups that may answer: leads"},
		{"whoever reaches the execution", "dee", plan.Approval{Groups: []string{"leads", "_project_all_users"}}, ""},
		{"a group that was deleted has nobody", "ann", plan.Approval{Groups: []string{"gone"}}, "ann is in none of the groups"},
		{"no group", "ann", plan.Approval{}, "ann is in none of the groups"},
		{"who started it", "ann", plan.Approval{Groups: []string{"leads"}, NotExecutor: true}, "ann started the execution and may not approve it"},
		{"who started it, in other letters", "ANN", plan.Approval{Groups: []string{"leads"}, NotExecutor: true}, "ANN started the execution"},
		{"who started it, where that doesn't matter", "ann", plan.Approval{Groups: []string{"leads"}}, ""},
		{"who is kept from it", "bo", plan.Approval{Groups: []string{"leads"}, Refused: []string{"BO"}}, "bo may not answer this approval"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := s.mayAnswer(t.Context(), store.Execution{Scope: project, Actor: "ann"}, tt.approval, Person{Name: tt.user})
			if tt.refused == "" && err != nil || tt.refused != "" && (!fault.Is(err, fault.Forbidden) || !strings.HasPrefix(err.Error(), tt.refused)) {
				t.Errorf("%v; want %q", err, tt.refused)
			}
		})
	}
}

// A callback is for the one step that waits and has its id.
func TestACallbackFindsItsStep(t *testing.T) {
	t.Parallel()
	waits := func(callback string) plan.State {
		return plan.State{Status: plan.ApprovalWaiting, Attempt: 1, Approval: &plan.Approval{Callback: callback}}
	}
	answered := waits("release-7")
	answered.Outcome = &plan.Outcome{Status: plan.Success}
	tests := []struct {
		name     string
		states   map[plan.NodeID]plan.State
		callback string
		want     string // a step, or how many were found
	}{
		{"its id", map[plan.NodeID]plan.State{"s.a": waits("release-7"), "s.b": waits("release-8")}, "release-8", "s.b"},
		{"no id, and one waits", map[plan.NodeID]plan.State{"s.a": waits("release-7"), "s.b": {Status: plan.Running}}, "", "s.a"},
		{"no id, and two wait", map[plan.NodeID]plan.State{"s.a": waits("x"), "s.b": waits("y")}, "", "2 steps"},
		{"two have it", map[plan.NodeID]plan.State{"s.a": waits("x"), "s.b": waits("x")}, "x", "2 steps"},
		{"none has it", map[plan.NodeID]plan.State{"s.a": waits("x")}, "y", "0 steps"},
		{"it was answered before", map[plan.NodeID]plan.State{"s.a": answered}, "release-7", "0 steps"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _ := waiting(t, plan.State{Status: plan.Running})
			var nodes []store.Node
			for id, st := range tt.states {
				nodes = append(nodes, store.Node{Execution: "x1", ID: id, State: st})
			}
			replaceNodes(t, s, nodes)
			found, err := s.FindCallback(t.Context(), "x1", tt.callback)
			got := string(found)
			if err != nil {
				got, _, _ = strings.Cut(err.Error(), " of execution")
				if !fault.Is(err, fault.Conflict) {
					t.Errorf("%v; want a conflict", err)
				}
			}
			if got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// replaceNodes gives steps of execution x1 new states.
func replaceNodes(t *testing.T, s *Service, nodes []store.Node) {
	t.Helper()
	for i, n := range nodes {
		have, err := s.Store.Nodes(t.Context(), "x1", n.ID)
		must(t, err)
		if len(have) > 0 {
			nodes[i].Version = have[0].Version
		}
	}
	must(t, s.Store.CommitExecution(t.Context(), "x1", store.Commit{Nodes: nodes}))
}

// semantics/pipeline §5.3: an intervention is one of the actions, is taken once
// and says who took it when somebody comes later.
func TestInterventions(t *testing.T) {
	t.Parallel()
	waits := plan.State{Status: plan.InterventionWaiting, Outcome: &plan.Outcome{Status: plan.Failed}}
	decided := waits
	decided.Outcome = &plan.Outcome{Status: plan.Failed, Decision: plan.Ignore}
	decided.Decided = &plan.Decided{By: "bo", What: "Ignore", At: time.Unix(100, 0)}
	tests := []struct {
		name   string
		state  plan.State
		node   plan.NodeID
		action plan.ActionType
		code   fault.Code
		says   string // of an error
	}{
		{"an answer", waits, "s.a", plan.MarkAsSuccess, "", ""},
		{"the same answer again", decided, "s.a", plan.Ignore, "", ""},
		{"another answer", decided, "s.a", plan.Abort, fault.Conflict, "it doesn't wait for another intervention: bo has decided Ignore at 1970-01-01T00:01:40Z"},
		{"no action", waits, "s.a", "Shrug", fault.Invalid, `action is "Shrug"; want one of [MarkAsSuccess`},
		{"a step that runs", plan.State{Status: plan.Running}, "s.a", plan.Ignore, fault.Conflict, "s.a is Running; it doesn't wait for an intervention"},
		{"a step that hasn't begun", waits, "s.b", plan.Ignore, fault.NotFound, "execution x1 has no node s.b that has started"},
		{"a group's answer outside of groups", waits, "s.a", plan.StepGroupRollback, fault.Invalid, "s.a isn't in a step group"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, runner := waiting(t, tt.state)
			runner.refusals = 0
			err := s.Intervene(t.Context(), "x1", tt.node, tt.action, audit.Author{Actor: "ann"})
			if tt.code != "" {
				if !fault.Is(err, tt.code) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v; want %s: %s", err, tt.code, tt.says)
				}
				return
			}
			must(t, err)
			nodes, err := s.Store.Nodes(t.Context(), "x1", tt.node)
			must(t, err)
			st := nodes[0].State
			if st.Outcome.Decision != tt.action || st.Decided.By != "ann" || len(runner.answered) != 1 {
				t.Errorf("decided %+v with %+v, %d waits answered; want %s by ann and one", st.Decided, st.Outcome, len(runner.answered), tt.action)
			}
		})
	}
}

// A decision on a node that somebody else changes all the time isn't lost: it is
// made again on what is there then.
func TestDecisionsAreMadeAgainAfterOthers(t *testing.T) {
	t.Parallel()
	s, runner := waiting(t, plan.State{Status: plan.ApprovalWaiting, Approval: &plan.Approval{Minimum: 4, Groups: []string{"account._account_all_users"}}})
	runner.refusals = 0
	users := []string{"ann", "bo", "cy", "dee"}
	errs := make(chan error, len(users))
	for _, user := range users {
		go func() {
			errs <- s.Approve(context.WithoutCancel(t.Context()), "x1", "s.a", ApprovalAnswer{Action: plan.Approve, By: audit.Author{Actor: user}})
		}()
	}
	for range users {
		must(t, <-errs)
	}
	nodes, err := s.Store.Nodes(t.Context(), "x1", "s.a")
	must(t, err)
	st := nodes[0].State
	answered := map[string]bool{}
	for _, a := range st.Approval.Activities {
		answered[a.User] = true
	}
	if diff := cmp.Diff(map[string]bool{"ann": true, "bo": true, "cy": true, "dee": true}, answered); diff != "" || st.Outcome == nil {
		t.Errorf("answers (-want +got), outcome %+v:\n%s", st.Outcome, diff)
	}
	if len(runner.answered) != 1 {
		t.Errorf("the wait was answered %d times, want once", len(runner.answered))
	}
	if err := s.Approve(t.Context(), "x1", "s.a", ApprovalAnswer{Action: "MAYBE", By: audit.Author{Actor: "ann"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("neither yes nor no: %v", err)
	}
}
