package awswait_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
)

var errThrottled = fmt.Errorf("operation error ECS: DescribeServices, %w", &smithy.GenericAPIError{Code: "ThrottlingException", Message: "Rate exceeded"})

// steady waits for something that is there after some looks.
func until(ctx context.Context, log *bytes.Buffer, look func(n int) (awswait.State, error)) (looks []time.Duration, err error) {
	began, n := time.Now(), 0
	err = awswait.Until(ctx, awswait.Wait{Pace: awswait.Steady(), Log: log}, func(context.Context) (awswait.State, error) {
		n++
		looks = append(looks, time.Since(began))
		return look(n)
	})
	return looks, err
}

// The pace grows, and varies by a fifth.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks, err := until(t.Context(), new(bytes.Buffer), func(n int) (awswait.State, error) { return awswait.State{Done: n == 60}, nil })
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(looks); i++ {
			gap, want := looks[i]-looks[i-1], 15*time.Second
			switch at := looks[i-1]; {
			case at < 15*time.Second:
				want = 3 * time.Second
			case at < time.Minute:
				want = 5 * time.Second
			case at < 5*time.Minute:
				want = 10 * time.Second
			}
			if gap < want*8/10 || gap > want*12/10 {
				t.Errorf("after %s the gap is %s; want %s, more or less", looks[i-1], gap, want)
			}
		}
	})
}

// What was just deployed is looked at often, and then seldom.
func TestWatch(t *testing.T) {
	t.Parallel()
	for watched, want := range map[time.Duration]time.Duration{0: time.Minute, 4 * time.Minute: time.Minute, 5 * time.Minute: 10 * time.Minute, time.Hour: 10 * time.Minute} {
		if got := awswait.Watch(0)(watched); got != want {
			t.Errorf("after %s the next look is in %s; want %s", watched, got, want)
		}
	}
	for seldom, want := range map[time.Duration][2]time.Duration{time.Hour: {time.Minute, time.Hour}, 30 * time.Second: {30 * time.Second, 30 * time.Second}} {
		pace := awswait.Watch(seldom)
		if got := [2]time.Duration{pace(0), pace(time.Hour)}; got != want {
			t.Errorf("at %s the looks are in %v; want %v", seldom, got, want)
		}
	}
}

// An account that is near its limits is looked at no more often than it is said.
func TestAtLeast(t *testing.T) {
	t.Parallel()
	pace := awswait.AtLeast(10*time.Second, awswait.Steady())
	if early, late := pace(0), pace(time.Hour); early != 10*time.Second || late != 15*time.Second {
		t.Errorf("the looks are in %s, and later in %s; want 10s and 15s", early, late)
	}
}

// The step's time is a minute, so the wait ends after 45 s.
func TestTheTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeoutCause(t.Context(), time.Minute, executor.ErrTimeout)
		defer stop()
		began := time.Now()
		_, err := until(ctx, new(bytes.Buffer), func(int) (awswait.State, error) {
			return awswait.State{Progress: "running 1 of 3"}, nil
		})
		if at := time.Since(began); at != 45*time.Second {
			t.Errorf("it ended after %s; want 45s", at)
		}
		if err == nil || fault.Failures(err)[0] != fault.Timeout || !strings.Contains(err.Error(), "running 1 of 3") {
			t.Errorf("error %v, %v; want Timeout with the last counts", err, fault.Failures(err))
		}
	})
}

// AWS throttles three times; one line says so, the interval
// is doubled, and the wait goes on.
func TestThrottling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		looks, err := until(t.Context(), &log, func(n int) (awswait.State, error) {
			if n <= 3 {
				return awswait.State{}, errThrottled
			}
			return awswait.State{Done: n == 5, Progress: "running"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), "throttles"); got != 1 {
			t.Errorf("%d lines about throttling; want 1:\n%s", got, log.String())
		}
		for i, want := range []time.Duration{6, 12, 24, 5} {
			if gap := looks[i+1] - looks[i]; gap < want*800*time.Millisecond || gap > want*1200*time.Millisecond {
				t.Errorf("gap %d is %s; want %d s, more or less", i, gap, want)
			}
		}
	})
}

func TestOtherErrorsEndIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		denied := errors.New("denied")
		looks, err := until(t.Context(), new(bytes.Buffer), func(int) (awswait.State, error) { return awswait.State{}, denied })
		if !errors.Is(err, denied) || len(looks) != 1 {
			t.Errorf("%v after %d looks; want the error at once", err, len(looks))
		}
	})
}

// Nothing is said while nothing changes, but for a line a minute.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		began := time.Now()
		_, err := until(t.Context(), &log, func(int) (awswait.State, error) {
			s := awswait.State{Progress: "running 1 of 2"}
			if time.Since(began) > 150*time.Second {
				s = awswait.State{Progress: "running 2 of 2", Done: true}
			}
			return s, nil
		})
		if got := strings.Split(strings.TrimSpace(log.String()), "\n"); err != nil || len(got) != 4 || got[3] != "running 2 of 2" {
			t.Errorf("%v, said:\n%s\nwant 3 lines in 150 s and the last", err, log.String())
		}
	})
}

func TestAborted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(executor.ErrCancelled) })
		began := time.Now()
		_, err := until(ctx, new(bytes.Buffer), func(int) (awswait.State, error) { return awswait.State{Progress: "running 1 of 3"}, nil })
		if !errors.Is(err, executor.ErrCancelled) || !strings.Contains(err.Error(), "running 1 of 3") || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %s; want the cause and how things stood, at once", err, time.Since(began))
		}
	})
}

// place is AWS with services that are steady after a time.
type place struct {
	mu    sync.Mutex
	calls [][]string
	fail  error
}

func (p *place) ask(most int) awswait.Ask[time.Time] {
	return awswait.Ask[time.Time]{Most: most, Call: func(ctx context.Context, names []string) (map[string]time.Time, error) {
		select { // a call takes a moment
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.calls = append(p.calls, names)
		out := map[string]time.Time{}
		for _, n := range names {
			if n != "gone" {
				out[n] = time.Now()
			}
		}
		return out, p.fail
	}}
}

// 12 services of a cluster take 2 calls a tick, and 30 take 3, where a call
// describes 10.
func TestWaitsShareTheirCalls(t *testing.T) {
	t.Parallel()
	for services, calls := range map[int]int{12: 2, 30: 3} {
		t.Run(fmt.Sprint(services), func(t *testing.T) {
			t.Parallel()
			waitsShareTheirCalls(t, services, calls)
		})
	}
}

func waitsShareTheirCalls(t *testing.T, services, each int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var p place
		var b awswait.Batches[time.Time]
		began := time.Now()
		var all sync.WaitGroup
		for n := range services {
			all.Go(func() {
				w := awswait.Wait{Pace: awswait.Steady(), Log: new(bytes.Buffer)}
				err := b.At("cluster").Until(t.Context(), w, fmt.Sprint("service", n), p.ask(10), func(at time.Time, found bool) (awswait.State, error) {
					if !found {
						t.Error("a service is missing")
					}
					return awswait.State{Done: at.Sub(began) > 15*time.Second}, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		ticks := int(time.Since(began) / (3 * time.Second * 8 / 10))
		if most := each * (ticks + 1); len(p.calls) > most { // also when they begin
			t.Errorf("%d calls in %s; want %d at most", len(p.calls), time.Since(began), most)
		}
		for _, names := range p.calls {
			if len(names) > 10 {
				t.Errorf("a call has %d names; want 10 at most", len(names))
			}
		}
	})
}

// Who reads once shares the call of those who wait, or read at that moment, and it
// begins after he has asked.
func TestReadsShareCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p place
		var b awswait.Batch[time.Time]
		began := time.Now()
		found, err := b.Read(t.Context(), []string{"a", "b", "gone"}, p.ask(10))
		if err != nil || len(found) != 2 || found["a"].Before(began) {
			t.Errorf("%v, %v", found, err)
		}
		var all sync.WaitGroup
		for n := range 20 {
			all.Go(func() {
				if _, err := b.Read(t.Context(), []string{fmt.Sprint(n)}, p.ask(10)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(p.calls) != 3 {
			t.Errorf("the calls were %v; want 3", p.calls)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(executor.ErrCancelled)
		if _, err := b.Read(ctx, []string{"a"}, p.ask(10)); !errors.Is(err, executor.ErrCancelled) {
			t.Errorf("of an aborted task it is %v", err)
		}
		p.fail = errThrottled
		if _, err := b.Read(t.Context(), []string{"a"}, p.ask(10)); !errors.Is(err, errThrottled) {
			t.Errorf("it is %v", err)
		}
	})
}

// Who asks for others and is stopped leaves them nothing but to ask themselves.
func TestAnAbortedWaitHarmsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p place
		var b awswait.Batch[time.Time]
		ctx, cancel := context.WithCancelCause(t.Context())
		w := awswait.Wait{Pace: awswait.Steady(), Log: new(bytes.Buffer)}
		first := make(chan error, 1)
		go func() {
			first <- b.Until(ctx, w, "a", p.ask(10), func(time.Time, bool) (awswait.State, error) { return awswait.State{}, nil })
		}()
		synctest.Wait() // it is asking, and takes a moment
		second := make(chan error, 1)
		go func() {
			second <- b.Until(t.Context(), w, "gone", p.ask(10), func(_ time.Time, found bool) (awswait.State, error) { return awswait.State{Done: !found}, nil })
		}()
		time.AfterFunc(2450*time.Millisecond, func() { cancel(executor.ErrCancelled) })
		if err := <-first; !errors.Is(err, executor.ErrCancelled) {
			t.Errorf("the first ended with %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("the second ended with %v", err)
		}
	})
}

// A batch that is throttled slows each of its waits, and its time ends as that of
// any other.
func TestABatchIsPatientToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := place{fail: errThrottled}
		var b awswait.Batch[time.Time]
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		err := b.Until(ctx, awswait.Wait{Pace: awswait.Steady(), Log: new(bytes.Buffer)}, "a", p.ask(10), func(time.Time, bool) (awswait.State, error) {
			return awswait.State{Done: true}, nil
		})
		if err == nil || fault.Failures(err)[0] != fault.Timeout || len(p.calls) > 6 {
			t.Errorf("%v after %d calls; want Timeout after few", err, len(p.calls))
		}
	})
}
