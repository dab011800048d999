package testaws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	smithymiddleware "github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Trial is a step in an account of its own, as a lane's tests have them.
type Trial struct {
	// Do does the step; its calls go through way.
	Do func(ctx context.Context, way Way) (task.Result, error)
	// Again begins another attempt of the step.
	Again func()
	// Undo does what the stage does when it rolls back, which must go well; nil: the
	// step is such a one itself.
	Undo func()
	// State is all that the step may change, for people; Before leaves out what a
	// rollback can't take away, such as versions.
	State, Before func() string
	// Was is what Before gave before the stage; empty: it gives that before the step.
	Was string
	// Hold has what goes on by itself stand still, until Go.
	Hold, Go func()
}

// before is what there was before the stage.
func (t Trial) before() string {
	if t.Was != "" {
		return t.Was
	}
	return t.Before()
}

// Fresh gives trials that all begin with the same.
type Fresh func(t *testing.T) Trial

// Way is where a delegate's calls come by.
type Way interface {
	// Add puts it on the way to AWS.
	Add(stack *smithymiddleware.Stack) error
	// Via puts it on the way to somebody else, whose operations are named by their
	// requests as AWS names such.
	Via(next http.RoundTripper, name func(*http.Request) string) http.RoundTripper
}

// Each tries each strategy of a lane, by Try or TryKilled. What a strategy's trials
// begin with is made once.
func Each(t *testing.T, strategies map[string]func(t *testing.T) Fresh, try func(t *testing.T, fresh Fresh)) {
	t.Helper()
	for name, prepare := range strategies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(t, prepare(t))
		})
	}
}

// Try tries a step in what may come between: a call that AWS refuses, an abort, the end
// of its time, calls that are throttled, and the same delivery once more. It has to end
// at what is wanted, or to be taken back to what was there before. What killed delegates
// leave is for TryKilled, and what never serves for TryIll.
func Try(t *testing.T, fresh Fresh) {
	t.Helper()
	whole, count := fresh(t), &between{}
	succeeds(t, whole, count)
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
		succeeds(t, trial, none)
		succeeds(t, trial, none)
		ends(t, trial)
	})
	t.Run("every third call is throttled", func(t *testing.T) {
		t.Parallel()
		trial := fresh(t)
		succeeds(t, trial, &Throttler{})
		ends(t, trial)
	})
	t.Run("its time is up", func(t *testing.T) {
		t.Parallel()
		trial := fresh(t)
		before := trial.before()
		trial.Hold()
		r, err := trial.Do(executortest.Ending(t.Context(), patience), &between{})
		if late := r.Status == task.Failed && slices.Equal(r.FailureTypes, []fault.FailureType{fault.Timeout}); err != nil || !late && r.Status != task.Succeeded { // some wait for nothing
			t.Errorf("it is %s by %v: %s, %v; want that its time is up", r.Status, r.FailureTypes, r.Message, err)
		}
		trial.Go()
		trial.Undo()
		if diff := cmp.Diff(before, trial.Before()); diff != "" {
			t.Errorf("taken back (-want +got):\n%s", diff)
		}
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
				before := trial.before()
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				comes := &between{at: n + 1, aborts: aborts, stop: stop}
				r, err := trial.Do(ctx, comes)
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

// patience is the time of steps that wait for what doesn't come.
const patience = 4 * time.Second

// TryIll tries a step that deploys what never serves: it fails by what AWS says of that,
// or at the end of its time, and is taken back to what was there before.
func TryIll(t *testing.T, fresh Fresh) {
	t.Helper()
	trial := fresh(t)
	before := trial.before()
	r, err := trial.Do(executortest.Ending(t.Context(), patience), &between{})
	ill := slices.Contains(r.FailureTypes, fault.Unknown) || slices.Contains(r.FailureTypes, fault.Timeout)
	if err != nil || r.Status != task.Failed || !ill {
		t.Errorf("it is %s by %v: %s, %v; want that it doesn't serve", r.Status, r.FailureTypes, r.Message, err)
	}
	trial.Undo()
	if diff := cmp.Diff(before, trial.Before()); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

// TryKilled kills the delegate after each call by which a step changes something, and
// before some, when it has kept what it is about to change. Tried again, the step comes
// to the same end, and its rollback to what was there before; in every other of these
// it is rolled back at once.
func TryKilled(t *testing.T, fresh Fresh) {
	t.Helper()
	whole, count := fresh(t), &Killer{}
	if r, err := whole.Do(count.Living(t.Context()), count); err != nil || r.Status != task.Succeeded {
		t.Fatalf("it is %s: %s, %v", r.Status, r.Message, err)
	}
	if len(count.Calls) == 0 {
		t.Fatal("the step changes nothing")
	}
	after := whole.State()
	for n, call := range count.Calls {
		for _, early := range []bool{true, false} {
			if early && !slices.Contains(spread(len(count.Calls)), n) {
				continue // little differs from after the call before
			}
			when := map[bool]string{true: "before", false: "after"}[early]
			t.Run(fmt.Sprintf("killed %s %d %s", when, n+1, call), func(t *testing.T) {
				t.Parallel()
				tryKilled(t, fresh(t), &Killer{At: n + 1, Before: early}, after, early == (n%2 == 1))
			})
		}
	}
}

// tryKilled kills the delegate once, tries the step again if that is wanted, and takes
// it back.
func tryKilled(t *testing.T, trial Trial, k *Killer, after string, again bool) {
	t.Helper()
	before := trial.before()
	if r, err := trial.Do(k.Living(t.Context()), k); err == nil {
		t.Errorf("killed it is %s: %s", r.Status, r.Message)
	}
	if trial.Again(); trial.Undo == nil || again {
		succeeds(t, trial, &between{})
		if diff := cmp.Diff(after, trial.State()); diff != "" {
			t.Errorf("tried again (-want +got):\n%s", diff)
		}
	}
	if trial.Undo == nil {
		return
	}
	trial.Undo()
	if diff := cmp.Diff(before, trial.Before()); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
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

func succeeds(t *testing.T, trial Trial, way Way) {
	t.Helper()
	if r, err := trial.Do(t.Context(), way); err != nil || r.Status != task.Succeeded {
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

// Add puts it on the way to AWS.
func (b *between) Add(stack *smithymiddleware.Stack) error {
	return stack.Initialize.Add(smithymiddleware.InitializeMiddlewareFunc("between", b.handle), smithymiddleware.After)
}

func (b *between) handle(ctx context.Context, in smithymiddleware.InitializeInput, next smithymiddleware.InitializeHandler) (smithymiddleware.InitializeOutput, smithymiddleware.Metadata, error) {
	operation := middleware.GetOperationName(ctx)
	mine := b.comes(operation)
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

// comes counts a call, and says whether it is the one.
func (b *between) comes(operation string) bool {
	if !Changing(operation) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, operation)
	return len(b.calls) == b.at
}

// Via puts it on the way to somebody else.
func (b *between) Via(next http.RoundTripper, name func(*http.Request) string) http.RoundTripper {
	return roundTrips(func(r *http.Request) (*http.Response, error) {
		mine := b.comes(name(r))
		if mine && !b.aborts {
			return answered(r, http.StatusForbidden), nil
		}
		answer, err := next.RoundTrip(r)
		if mine {
			b.stop(executor.ErrCancelled)
		}
		return answer, err
	})
}

// answered is an answer that nothing was done for.
func answered(r *http.Request, status int) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Request: r, Header: http.Header{}, Body: http.NoBody}
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
	if b.third() {
		return smithymiddleware.DeserializeOutput{}, smithymiddleware.Metadata{}, &smithy.GenericAPIError{Code: "ThrottlingException", Message: "Rate exceeded"}
	}
	return next.HandleDeserialize(ctx, in)
}

// third counts a call, and says whether it is a third one.
func (b *Throttler) third() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	return b.calls%3 == 0
}

// Via puts it on the way to somebody else, who has no time either.
func (b *Throttler) Via(next http.RoundTripper, _ func(*http.Request) string) http.RoundTripper {
	return roundTrips(func(r *http.Request) (*http.Response, error) {
		if b.third() {
			return answered(r, http.StatusTooManyRequests), nil
		}
		return next.RoundTrip(r)
	})
}
