// Package trace makes one OpenTelemetry trace of each execution: a span for
// the pipeline and one for each stage, group and step, with the CI/CD
// semantic conventions.
//
// Engine handlers live for one invocation, so no span can be open while a
// step runs. A span is made when its node ends, from the times in its state,
// with ids that follow from the execution and the node: whoever makes it, the
// spans fit together, and made twice it is the same span.
package trace

import (
	"context"
	"crypto/sha256"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Recorder makes spans. A nil Recorder makes none.
type Recorder struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// New sends spans to a processor.
func New(p sdk.SpanProcessor) *Recorder {
	provider := sdk.NewTracerProvider(
		sdk.WithSpanProcessor(p),
		sdk.WithIDGenerator(ids{}),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "slipway"))),
	)
	return &Recorder{provider: provider, tracer: provider.Tracer("github.com/slipway-cd/slipway")}
}

// Close sends what hasn't been sent.
func (r *Recorder) Close(ctx context.Context) error {
	if r == nil {
		return nil
	}
	return r.provider.Shutdown(ctx)
}

// Parent is the W3C trace context of a node, for its delegate task.
func Parent(execution string, n plan.NodeID) string {
	t, s := traceID(execution), spanID(execution, n)
	return fmt.Sprintf("00-%s-%s-01", t, s)
}

// Ended makes the span of a node that has ended.
func (r *Recorder) Ended(ctx context.Context, e store.Execution, n *plan.Node, s plan.State) {
	if r == nil || n.Kind == plan.KindParallel || s.Inherited || s.StartedAt.IsZero() {
		return
	}
	parent := n.Parent()
	for parent != nil && parent.Kind == plan.KindParallel {
		parent = parent.Parent()
	}
	trc := traceID(e.ID)
	ctx = context.WithValue(ctx, idKey{}, idPair{trc, spanID(e.ID, n.ID)})
	if parent != nil {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trc, SpanID: spanID(e.ID, parent.ID), TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	_, span := r.tracer.Start(ctx, spanName(n), trace.WithTimestamp(s.StartedAt), trace.WithAttributes(attributes(e, n, s)...))
	if s.Status.Bad() {
		span.SetStatus(codes.Error, s.Message)
	}
	span.End(trace.WithTimestamp(s.EndedAt))
}

func spanName(n *plan.Node) string {
	if n.Kind == plan.KindPipeline {
		return "RUN " + n.Identifier
	}
	return string(n.Kind) + " " + n.Identifier
}

func attributes(e store.Execution, n *plan.Node, s plan.State) []attribute.KeyValue {
	if n.Kind == plan.KindPipeline {
		return []attribute.KeyValue{
			attribute.String("cicd.pipeline.name", e.Pipeline),
			attribute.String("cicd.pipeline.run.id", e.ID),
			attribute.String("cicd.pipeline.result", result(s.Status)),
			attribute.String("slipway.scope", e.Scope.String()),
		}
	}
	return []attribute.KeyValue{
		attribute.String("cicd.pipeline.task.name", n.Identifier),
		attribute.String("cicd.pipeline.task.run.id", e.ID+"/"+string(n.ID)),
		attribute.String("cicd.pipeline.task.run.result", result(s.Status)),
		attribute.String("slipway.node.type", n.Type),
		attribute.Int("slipway.attempts", s.Attempt),
	}
}

// result is a status in the words of the semantic conventions.
func result(s plan.Status) string {
	switch {
	case s == plan.Skipped:
		return "skip"
	case s.Good():
		return "success"
	case s == plan.Expired:
		return "timeout"
	case s == plan.Aborted, s == plan.AbortedByFreeze:
		return "cancellation"
	case s == plan.Errored:
		return "error"
	}
	return "failure"
}

func traceID(execution string) trace.TraceID {
	h := sha256.Sum256([]byte("trace " + execution))
	return trace.TraceID(h[:16])
}

func spanID(execution string, n plan.NodeID) trace.SpanID {
	h := sha256.Sum256([]byte("span " + execution + " " + string(n)))
	return trace.SpanID(h[:8])
}

// ids gives each span the ids that Ended derived for it.
type ids struct{}

type idKey struct{}

type idPair struct {
	trace trace.TraceID
	span  trace.SpanID
}

func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	p, _ := ctx.Value(idKey{}).(idPair)
	return p.trace, p.span
}

func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	p, _ := ctx.Value(idKey{}).(idPair)
	return p.span
}
