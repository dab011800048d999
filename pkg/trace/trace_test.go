package trace_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trace"
)

// Spans that are made at different times, by whoever, are one tree.
func TestSpansOfAnExecutionAreOneTree(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"root":{"id":"pipeline","kind":"pipeline","identifier":"p","children":[
		{"id":"pipeline.stages.s","kind":"stage","identifier":"s","children":[
			{"id":"pipeline.stages.s#0","kind":"parallel","children":[
				{"id":"pipeline.stages.s.a","kind":"step","identifier":"a","type":"ShellScript"}]}]}]}}`)
	p, err := plan.Decode(doc)
	if err != nil {
		t.Fatal(err)
	}
	memory := tracetest.NewInMemoryExporter()
	begin := time.Unix(100, 0).UTC()
	ended := func(id plan.NodeID, s plan.Status) {
		r := trace.New(sdk.NewSimpleSpanProcessor(memory)) // another process each time
		r.Ended(t.Context(), store.Execution{ID: "x1", Pipeline: "p"}, p.Node(id),
			plan.State{Status: s, StartedAt: begin, EndedAt: begin.Add(time.Second), Message: "it broke"})
	}
	ended("pipeline.stages.s.a", plan.Failed)
	ended("pipeline.stages.s#0", plan.Failed)
	ended("pipeline.stages.s", plan.Failed)
	ended("pipeline", plan.Failed)

	names := map[string]string{} // span id -> name
	for _, s := range memory.GetSpans() {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	var got []string
	for _, s := range memory.GetSpans() {
		got = append(got, s.Name+" in "+names[s.Parent.SpanID().String()])
		if s.EndTime.Sub(s.StartTime) != time.Second || s.Status.Description != "it broke" {
			t.Errorf("%s took %s and ended with %q", s.Name, s.EndTime.Sub(s.StartTime), s.Status.Description)
		}
	}
	want := []string{"step a in stage s", "stage s in RUN p", "RUN p in "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if s := memory.GetSpans()[0].SpanContext; trace.Parent("x1", "pipeline.stages.s.a") != "00-"+s.TraceID().String()+"-"+s.SpanID().String()+"-01" {
		t.Errorf("the delegate's parent is %s, the span %s", trace.Parent("x1", "pipeline.stages.s.a"), s.SpanID())
	}
}
