// Package stepfunctions runs the state machines on AWS: it is
// statemachine.Runner over Step Functions.
//
// It only translates names and errors; what the definitions mean is
// statemachines/'s, and what happens to a run that AWS has ended is
// pkg/repair's.
package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/slipway-cd/slipway/pkg/statemachine"
)

// Runner runs one state machine.
type Runner struct {
	client  *sfn.Client
	machine string
}

// New makes a Runner of the state machine with the given ARN.
func New(client *sfn.Client, machine string) *Runner {
	return &Runner{client: client, machine: machine}
}

// Start begins a run (statemachine.Runner). Step Functions itself knows a name
// with the same input again while the run lasts; afterwards it refuses the
// name, which is as good: the run has been.
func (r *Runner) Start(ctx context.Context, name string, input json.RawMessage) error {
	_, err := r.client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &r.machine, Name: &name, Input: aws.String(string(input)),
	})
	var exists *types.ExecutionAlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("start machine run %s: %w", name, err)
	}
	return nil
}

// Succeed answers a wait (statemachine.Runner).
func (r *Runner) Succeed(ctx context.Context, token string, output json.RawMessage) error {
	_, err := r.client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String(string(output))})
	return answered("answer a task token", err)
}

// The limits of SendTaskFailure, in characters.
const (
	maxError = 256
	maxCause = 32768
)

// Fail ends a wait with an error (statemachine.Runner).
func (r *Runner) Fail(ctx context.Context, token, name, cause string) error {
	_, err := r.client.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{
		TaskToken: &token, Error: aws.String(cut(name, maxError)), Cause: aws.String(cut(cause, maxCause)),
	})
	return answered("fail a task token", err)
}

// Heartbeat keeps a wait alive (statemachine.Runner).
func (r *Runner) Heartbeat(ctx context.Context, token string) error {
	_, err := r.client.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: &token})
	return answered("send the heartbeat of a task token", err)
}

// Stop ends a run (statemachine.Runner). Step Functions stops the runs that it
// started with it.
func (r *Runner) Stop(ctx context.Context, name, cause string) error {
	_, err := r.client.StopExecution(ctx, &sfn.StopExecutionInput{
		ExecutionArn: aws.String(r.runARN(name)), Error: aws.String("Slipway.Stopped"), Cause: aws.String(cut(cause, maxCause)),
	})
	var none *types.ExecutionDoesNotExist
	if err != nil && !errors.As(err, &none) {
		return fmt.Errorf("stop machine run %s: %w", name, err)
	}
	return nil
}

// Describe tells how a run stands (statemachine.Runner).
func (r *Runner) Describe(ctx context.Context, name string) (statemachine.Run, error) {
	out, err := r.client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: aws.String(r.runARN(name))})
	var none *types.ExecutionDoesNotExist
	switch {
	case errors.As(err, &none):
		return statemachine.Run{}, nil
	case err != nil:
		return statemachine.Run{}, fmt.Errorf("describe machine run %s: %w", name, err)
	case out.Status == types.ExecutionStatusRunning:
		return statemachine.Run{State: statemachine.RunUnderWay}, nil
	}
	cause := strings.Trim(string(out.Status)+": "+aws.ToString(out.Error)+": "+aws.ToString(out.Cause), ": ")
	return statemachine.Run{State: statemachine.RunEnded, Cause: cause}, nil
}

// runARN is the ARN of a run of the machine:
// arn:aws:states:<region>:<account>:execution:<machine>:<run>.
func (r *Runner) runARN(name string) string {
	return strings.Replace(r.machine, ":stateMachine:", ":execution:", 1) + ":" + name
}

// answered translates the errors of a wait that has ended.
func answered(what string, err error) error {
	var timedOut *types.TaskTimedOut
	var none *types.TaskDoesNotExist
	var invalid *types.InvalidToken
	switch {
	case err == nil:
		return nil
	case errors.As(err, &timedOut), errors.As(err, &none), errors.As(err, &invalid):
		return statemachine.ErrGone
	}
	return fmt.Errorf("%s: %w", what, err)
}

// cut shortens a text to a number of characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}
