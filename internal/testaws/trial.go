package testaws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	smithymiddleware "github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Trial is a step in an account of its own, as a lane's tests have them.
type Trial struct {
	// Do does the step; its calls go through what add adds.
	Do func(ctx context.Context, add func(*smithymiddleware.Stack) error) (task.Result, error)
	// Undo does what the stage does when it rolls back, which must go well.
	Undo func()
	// State is all that the step may change, for people; Before leaves out what a
	// rollback can't take away, such as versions.
	State, Before func() string
}

// Try tries a step in what may come between: a call that AWS refuses, an abort,
// calls that are throttled, and the same delivery once more. It has to end at what
// is wanted, or to be taken back to what was there before. What killed delegates
// leave is for tests with a Killer.
func Try(t *testing.T, fresh func(t *testing.T) Trial) {
	t.Helper()
	whole, count := fresh(t), &between{}
	succeeds(t, whole, count.add)
	if len(count.calls) == 0 {
		t.Fatal("the step changes nothing")
	}
	after := whole.State()
	ends := func(t *testing.T, trial Trial) {
		t.Helper()
		if diff := cmp.Diff(after, trial.State()); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
	}
	t.Run("delivered twice", func(t *testing.T) {
		t.Parallel()
		trial, none := fresh(t), &between{}
		succeeds(t, trial, none.add)
		succeeds(t, trial, none.add)
		ends(t, trial)
	})
	t.Run("every third call is throttled", func(t *testing.T) {
		t.Parallel()
		trial := fresh(t)
		succeeds(t, trial, (&Throttler{}).Add)
		ends(t, trial)
	})
	for _, n := range spread(len(count.calls)) {
		call := count.calls[n]
		for _, aborts := range []bool{false, true} {
			if aborts == (n%2 == 0) && len(count.calls) > 1 {
				continue // one of both for each call, which are many
			}
			what := map[bool]string{false: "denied", true: "aborted after"}[aborts]
			t.Run(fmt.Sprintf("%s %d %s", what, n+1, call), func(t *testing.T) {
				t.Parallel()
				trial := fresh(t)
				before := trial.Before()
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				comes := &between{at: n + 1, aborts: aborts, stop: stop}
				r, err := trial.Do(ctx, comes.add)
				switch {
				case aborts && !errors.Is(err, executor.ErrCancelled) && r.Status != task.Succeeded: // it may have been done by then
					t.Errorf("it is %s: %s, %v; want that it was cancelled", r.Status, r.Message, err)
				case !aborts && (err != nil || r.Status != task.Failed || !slices.Contains(r.FailureTypes, fault.Authorization)):
					t.Errorf("it is %s by %v: %s, %v; want a failure of authorization", r.Status, r.FailureTypes, r.Message, err)
				}
				trial.Undo()
				if diff := cmp.Diff(before, trial.Before()); diff != "" {
					t.Errorf("taken back (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// spread are some of n calls: the first, two in the middle, and the last.
func spread(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	if n <= 4 {
		return all
	}
	return []int{0, n/2 - 1, n / 2, n - 1}
}

func succeeds(t *testing.T, trial Trial, add func(*smithymiddleware.Stack) error) {
	t.Helper()
	if r, err := trial.Do(t.Context(), add); err != nil || r.Status != task.Succeeded {
		t.Fatalf("it is %s: %s, %v", r.Status, r.Message, err)
	}
}

// between counts the calls that change something, and comes between one of them.
type between struct {
	at     int // which of those calls, from 1 on; 0: none
	aborts bool
	stop   context.CancelCauseFunc

	mu    sync.Mutex
	calls []string
}

func (b *between) add(stack *smithymiddleware.Stack) error {
	return stack.Initialize.Add(smithymiddleware.InitializeMiddlewareFunc("between", b.handle), smithymiddleware.After)
}

func (b *between) handle(ctx context.Context, in smithymiddleware.InitializeInput, next smithymiddleware.InitializeHandler) (smithymiddleware.InitializeOutput, smithymiddleware.Metadata, error) {
	operation := middleware.GetOperationName(ctx)
	mine := false
	if Changing(operation) {
		b.mu.Lock()
		b.calls = append(b.calls, operation)
		mine = len(b.calls) == b.at
		b.mu.Unlock()
	}
	if mine && !b.aborts {
		return smithymiddleware.InitializeOutput{}, smithymiddleware.Metadata{}, &smithy.OperationError{
			ServiceID: middleware.GetServiceID(ctx), OperationName: operation, Err: &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not you"},
		}
	}
	out, meta, err := next.HandleInitialize(ctx, in)
	if mine {
		b.stop(executor.ErrCancelled)
	}
	return out, meta, err
}

// Throttler is an account that has no time for every third call.
type Throttler struct {
	mu    sync.Mutex
	calls int
}

// Add puts it on the delegate's way to AWS, where the SDK sends calls again.
func (b *Throttler) Add(stack *smithymiddleware.Stack) error {
	return stack.Deserialize.Add(smithymiddleware.DeserializeMiddlewareFunc("throttles", b.handle), smithymiddleware.After)
}

func (b *Throttler) handle(ctx context.Context, in smithymiddleware.DeserializeInput, next smithymiddleware.DeserializeHandler) (smithymiddleware.DeserializeOutput, smithymiddleware.Metadata, error) {
	b.mu.Lock()
	b.calls++
	third := b.calls%3 == 0
	b.mu.Unlock()
	if third {
		return smithymiddleware.DeserializeOutput{}, smithymiddleware.Metadata{}, &smithy.GenericAPIError{Code: "ThrottlingException", Message: "Rate exceeded"}
	}
	return next.HandleDeserialize(ctx, in)
}
