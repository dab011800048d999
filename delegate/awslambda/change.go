package awslambda

import (
	"context"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// tries is how often a change is made that somebody else's has come before.
const tries = 3

// unseen is how long a function, or a version, that was just made may be missing in the
// answers of Lambda.
const unseen = 20 * time.Second

// settled waits until a function, or a version of it, goes through no change. A
// change that failed is an error only if it was ours.
func (s *session) settled(ctx context.Context, name, version string, ours bool) (*lambda.GetFunctionConfigurationOutput, error) {
	var found *lambda.GetFunctionConfigurationOutput
	wait := awswait.Wait{Pace: s.cfg.Pace, Log: s.Env.Log(s.Unit)}
	began := time.Now()
	err := awswait.Until(ctx, wait, func(ctx context.Context) (awswait.State, error) {
		out, err := s.client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name, Qualifier: some(version)})
		switch {
		case ours && aws.Is(err, notFound) && time.Since(began) < unseen:
			return awswait.State{Progress: "Waiting for Lambda to know function " + name}, nil
		case aws.Throttled(err):
			return awswait.State{}, err
		case err != nil:
			return awswait.State{}, s.failed(ctx, "GetFunctionConfiguration", err)
		}
		found = out
		return changing(name, out, ours)
	})
	return found, err
}

// changing says what a function goes through.
func changing(name string, f *lambda.GetFunctionConfigurationOutput, ours bool) (awswait.State, error) {
	switch {
	case f.State == types.StatePending:
		return awswait.State{Progress: "Function " + name + " is pending: " + sdk.ToString(f.StateReason)}, nil
	case f.LastUpdateStatus == types.LastUpdateStatusInProgress:
		return awswait.State{Progress: "Function " + name + " is being updated"}, nil
	case ours && f.State == types.StateFailed:
		return awswait.State{}, fault.New(fault.Conflict, "function %s couldn't be made: %s (%s)", name, sdk.ToString(f.StateReason), f.StateReasonCode).Causing(fault.Unknown)
	case ours && f.LastUpdateStatus == types.LastUpdateStatusFailed:
		return awswait.State{}, fault.New(fault.Conflict, "function %s couldn't be updated: %s (%s)", name, sdk.ToString(f.LastUpdateStatusReason), f.LastUpdateStatusReasonCode).Causing(fault.Unknown)
	}
	return awswait.State{Done: true}, nil
}

// change changes a function once nothing else does, and gives how it is then.
// revision is that of what was found, so that the change of somebody else isn't
// lost.
func (s *session) change(ctx context.Context, operation, name string, call func(revision *string) error) (*lambda.GetFunctionConfigurationOutput, error) {
	var err error
	for n := range tries {
		if n > 0 { // what Lambda says of the other change may come late
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(s.cfg.Pace(time.Minute)):
			}
		}
		var now *lambda.GetFunctionConfigurationOutput
		if now, err = s.settled(ctx, name, "", false); err != nil {
			return nil, err
		}
		if err = call(now.RevisionId); err == nil {
			return s.settled(ctx, name, "", true)
		}
		if !aws.Is(err, "ResourceConflictException", "PreconditionFailedException") {
			break
		}
		s.Say("Somebody else changes function %s; waiting", name)
	}
	return nil, s.full(ctx, name, s.failed(ctx, operation, err))
}
