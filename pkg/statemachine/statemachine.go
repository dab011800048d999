// Package statemachine is the border to what runs the definitions of
// statemachines/: Step Functions on AWS, pkg/asl on one machine.
//
// It starts and stops machine runs and answers their task tokens; what a
// machine does when it runs is the definition's and pkg/engine's matter.
package statemachine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// ErrGone says that a token's wait has ended already: answered, timed out or
// its run stopped. To whoever answers it, that is as good as done.
var ErrGone = errors.New("the wait of this token has ended")

// Runner starts machine runs and answers tokens. Everything may be said twice.
type Runner interface {
	// Start begins a run of the node machine. The name is unique for a run; the
	// same name again is no change.
	Start(ctx context.Context, name string, input json.RawMessage) error
	// Succeed answers a wait. ErrGone if it has ended.
	Succeed(ctx context.Context, token string, output json.RawMessage) error
	// Fail ends a wait with an error name and a cause. ErrGone if it has ended.
	Fail(ctx context.Context, token, name, cause string) error
	// Heartbeat keeps a wait alive. ErrGone if it has ended.
	Heartbeat(ctx context.Context, token string) error
	// Stop ends a run and the runs that it started; one that has ended is no error.
	Stop(ctx context.Context, name, cause string) error
	// Describe tells how a run stands.
	Describe(ctx context.Context, name string) (Run, error)
}

// RunName names the machine run of a node of an execution: at most 80
// characters, as Step Functions wants it, and the same each time.
func RunName(execution, node string) string {
	h := sha256.Sum256([]byte(node))
	return execution + "-" + hex.EncodeToString(h[:8])
}

// Run is how a machine run stands.
type Run struct {
	State RunState
	Cause string // why it ended, if it didn't succeed
}

// RunState says where a run is in its life.
type RunState int

// The states of a run.
const (
	RunUnknown RunState = iota // there is none of the name
	RunUnderWay
	RunEnded
)
