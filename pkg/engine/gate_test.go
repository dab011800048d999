package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// With a limit a pipeline waits before it begins; its time counts from then.
func TestGatedPipelines(t *testing.T) {
	t.Parallel()
	p := func() *plan.Node { return with(pipeline(stage("s", st("a"))), timeout("1h")) }
	tests := []struct {
		name          string
		gated, passes bool
		aborted       bool
		ends          string
		deadline      time.Duration // after the pipeline began
	}{
		{name: "pipeline §8.3 it begins when it has a place", gated: true, passes: true, ends: "p:Success s:Success a:Success", deadline: 3 * time.Hour},
		{name: "without a limit it begins at once", ends: "p:Success s:Success a:Success", deadline: time.Hour},
		{name: "pipeline §8.3 it can be aborted while it is queued", gated: true, aborted: true, ends: "p:Aborted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, p())
			s.gated, s.twice = tt.gated, true
			begin := s.now
			if tt.gated {
				d := s.advance("p", 0, At{})
				if d.Do != DoAwait || d.At != (At{Node: "p", Wait: plan.WaitTurn}) {
					t.Fatalf("it does %s at %+v; want it to wait for its turn", d.Do, d.At)
				}
				s.now = s.now.Add(2 * time.Hour)
			}
			if tt.passes {
				s.states["p"] = plan.State{Status: plan.NotStarted, Turn: "passed"}
			}
			s.aborted = tt.aborted
			s.run("p")
			if got := s.ends(); got != tt.ends {
				t.Errorf("ends %s, want %s", got, tt.ends)
			}
			if got := s.states["p"].Deadline; tt.deadline > 0 && !got.Equal(begin.Add(tt.deadline)) {
				t.Errorf("its time ends after %s, want %s", got.Sub(begin), tt.deadline)
			}
		})
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	e := store.Execution{Scope: ref.Scope{Account: "acme", Org: "o", Project: "p"}, Pipeline: "deploy"}
	child := e
	child.Parent = store.Holder{Execution: "x1", Node: "pipeline.stages.c.pipeline"}
	const all, one = "acme/executions", "acme/executions/o/p/deploy"
	tests := map[string]struct {
		limits Limits
		e      store.Execution
		want   []string
	}{
		"none":             {Limits{}, e, nil},
		"of the account":   {Limits{Account: 2}, e, []string{all}},
		"of pipelines":     {Limits{Pipeline: 1}, e, []string{one}},
		"both":             {Limits{Account: 2, Pipeline: 1}, e, []string{one, all}},
		"a chained one":    {Limits{Account: 2, Pipeline: 1}, child, nil},
		"less than no one": {Limits{Account: -1}, e, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, g := range tt.limits.gates(tt.e) {
				got = append(got, g.key)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}
