package execution

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// throttled is a Runner that refuses so many answers before it takes them.
type throttled struct {
	idle

	refusals int
	answered []string
}

func (r *throttled) Succeed(_ context.Context, token string, _ json.RawMessage) error {
	if r.refusals--; r.refusals >= 0 {
		return errors.New("slow down")
	}
	r.answered = append(r.answered, token)
	return nil
}

func (r *throttled) Fail(_ context.Context, token, _, _ string) error {
	return r.Succeed(context.Background(), token, nil)
}

// waiting gives an execution, x1, whose step s.a has a state, and a Runner that
// refuses the first answer.
func waiting(t *testing.T, state plan.State) (*Service, *throttled) {
	t.Helper()
	kept := setup(t)
	root := &plan.Node{ID: "pipeline", Kind: plan.KindPipeline, Identifier: "p", Children: []*plan.Node{{
		ID: "s", Kind: plan.KindStage, Identifier: "s", Children: []*plan.Node{{ID: "s.a", Kind: plan.KindStep, Identifier: "a"}},
	}}}
	doc, err := (&plan.Plan{Root: root}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	scope := ref.Scope{Account: "acme"}
	e := store.Execution{ID: "x1", Scope: scope, Pipeline: "p", PlanHash: plan.Hash(doc), Status: plan.Running, StartedAt: time.Now()}
	if _, err := kept.CreateExecution(t.Context(), e, doc, audit.Record{Scope: scope}); err != nil {
		t.Fatal(err)
	}
	state.Attempt, state.Token = 1, "token"
	node := store.Node{Execution: e.ID, ID: "s.a", State: state}
	if err := kept.CommitExecution(t.Context(), e.ID, store.Commit{Nodes: []store.Node{node}}); err != nil {
		t.Fatal(err)
	}
	runner := &throttled{refusals: 1}
	return serviceOn(kept, time.Now, runner), runner
}

// What a person decided is stored before the wait is answered: who tries again
// because the answer didn't get through may be refused, but ends the wait.
func TestADecisionThatWokeNobodyIsMadeUpFor(t *testing.T) {
	t.Parallel()
	by := audit.Author{Actor: "ada"}
	intervene := func(ctx context.Context, s *Service) error {
		return s.Intervene(ctx, "x1", "s.a", plan.MarkAsSuccess, by)
	}
	approve := func(ctx context.Context, s *Service) error {
		return s.Approve(ctx, "x1", "s.a", ApprovalAnswer{Action: plan.Approve, By: by})
	}
	answer := func(ctx context.Context, s *Service) error { return s.Answer(ctx, "x1", "s.a", launch.Inputs{}, by) }
	failed := plan.Outcome{Status: plan.Failed}
	for _, tt := range []struct {
		name  string
		state plan.State
		call  func(context.Context, *Service) error
		wakes bool
	}{
		{"an intervention", plan.State{Status: plan.InterventionWaiting, Wait: plan.WaitIntervention, Outcome: &failed}, intervene, true},
		{"an approval", plan.State{Status: plan.ApprovalWaiting, Approval: &plan.Approval{}, Outcome: &failed}, approve, true},
		{"inputs", plan.State{Status: plan.InputWaiting, Wait: plan.WaitInput, Answered: true}, answer, true},
		{"nothing was asked", plan.State{Status: plan.Running}, approve, false},
		{"it has ended", plan.State{Status: plan.Failed, Outcome: &failed}, approve, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, runner := waiting(t, tt.state)
			if !tt.wakes {
				runner.refusals = 0
			} else if err := tt.call(t.Context(), s); err == nil || fault.Is(err, fault.Conflict) {
				t.Fatalf("the first call: %v; want that the wait couldn't be answered", err)
			}
			// An intervention can be decided anew until the step goes on.
			if err := tt.call(t.Context(), s); fault.Is(err, fault.Conflict) == (tt.state.Wait == plan.WaitIntervention) {
				t.Errorf("the call after it: %v", err)
			}
			if got := slices.Equal(runner.answered, []string{"token"}); got != tt.wakes {
				t.Errorf("the answered waits are %q", runner.answered)
			}
		})
	}
}
