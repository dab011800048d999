package agent_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// counting is an executor that succeeds and counts how often it began.
func counting(n *atomic.Int32) executor.Executor {
	return func(ctx context.Context, t task.Assignment, env executor.Env) (task.Result, error) {
		n.Add(1)
		return succeed(ctx, t, env)
	}
}

// What a claim got whose answer never came is offered again at once, and begun
// once.
func TestALostClaimIsOfferedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.cut = func(n int) bool { return n <= 3 }
		p.offer(ids(5)...)
		var began atomic.Int32
		begin := time.Now()
		s := p.start(counting(&began), nil)
		for range 5 {
			<-p.done
		}
		if took := time.Since(begin); took > 8*time.Second {
			t.Errorf("after three lost answers the tasks were done in %s, want within the pauses of 1, 2 and 4 s", took)
		}
		if began.Load() != 5 {
			t.Errorf("5 tasks began %d times", began.Load())
		}
		_, claims := p.said()
		if diff := cmp.Diff([]int64{1, 2, 3}, claims[3].Lost); diff != "" {
			t.Errorf("lost claims that the fourth names (-want +got):\n%s", diff)
		}
		s.finish()
	})
}

// The same over a real connection that breaks.
func TestALostClaimOverRealHTTP(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.cut = func(n int) bool { return n == 1 }
	p.offer(ids(5)...)
	server := httptest.NewServer(p.handler())
	defer server.Close()
	var began atomic.Int32
	s := p.start(counting(&began), func(c *agent.Config) { c.URL, c.HTTP = server.URL, nil })
	for range 5 {
		<-p.done
	}
	s.finish()
	if began.Load() != 5 {
		t.Errorf("5 tasks began %d times", began.Load())
	}
}

// A server may come to a claim long after its delegate has given it up. What it
// grants then is given back too.
func TestAClaimThatIsGrantedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.refuse = func(what string, n int) error {
			if what == "claim" && n == 1 {
				return fault.New(fault.Unavailable, "no answer in time")
			}
			return nil
		}
		var began atomic.Int32
		s := p.start(counting(&began), nil)
		elapse(time.Minute)
		p.mu.Lock()
		p.open = ids(1)
		p.grant(protocol.Claim{Number: 1, Max: 1})
		p.mu.Unlock()
		late := time.Now()
		<-p.done
		if took := time.Since(late); took > 20*time.Second {
			t.Errorf("what was granted late was done after %s, want within some 15 s", took)
		}
		if began.Load() != 1 {
			t.Errorf("the task began %d times", began.Load())
		}
		elapse(10 * time.Minute)
		if _, claims := p.said(); len(claims[len(claims)-1].Lost) > 0 {
			t.Errorf("after ten minutes a claim still names %v as lost", claims[len(claims)-1].Lost)
		}
		s.finish()
	})
}

// A delegate that stops while a claim is on its way gives back what that got,
// before its goodbye ends what it holds.
func TestALostClaimOfADelegateThatStops(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]string{"no answer": "claim", "it can't release": "release"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlane(t)
				p.offer(assignment("t1"))
				p.cut = func(int) bool { return refused == "claim" }
				p.refuse = func(what string, _ int) error {
					if what == "release" {
						return fault.New(fault.Unavailable, "out of reach")
					}
					return nil
				}
				asked := make(chan struct{})
				first := true
				p.claiming = func() {
					if first {
						first = false
						asked <- struct{}{}
						<-asked
					}
				}
				var began atomic.Int32
				s := p.start(counting(&began), nil)
				<-asked
				s.stop()
				asked <- struct{}{}
				s.finish()
				p.mu.Lock()
				defer p.mu.Unlock()
				if len(p.open) != 1 || len(p.held) != 0 || began.Load() != 0 {
					t.Errorf("%d tasks are open and %d held, %d began; want one open", len(p.open), len(p.held), began.Load())
				}
			})
		})
	}
}

// A delegate without a free place says so too.
func TestALostClaimOfADelegateThatIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.offer(ids(3)...)
		p.cut = func(n int) bool { return n == 2 }
		s := p.start(untilStopped, func(c *agent.Config) { c.Capacity = 2 })
		<-p.opened
		synctest.Wait()
		p.mu.Lock()
		p.cancelled = []task.ID{"t0"}
		p.mu.Unlock()
		<-p.done // the place that gets free is claimed for, in vain
		elapse(10 * time.Second)
		p.mu.Lock()
		running := len(p.held)
		told := slices.ContainsFunc(p.claims, func(c protocol.Claim) bool { return len(c.Lost) > 0 })
		p.mu.Unlock()
		if running != 2 || !told {
			t.Errorf("%d tasks are held, told of what was lost: %v; want both places taken again", running, told)
		}
		s.finish()
	})
}
