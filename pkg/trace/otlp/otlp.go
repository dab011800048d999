// Package otlp sends the traces of executions over OTLP.
//
// It stands apart from pkg/trace because the exporter brings gRPC's and
// protobuf's packages, a third of a binary that functions would load at each
// cold start and never use.
package otlp

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/slipway-cd/slipway/pkg/trace"
)

// New sends spans to the endpoint that the OTEL_EXPORTER_OTLP_* variables
// name, over HTTP, each time once settle has returned: what they tell is on
// disk then.
func New(ctx context.Context, settle func() error) (*trace.Recorder, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("start the trace exporter: %w", err)
	}
	return trace.New(sdk.NewBatchSpanProcessor(settled{exporter, settle})), nil
}

type settled struct {
	sdk.SpanExporter
	settle func() error
}

// ExportSpans sends spans.
func (s settled) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := s.settle(); err != nil {
		return err
	}
	return s.SpanExporter.ExportSpans(ctx, spans)
}
