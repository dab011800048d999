package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// semantics/pipeline §8.3: what is over the limit of its pipeline or of the
// account is queued in the order of starting, doesn't fail and can be aborted;
// chained executions don't count.
func TestExecutionsOverALimitAreQueued(t *testing.T) {
	t.Parallel()
	t.Run("one machine", func(t *testing.T) {
		t.Parallel()
		overALimit(t, e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Limits: engine.Limits{Account: 2, Pipeline: 1}}))
	})
	t.Run("AWS", func(t *testing.T) {
		t.Parallel()
		overALimit(t, e2e.StartAWS(t, "SLIPWAY_MAX_EXECUTIONS=2", "SLIPWAY_MAX_PIPELINE_EXECUTIONS=1").Server)
	})
}

func overALimit(t *testing.T, s *e2e.Server) {
	t.Helper()
	asks := func(id string) string {
		return "pipeline: {identifier: " + id + ", name: " + id + ", stages: [{stage: {identifier: s, name: s, type: Approval, spec: {execution: {steps: [" + ask("ask") + "]}}}}]}"
	}
	chains := "pipeline: {identifier: chains, name: chains, stages: [{stage: {identifier: c, name: c, type: Pipeline, spec: {org: default, project: default_project, pipeline: a}}}]}"
	s.Apply(t, strings.Join([]string{asks("a"), asks("b"), asks("c"), chains}, "\n---\n"))
	queued := func(pipeline, message string) string {
		t.Helper()
		id := s.Begin(t, pipeline, nil)
		if e := reaches(t, s, id, pipeline, "QueuedExecutionConcurrencyReached"); e.Status != "QueuedExecutionConcurrencyReached" || e.Root.Message != message {
			t.Errorf("the execution is %s: %q; want it to be queued: %q", e.Status, e.Root.Message, message)
		}
		return id
	}
	const ofPipeline, ofAccount = "max number of concurrent executions reached: 1 of this pipeline", "max number of concurrent executions reached: 2 of the account"

	a1 := s.Begin(t, "a", nil)
	reaches(t, s, a1, "ask", "ApprovalWaiting")
	a2 := queued("a", ofPipeline)
	parent := s.Begin(t, "chains", nil) // and the a that it starts
	e, err := s.Until(t.Context(), parent, func(e e2e.Execution) bool { n := e.Root.Find("pipeline"); return n != nil && n.Child != "" })
	if err != nil {
		t.Fatal(err)
	}
	child := e.Root.Find("pipeline").Child
	reaches(t, s, child, "ask", "ApprovalWaiting")
	b1 := queued("b", ofAccount)
	c1 := queued("c", ofAccount)

	if err := s.Call(t.Context(), "POST", "/v1/executions/"+b1+"/abort", nil, nil); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, b1, "b", "Aborted")
	approve(t, s, child, "ask")
	reaches(t, s, parent, "chains", "Success")
	reaches(t, s, c1, "ask", "ApprovalWaiting") // the account has a place, and b has gone
	approve(t, s, a1, "ask")
	e = reaches(t, s, a2, "ask", "ApprovalWaiting")
	if e.Root.Message != "" || e.Status != "ApprovalWaiting" {
		t.Errorf("the execution is %s: %q; want it to run", e.Status, e.Root.Message)
	}
	approve(t, s, a2, "ask")
	approve(t, s, c1, "ask")
	reaches(t, s, a2, "a", "Success")
	reaches(t, s, c1, "c", "Success")
}
