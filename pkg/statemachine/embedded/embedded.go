// Package embedded runs the state machines on one machine: it is
// statemachine.Runner over pkg/asl.
//
// It only translates names and errors; what the definitions mean is pkg/asl's.
package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/statemachines"
)

// The names that stand for ARNs in the definitions.
const (
	Machine  = "node"
	Function = "engine"
)

// Machines are the definitions, for asl.Config.
func Machines() (map[string]*asl.Machine, error) {
	m, err := asl.Parse(Machine, statemachines.Node, map[string]string{
		"EngineFunctionArn": Function,
		"NodeMachineArn":    Machine,
	})
	if err != nil {
		return nil, fmt.Errorf("load the node machine: %w", err)
	}
	return map[string]*asl.Machine{Machine: m}, nil
}

// Runner runs machines on an embedded engine.
type Runner struct{ engine *asl.Engine }

// New makes a Runner.
func New(engine *asl.Engine) *Runner { return &Runner{engine: engine} }

// Start begins a run (statemachine.Runner). A name that has been used is as
// good: the run has been.
func (r *Runner) Start(ctx context.Context, name string, input json.RawMessage) error {
	err := r.engine.StartExecution(ctx, Machine, name, input)
	if errors.Is(err, asl.ErrExecutionAlreadyExists) {
		return nil
	}
	return err
}

// Succeed answers a wait (statemachine.Runner).
func (r *Runner) Succeed(ctx context.Context, token string, output json.RawMessage) error {
	return gone(r.engine.SendTaskSuccess(ctx, token, output))
}

// Fail ends a wait with an error (statemachine.Runner).
func (r *Runner) Fail(ctx context.Context, token, name, cause string) error {
	return gone(r.engine.SendTaskFailure(ctx, token, name, cause))
}

// Heartbeat keeps a wait alive (statemachine.Runner).
func (r *Runner) Heartbeat(ctx context.Context, token string) error {
	return gone(r.engine.SendTaskHeartbeat(ctx, token))
}

// Stop ends a run (statemachine.Runner).
func (r *Runner) Stop(ctx context.Context, name, cause string) error {
	return r.engine.StopExecution(ctx, name, "Slipway.Stopped", cause)
}

// Describe tells how a run stands (statemachine.Runner).
func (r *Runner) Describe(ctx context.Context, name string) (statemachine.Run, error) {
	x, err := r.engine.DescribeExecution(ctx, name)
	switch {
	case errors.Is(err, asl.ErrExecutionDoesNotExist):
		return statemachine.Run{}, nil
	case err != nil:
		return statemachine.Run{}, err
	case x.Status == "RUNNING":
		return statemachine.Run{State: statemachine.RunUnderWay}, nil
	}
	return statemachine.Run{State: statemachine.RunEnded, Cause: strings.Trim(x.Status+": "+x.Error+": "+x.Cause, ": ")}, nil
}

// gone translates the errors of a wait that has ended.
func gone(err error) error {
	if errors.Is(err, asl.ErrTaskTimedOut) || errors.Is(err, asl.ErrTaskDoesNotExist) {
		return statemachine.ErrGone
	}
	return err
}
