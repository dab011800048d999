// Package eventbridge takes in what EventBridge delivers: the ends of machine
// runs, the minutes at which schedules may be due, and new images, objects and
// machine images.
//
// It decodes and calls; what is done about a run that ended is pkg/repair's,
// which schedules are due is pkg/trigger/firing's.
package eventbridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/repair"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

// The kinds of event that Handle knows, by source and detail type.
const (
	runChanged = "aws.states: Step Functions Execution Status Change"
	minute     = "aws.events: Scheduled Event"
)

// Receiver handles events.
type Receiver struct {
	Repair   *repair.Repairer
	Triggers *firing.Service
	Log      *slog.Logger
}

// Handle handles one event, which may come twice. Kinds that it doesn't know
// are refused: a rule sends them by mistake, and the dead-letter queue shows it.
func (r *Receiver) Handle(ctx context.Context, e events.EventBridgeEvent) error {
	switch kind := e.Source + ": " + e.DetailType; kind {
	case runChanged:
		return r.runChanged(ctx, e.Detail)
	case minute:
		if _, err := r.Triggers.Tick(ctx, e.Time); err != nil {
			return fmt.Errorf("fire the schedules of %s: %w", e.Time, err)
		}
		return nil
	case trigger.ImagePushed, trigger.ObjectCreated, trigger.AMIChanged:
		return r.artifact(ctx, e)
	default:
		return fault.New(fault.Unsupported, "event %s is of the unknown kind %q", e.ID, kind)
	}
}

// artifact takes in a new version of an image or an object.
func (r *Receiver) artifact(ctx context.Context, e events.EventBridgeEvent) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	if _, err := r.Triggers.Artifact(ctx, body); err != nil {
		return fmt.Errorf("fire the triggers of event %s: %w", e.ID, err)
	}
	return nil
}

// change is the detail of a run's change of status.
type change struct {
	Name   string  `json:"name"`
	Status string  `json:"status"`
	Input  string  `json:"input"` // JSON; empty if it is too large to be sent along
	Error  *string `json:"error"`
	Cause  *string `json:"cause"`
}

// runChanged takes in that a run has ended. One that succeeded has stored
// what became of its node before.
func (r *Receiver) runChanged(ctx context.Context, detail json.RawMessage) error {
	var c change
	if err := json.Unmarshal(detail, &c); err != nil {
		return fault.New(fault.Invalid, "the detail of a run's change: %w", err)
	}
	switch c.Status {
	case "FAILED", "TIMED_OUT", "ABORTED":
	default:
		return nil
	}
	var input struct {
		Execution string      `json:"execution"`
		Node      plan.NodeID `json:"node"`
	}
	if err := json.Unmarshal([]byte(c.Input), &input); err != nil || input.Execution == "" {
		return fault.New(fault.Invalid, "the input of run %s isn't a node's: %w", c.Name, err)
	}
	why := c.Status
	for _, more := range []*string{c.Error, c.Cause} {
		if more != nil && *more != "" {
			why += ": " + *more
		}
	}
	if err := r.Repair.RunEnded(ctx, input.Execution, input.Node, strings.TrimSpace(why)); err != nil {
		return fmt.Errorf("take in the end of run %s: %w", c.Name, err)
	}
	return nil
}
