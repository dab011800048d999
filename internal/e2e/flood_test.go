package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// flooders is how many requests of the greedy project are under way: more than
// have a place, fewer than are refused.
const flooders = 64

// vast is a pipeline with almost as many nodes as there may be.
func vast(id, project string) string {
	var list []string
	for i := range 99 {
		list = append(list, fmt.Sprintf("{step: {identifier: s%d, name: s, type: Wait, spec: {duration: <+pipeline.variables.d>}, when: {stageStatus: Success, condition: <+pipeline.variables.d> == \"1s\"}}}", i))
	}
	return fmt.Sprintf(`pipeline:
  identifier: %s
  name: Vast
  orgIdentifier: default
  projectIdentifier: %s
  variables: [{name: d, type: String, value: 1s}]
  stages:
    - stage:
        identifier: st
        name: St
        type: Custom
        spec: {execution: {steps: [{stepGroup: {identifier: g, name: g, strategy: {repeat: {times: 195}}, steps: [
          {stepGroup: {identifier: in, name: in, when: {stageStatus: Failure}, steps: [%s]}}]}}]}}
`, id, project, strings.Join(list, ", "))
}

// flood keeps the worst requests of a greedy project under way until stop is
// called, once some of each have been answered: plans, documents that are
// checked, executions that start and are looked at, logs.
func flood(tb testing.TB, s *e2e.Server) (stop func()) {
	tb.Helper()
	greedy := &e2e.Server{URL: s.URL, Token: s.Token, Org: "default", Project: "greedy"}
	doc := vast("vast", "greedy")
	greedy.Apply(tb, doc)
	id := greedy.Begin(tb, "vast", nil)
	ctx, cancel := context.WithCancel(tb.Context())
	requests := []func() error{
		func() error {
			return greedy.Call(ctx, http.MethodPost, "/v1/pipelines/vast/plan", map[string]any{}, nil)
		},
		func() error { return greedy.Call(ctx, http.MethodPost, "/v1/entities:validate", doc, nil) },
		func() error { _, err := greedy.TryBegin(ctx, "vast", nil); return err },
		func() error { return greedy.Call(ctx, http.MethodGet, "/v1/executions/"+id, nil, nil) },
		func() error {
			return greedy.Call(ctx, http.MethodGet, "/v1/executions/"+id+"/nodes/st/log?wait=60", nil, nil)
		},
	}
	var all sync.WaitGroup
	begun := make(chan struct{}, flooders)
	for i := range flooders {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if n == 1 {
					begun <- struct{}{}
				}
				if err := requests[i%len(requests)](); err != nil && ctx.Err() == nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	<-begun
	return func() { cancel(); all.Wait() }
}

// Whatever one project asks for, another's pipeline is saved, started, run and
// read, and none of its requests is refused.
func TestAFloodOfAProjectKeepsNoOtherFromWorking(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
	stop := flood(t, s)
	defer stop()
	s.Apply(t, steps("small", 1, "true"))
	if e := s.Run(t, "small", nil); e.Status != "Success" {
		t.Errorf("beside the flood a pipeline ended %s: %s", e.Status, e.Message)
	}
}

// BenchmarkBesideAFlood is how long a small request of one project takes, while
// another's worst requests are under way: the median and the longest.
func BenchmarkBesideAFlood(b *testing.B) {
	s := e2e.Start(b, wire.ServeConfig{EmbeddedDelegate: true})
	s.Apply(b, steps("small", 1, "true"))
	small := s.Run(b, "small", nil)
	stop := flood(b, s)
	defer stop()
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		if _, err := s.Get(b.Context(), small.ID); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}
