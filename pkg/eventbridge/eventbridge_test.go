package eventbridge_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slipway-cd/slipway/pkg/eventbridge"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// What is refused never reaches the repairer; what a run's end leads to is
// tested with the events of events/, on a whole control plane.
func TestWhatItDoesNotKnowIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, source, kind, detail string
		want                       fault.Code
		says                       string
	}{
		{"another kind", "aws.ec2", "EC2 Instance State-change Notification", `{}`, fault.Unsupported, "EC2 Instance"},
		{"no JSON", "aws.states", "Step Functions Execution Status Change", `[`, fault.Invalid, "detail"},
		{"another machine's input", "aws.states", "Step Functions Execution Status Change", `{"name":"r1","status":"FAILED","input":"{}"}`, fault.Invalid, "r1"},
		{"an input that was too large", "aws.states", "Step Functions Execution Status Change", `{"name":"r1","status":"ABORTED"}`, fault.Invalid, "r1"},
		{"a run that began", "aws.states", "Step Functions Execution Status Change", `{"name":"r1","status":"RUNNING","input":"{}"}`, "", ""},
		{"a run that succeeded", "aws.states", "Step Functions Execution Status Change", `{"name":"r1","status":"SUCCEEDED"}`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := eventbridge.Receiver{Log: slog.New(slog.DiscardHandler)}
			err := r.Handle(t.Context(), events.EventBridgeEvent{ID: "e1", Source: tt.source, DetailType: tt.kind, Detail: json.RawMessage(tt.detail)})
			if fault.CodeOf(err) != tt.want || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, code %q; want %q about %q", err, fault.CodeOf(err), tt.want, tt.says)
			}
		})
	}
}
