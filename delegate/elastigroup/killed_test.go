package elastigroup_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

// operation names what a request to Spot does, as AWS names such.
func operation(r *http.Request) string {
	return map[string]string{http.MethodGet: "Get", http.MethodPost: "Create", http.MethodPut: "Update", http.MethodDelete: "Delete"}[r.Method] + "Group"
}

// killed does a task until the delegate is killed.
func (s *stage) killed(t *testing.T, k *testaws.Killer, op spot.Op, change ...func(*spot.Spec)) {
	t.Helper()
	r, err := with(k.Via(s.via(), operation)).Do(k.Living(t.Context()), s.assignment(t, op, change...), s.env.Env)
	if k.At == 0 && (err != nil || r.Status != task.Succeeded) {
		t.Fatalf("%s is %s: %s, %v\n%s", op, r.Status, r.Message, err, s.log())
	}
	if k.At > 0 && err == nil {
		t.Errorf("killed at %d, %s is %s: %s", k.At, op, r.Status, r.Message)
	}
}

// Killed before and after every call that changes something, a step that is tried
// again comes to the same end, and a rollback to what was there before.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	next := func(t *testing.T) *stage {
		t.Helper()
		s := deployed(t).next(t, "ami-2")
		s.succeeds(t, spot.OpSetup)
		s.succeeds(t, spot.OpDeploy, percent(100))
		return s.next(t, "ami-3")
	}
	ready := func(t *testing.T) *stage {
		t.Helper()
		s := next(t)
		s.succeeds(t, spot.OpSetup)
		return s
	}
	for name, tt := range map[string]struct {
		first  func(*testing.T) *stage
		op     spot.Op
		change []func(*spot.Spec)
		undone []string // what there is after a rollback; nil: none is due
	}{
		"the first group": {newStage, spot.OpSetup, nil, []string{}},
		"the next group":  {next, spot.OpSetup, nil, []string{"web__1: 0 to 4, 0 desired of ami-1, 0 there", "web__2: 1 to 4, 4 desired of ami-2, 4 there"}},
		"machines for it": {ready, spot.OpDeploy, []func(*spot.Spec){percent(50)}, []string{"web__1: 0 to 4, 0 desired of ami-1, 0 there", "web__2: 1 to 4, 4 desired of ami-2, 4 there"}},
		"all machines":    {ready, spot.OpDeploy, []func(*spot.Spec){percent(100)}, []string{"web__1: 0 to 4, 0 desired of ami-1, 0 there", "web__2: 1 to 4, 4 desired of ami-2, 4 there"}},
		"taking them back": {func(t *testing.T) *stage {
			t.Helper()
			s := ready(t)
			s.succeeds(t, spot.OpDeploy, percent(100))
			return s
		}, spot.OpRollback, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := tt.first(t)
			k := &testaws.Killer{}
			whole.killed(t, k, tt.op, tt.change...)
			after := whole.Groups()
			if len(k.Calls) == 0 {
				t.Fatal("the step changes nothing")
			}
			for n, call := range k.Calls {
				for _, early := range []bool{true, false} {
					t.Run(fmt.Sprintf("%d %s early %t", n+1, call, early), func(t *testing.T) {
						t.Parallel()
						s := tt.first(t)
						s.killed(t, &testaws.Killer{At: n + 1, Before: early}, tt.op, tt.change...)
						again := *s
						again.attempt++
						again.succeeds(t, tt.op, tt.change...)
						if diff := cmp.Diff(after, s.Groups()); diff != "" {
							t.Errorf("tried again (-want +got):\n%s", diff)
						}
						if tt.undone == nil {
							return
						}
						s.succeeds(t, spot.OpRollback)
						s.are(t, tt.undone...)

						back := tt.first(t)
						back.killed(t, &testaws.Killer{At: n + 1, Before: early}, tt.op, tt.change...)
						back.succeeds(t, spot.OpRollback)
						back.are(t, tt.undone...)
					})
				}
			}
		})
	}
}

// A request that comes too soon is sent again when Spot says so, also one that
// changes something: it has done nothing.
func TestTooSoon(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.TooSoon(3)
	s.succeeds(t, spot.OpSetup)
	s.TooSoon(5)
	s.succeeds(t, spot.OpDeploy, percent(100))
	s.are(t, "web__1: 1 to 4, 4 desired of ami-1, 4 there")

	next := s.next(t, "ami-2")
	next.TooSoon(1 << 30)
	r := next.expires(t, 200*time.Millisecond, spot.OpSetup)
	if !slices.Contains(r.FailureTypes, fault.RetryableTransientFailure) || !strings.Contains(r.Message, "Rate limit exceeded") {
		t.Errorf("it failed by %v: %s", r.FailureTypes, r.Message)
	}
}

// expires does a task that has a time, and fails near its end.
func (s *stage) expires(t *testing.T, after time.Duration, op spot.Op, change ...func(*spot.Spec)) task.Result {
	t.Helper()
	r, err := s.kind.Do(executortest.Ending(t.Context(), after), s.assignment(t, op, change...), s.env.Env)
	if err != nil || r.Status != task.Failed {
		t.Fatalf("%s is %+v, %v; want a failure\n%s", op, r, err, s.log())
	}
	return r
}

// Machines that never serve end the step by its time, and say how things stood.
func TestMachinesThatNeverServe(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{"ami-crash": "0 of 4 instances are healthy; there are 4", "ami-noroom": "0 of 4 instances are healthy; there are 1"} {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			s := deployed(t).next(t, image)
			s.succeeds(t, spot.OpSetup)
			r := s.expires(t, 4*time.Second, spot.OpDeploy, percent(100))
			if !slices.Equal(r.FailureTypes, []fault.FailureType{fault.Timeout}) || !strings.Contains(r.Message, want) {
				t.Errorf("it failed by %v: %s; want %s", r.FailureTypes, r.Message, want)
			}
			s.succeeds(t, spot.OpRollback)
			s.are(t, "web__1: 1 to 4, 4 desired of ami-1, 4 there")
		})
	}
}

// An aborted step changes nothing any more, until the rollback.
func TestStopped(t *testing.T) {
	t.Parallel()
	s := deployed(t).next(t, "ami-2")
	s.succeeds(t, spot.OpSetup)
	s.Hold(true)
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	s.env.At("Deploy", 2, func() { stop(executor.ErrCancelled) }) // it scales, and waits
	before := s.Groups()
	if _, err := s.kind.Do(ctx, s.assignment(t, spot.OpDeploy, percent(100)), s.env.Env); !errors.Is(err, executor.ErrCancelled) {
		t.Errorf("got %v; want that it was cancelled", err)
	}
	s.Hold(false)
	s.succeeds(t, spot.OpRollback)
	s.are(t, before[0])
}

// A server that breaks is asked again by who only reads; what changes something
// isn't sent twice.
func TestBrokenServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Break(2)
	s.succeeds(t, spot.OpSetup)
	s.are(t, "web__1: 0 to 4, 0 desired of ami-1, 0 there")
}
