package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
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

func TestTasksOverRealHTTP(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	server := httptest.NewServer(p.handler())
	defer server.Close()
	s := p.start(succeed, func(c *agent.Config) { c.URL, c.HTTP = server.URL+"/", nil })
	<-p.opened
	p.offer(ids(25)...)
	p.say(protocol.Wake{Type: "work"})
	for range 25 {
		<-p.done
	}
	s.finish()
	want := []protocol.Register{{
		ID: p.registers[0].ID, Name: "blue", Host: "h1", Tags: []string{"eu"}, Version: "v1", Kinds: []task.Kind{"test"}, Capacity: 10,
	}}
	if diff := cmp.Diff(want, p.registers); diff != "" {
		t.Errorf("registered (-want +got):\n%s", diff)
	}
	if p.count("goodbye") != 1 {
		t.Errorf("said goodbye %d times, want once", p.count("goodbye"))
	}
}

// TestCapacity: as many tasks as there are places, and the next as soon as
// one is free, although nobody wakes the agent again.
func TestCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		var now, most atomic.Int32
		p.offer(ids(25)...)
		begin := time.Now()
		s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
			for n := now.Add(1); n > most.Load(); {
				most.Store(n)
			}
			elapse(time.Second)
			now.Add(-1)
			return task.Result{Status: task.Succeeded}, nil
		}, nil)
		for range 25 {
			<-p.done
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("25 tasks of a second on 10 places took %s, want 3 s", took)
		}
		if most.Load() != 10 {
			t.Errorf("%d at once, want 10", most.Load())
		}
		if diff := cmp.Diff(protocol.Claim{Max: 10, Number: 1}, p.claims[0]); diff != "" {
			t.Errorf("the first claim, of all 10 places (-want +got):\n%s", diff)
		}
		s.finish()
	})
}

func TestWakeUps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wake func(*plane)
		want time.Duration // until the result
	}{
		"the socket says it":    {func(p *plane) { p.say(protocol.Wake{Type: "work"}) }, 0},
		"a lost wake-up":        {func(*plane) {}, time.Minute},
		"the socket comes back": {func(p *plane) { _ = p.socket.CloseNow(); <-p.opened }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlane(t)
				s := p.start(succeed, nil)
				<-p.opened
				synctest.Wait()
				begin := time.Now()
				p.offer(assignment("t1"))
				c.wake(p)
				<-p.done
				if took := time.Since(begin); took > c.want || took < c.want/2 {
					t.Errorf("the task was done after %s, want about %s", took, c.want)
				}
				s.finish()
			})
		})
	}
}

// TestNews: what else the process is hears of news when the control plane says so,
// and when it may have said so to nobody.
func TestNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		s := p.start(succeed, nil)
		<-p.opened
		synctest.Wait()
		for i, wake := range []func(){
			func() {},
			func() { p.say(protocol.Wake{Type: "news"}) },
			func() { _ = p.socket.CloseNow(); <-p.opened },
		} {
			wake()
			synctest.Wait()
			select {
			case <-s.agent.News():
			default:
				t.Errorf("after %d there was no signal", i)
			}
			if !s.agent.Connected() {
				t.Errorf("after %d it isn't connected", i)
			}
		}
		if p.count("claim") < 2 {
			t.Error("the agent doesn't look for work beside the news")
		}
		s.finish()
	})
}

func TestAnIdleDelegateCostsNextToNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		s := p.start(succeed, nil)
		elapse(time.Hour)
		got := [3]int{p.count("heartbeat"), p.count("claim"), p.count("socket")}
		if got[0] != 60 && got[0] != 59 || got[1] > 70 || got[2] != 1 {
			t.Errorf("in an hour %d heartbeats, %d claims and %d sockets; want one of each first two per minute and one socket", got[0], got[1], got[2])
		}
		s.finish()
	})
}

// quietPlane lets idle delegates be silent between polls.
func quietPlane(t *testing.T) *plane {
	t.Helper()
	p := newPlane(t)
	p.timing.PollEvery, p.timing.Quiet = 5*time.Minute, 5*time.Minute
	return p
}

// said is what the plane has heard in heartbeats and claims.
func (p *plane) said() ([]protocol.Heartbeat, []protocol.Claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.beats), slices.Clone(p.claims)
}

// While the socket is open, polls are an idle delegate's only words.
func TestAQuietDelegate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := quietPlane(t)
		s := p.start(succeed, nil)
		elapse(time.Hour)
		if beats, claims := p.count("heartbeat"), p.count("claim"); beats > 0 || claims > 15 {
			t.Errorf("in an hour %d heartbeats and %d claims; want no heartbeats and a claim every five minutes", beats, claims)
		}
		if _, claims := p.said(); claims[len(claims)-1].Quiet != 5*time.Minute {
			last := claims[len(claims)-1]
			t.Errorf("the last claim is %+v; want one that announces five minutes", last)
		}
		s.finish()
	})
}

// A task is renewed as ever, and afterwards the delegate says once that it is
// silent again.
func TestAQuietDelegateThatWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := quietPlane(t)
		s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
			elapse(95 * time.Second)
			return task.Result{Status: task.Succeeded}, nil
		}, nil)
		<-p.opened
		p.offer(assignment("t1"))
		p.say(protocol.Wake{Type: "work"})
		<-p.done
		if n := p.count("heartbeat"); n != 9 {
			t.Errorf("%d heartbeats in 95 s with a lease of 30 s, want 9", n)
		}
		elapse(2 * time.Hour)
		if beats, _ := p.said(); len(beats) != 10 || beats[8].Quiet != 0 || beats[9].Quiet != 5*time.Minute {
			t.Errorf("heartbeats are %+v; want one more, which announces five minutes", beats)
		}
		s.finish()
	})
}

// Without a socket silence means death, so the delegate beats at once and each
// minute until it is heard again.
func TestAQuietDelegateLosesItsSocket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := quietPlane(t)
		s := p.start(succeed, nil)
		<-p.opened
		elapse(time.Minute)
		gate := func(refuse func(string, int) error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.refuse = refuse
		}
		gate(func(what string, _ int) error {
			if what == "socket" {
				return fault.New(fault.Unavailable, "no socket")
			}
			return nil
		})
		synctest.Wait()
		_ = p.socket.CloseNow()
		elapse(time.Second)
		if beats, _ := p.said(); len(beats) != 1 || beats[0].Quiet != 0 {
			t.Errorf("heartbeats are %+v; want one at once that announces no silence", beats)
		}
		elapse(10 * time.Minute)
		if n := p.count("heartbeat"); n < 10 {
			t.Errorf("%d heartbeats in ten minutes without a socket; want one each minute", n)
		}
		gate(nil)
		<-p.opened
		elapse(time.Second)
		if _, claims := p.said(); claims[len(claims)-1].Quiet != 5*time.Minute {
			last := claims[len(claims)-1]
			t.Errorf("with a new socket the last claim is %+v; want one that announces five minutes", last)
		}
		s.finish()
	})
}

// untilStopped is an executor that runs until it is told to stop.
func untilStopped(ctx context.Context, _ task.Assignment, _ executor.Env) (task.Result, error) {
	<-ctx.Done()
	return task.Result{Changes: []task.Change{{Target: "somewhere", Action: "applied"}}}, context.Cause(ctx)
}

func TestStopped(t *testing.T) {
	t.Parallel()
	kept := []task.Change{{Target: "somewhere", Action: "applied"}}
	for name, c := range map[string]struct {
		stop func(*started)
		want task.Result
		took time.Duration
	}{
		"cancelled over the socket": {
			stop: func(s *started) { s.say(protocol.Wake{Type: "cancel", Task: "t1"}) },
			want: task.Result{Status: task.Aborted, Message: "the task was cancelled", Changes: kept},
		},
		"cancelled by a heartbeat": {
			stop: func(s *started) { s.mu.Lock(); s.cancelled = []task.ID{"t1"}; s.mu.Unlock() },
			want: task.Result{Status: task.Aborted, Message: "the task was cancelled", Changes: kept},
			took: 10 * time.Second, // a third of the lease
		},
		"timed out": {
			stop: func(*started) {},
			want: task.Result{Status: task.Failed, Message: "the task timed out", FailureTypes: []fault.FailureType{fault.Timeout}, Changes: kept},
			took: time.Hour,
		},
		"the delegate stops and the grace period is over": {
			stop: func(s *started) { s.stop() },
			want: task.Result{
				Status: task.Errored, Message: "the delegate stopped before the task ended",
				FailureTypes: []fault.FailureType{fault.DelegateRestart}, Changes: kept,
			},
			took: 10 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlane(t)
				p.offer(assignment("t1"))
				s := p.start(untilStopped, func(c *agent.Config) { c.Drain = 10 * time.Minute })
				<-p.opened
				synctest.Wait()
				begin := time.Now()
				c.stop(s)
				<-p.done
				if took := time.Since(begin).Round(time.Second); took != c.took {
					t.Errorf("it had its result after %s, want %s", took, c.took)
				}
				got, _ := p.resultOf("t1")
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
				s.finish()
			})
		})
	}
}

// TestLeaseLost: a delegate that can't renew a lease stops the work, because
// somebody else may be told to do it.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.refuse = func(what string, _ int) error {
			if what == "heartbeat" {
				return fault.New(fault.Unavailable, "out of reach")
			}
			return nil
		}
		p.offer(assignment("t1"))
		stopped := make(chan error, 1)
		begin := time.Now()
		s := p.start(func(ctx context.Context, _ task.Assignment, _ executor.Env) (task.Result, error) {
			<-ctx.Done()
			stopped <- context.Cause(ctx)
			return task.Result{}, context.Cause(ctx)
		}, nil)
		if cause := <-stopped; !errors.Is(cause, executor.ErrLeaseLost) {
			t.Errorf("stopped because %v, want %v", cause, executor.ErrLeaseLost)
		}
		if took := time.Since(begin); took < 30*time.Second || took > time.Minute {
			t.Errorf("stopped after %s, want soon after the lease's 30 s", took)
		}
		s.finish()
		if n := p.count("result"); n != 0 {
			t.Errorf("reported %d times, want never", n)
		}
	})
}

func TestLeasesAreRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.offer(assignment("t1"))
		s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
			elapse(95 * time.Second)
			return task.Result{Status: task.Succeeded}, nil
		}, nil)
		<-p.done
		if n := p.count("heartbeat"); n != 9 {
			t.Errorf("%d heartbeats in 95 s with a lease of 30 s, want 9", n)
		}
		if diff := cmp.Diff([]protocol.Held{{ID: "t1", Fence: 1}}, p.beats[0].Running); diff != "" {
			t.Errorf("held (-want +got):\n%s", diff)
		}
		s.finish()
	})
}

func TestReporting(t *testing.T) {
	t.Parallel()
	unavailable := fault.New(fault.Unavailable, "busy")
	for name, c := range map[string]struct {
		refuse []error
		posts  int
		status task.Status // empty: none arrived
	}{
		"at once":                            {posts: 1, status: task.Succeeded},
		"again until it arrives":             {[]error{unavailable, unavailable, unavailable}, 4, task.Succeeded},
		"never again once the lease is lost": {[]error{fault.New(fault.LeaseLost, "")}, 1, ""},
		"never again if the task is unknown": {[]error{fault.New(fault.NotFound, "")}, 1, ""},
		"a refused result becomes an error":  {[]error{fault.New(fault.Invalid, "too odd")}, 2, task.Errored},
		"an error is refused, too":           {[]error{fault.New(fault.Invalid, ""), fault.New(fault.Invalid, "")}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlane(t)
				p.refuse = func(what string, n int) error {
					if what == "result" && n <= len(c.refuse) {
						return c.refuse[n-1]
					}
					return nil
				}
				p.offer(assignment("t1"))
				s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
					return task.Result{Status: task.Succeeded, Outputs: json.RawMessage(`{}`)}, nil
				}, nil)
				elapse(time.Minute)
				s.finish()
				if n := p.count("result"); n != c.posts {
					t.Errorf("posted %d times, want %d", n, c.posts)
				}
				if r, _ := p.resultOf("t1"); r.Status != c.status {
					t.Errorf("result %+v, want status %q", r, c.status)
				}
			})
		})
	}
}

func TestExecutorsThatBreak(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run    executor.Executor
		change func(*task.Assignment)
		want   task.Status
		types  []fault.FailureType
		says   string
	}{
		"an error's failure types are its fault's": {
			run: func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
				return task.Result{}, fault.New(fault.Unavailable, "no route to host")
			},
			want: task.Errored, says: "no route to host",
			types: []fault.FailureType{fault.Connectivity, fault.RetryableTransientFailure},
		},
		"a panic": {
			run:  func(context.Context, task.Assignment, executor.Env) (task.Result, error) { panic("oh") },
			want: task.Errored, says: "the executor of test tasks broke: oh", types: []fault.FailureType{fault.Unknown},
		},
		"a kind that the delegate doesn't have": {
			run: succeed, change: func(a *task.Assignment) { a.Kind = "helm" },
			want: task.Errored, says: `delegate blue can't run tasks of kind "helm"`, types: []fault.FailureType{fault.ConfigurationFailure, fault.Unknown},
		},
		"a result over the limit": {
			run: func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
				doc, err := json.Marshal(strings.Repeat("x", task.MaxResult))
				return task.Result{Status: task.Succeeded, Outputs: doc}, err
			},
			want: task.Failed, says: "the result has 256 KiB; at most 256 KiB are kept", types: []fault.FailureType{fault.ConfigurationFailure, fault.Unknown},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			a := assignment("t1")
			if c.change != nil {
				c.change(&a)
			}
			p.offer(a)
			s := p.start(c.run, nil)
			<-p.done
			s.finish()
			got, _ := p.resultOf("t1")
			if got.Status != c.want || !strings.HasPrefix(got.Message, c.says) {
				t.Errorf("result %s %q, want %s %q", got.Status, got.Message, c.want, c.says)
			}
			if diff := cmp.Diff(c.types, got.FailureTypes); diff != "" {
				t.Errorf("failure types (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.offer(assignment("t1"))
		s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
			elapse(time.Minute)
			return task.Result{Status: task.Succeeded}, nil
		}, func(c *agent.Config) { c.Drain = 10 * time.Minute })
		<-p.opened
		synctest.Wait()
		s.stop()
		p.offer(assignment("t2"))
		p.say(protocol.Wake{Type: "work"})
		if err := <-s.end; err != nil {
			t.Error(err)
		}
		if r, _ := p.resultOf("t1"); r.Status != task.Succeeded {
			t.Errorf("the running task ended as %+v, want %s", r, task.Succeeded)
		}
		if _, ok := p.resultOf("t2"); ok || len(p.held) > 0 {
			t.Error("a draining delegate claimed another task")
		}
		if diff := cmp.Diff([]protocol.Held{{ID: "t1", Fence: 1}}, p.beats[0].Running); diff != "" || !p.beats[0].Draining {
			t.Errorf("the first heartbeat after the stop is %+v, want one that says draining and holds t1", p.beats[0])
		}
		if p.count("goodbye") != 1 {
			t.Errorf("said goodbye %d times, want once", p.count("goodbye"))
		}
	})
}

// TestTasksClaimedWhileStoppingAreReleased: the answer to a claim that was
// under way must not be lost.
func TestTasksClaimedWhileStoppingAreReleased(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.offer(assignment("t1"))
	ready := make(chan *started, 1)
	p.claiming = func() { (<-ready).stop() }
	s := p.start(succeed, nil)
	ready <- s
	if err := <-s.end; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]task.ID{"t1"}, p.released); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

func TestRegistering(t *testing.T) {
	t.Parallel()
	t.Run("a refusal is final", func(t *testing.T) {
		t.Parallel()
		s := newPlane(t).start(succeed, func(c *agent.Config) { c.Token = "wrong" })
		if err := <-s.end; !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("ended with %v, want %s", err, fault.Unauthenticated)
		}
	})
	t.Run("out of reach: again", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newPlane(t)
			p.refuse = func(what string, n int) error {
				if what == "register" && n < 4 {
					return fault.New(fault.Unavailable, "starting")
				}
				return nil
			}
			s := p.start(succeed, nil)
			<-p.opened
			s.finish()
		})
	})
	t.Run("forgotten by the control plane: again", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newPlane(t)
			forgotten := true
			p.refuse = func(what string, n int) error {
				if what == "register" && n > 1 {
					forgotten = false
				}
				if what == "claim" && forgotten {
					return fault.New(fault.NotFound, "no such delegate")
				}
				return nil
			}
			p.offer(assignment("t1"))
			s := p.start(succeed, nil)
			<-p.done
			s.finish()
			if len(p.registers) != 2 || p.registers[0].ID != p.registers[1].ID {
				t.Errorf("registered as %+v, want twice with one id", p.registers)
			}
		})
	})
	t.Run("stopped before it could", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newPlane(t)
			p.refuse = func(string, int) error { return fault.New(fault.Unavailable, "starting") }
			s := p.start(succeed, nil)
			elapse(time.Minute)
			s.finish()
		})
	})
}

func TestSocketsAreTriedAgainWithPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.refuse = func(what string, _ int) error {
			if what == "socket" {
				return fault.New(fault.Unavailable, "no sockets here")
			}
			return nil
		}
		s := p.start(succeed, nil)
		elapse(time.Hour)
		if n := p.count("socket"); n < 100 || n > 300 {
			t.Errorf("tried %d times in an hour, want every 15 to 30 s", n)
		}
		s.finish()
	})
}

func TestADeadSocketIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		p.deaf = true
		s := p.start(succeed, nil)
		<-p.opened
		begin := time.Now()
		<-p.opened
		if took := time.Since(begin); took > 2*time.Minute {
			t.Errorf("a socket without an answer was replaced after %s, want within 2 min", took)
		}
		s.finish()
	})
}

func TestScratchDirectory(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.offer(assignment("t1"))
	dirs := make(chan string, 2)
	s := p.start(func(_ context.Context, _ task.Assignment, env executor.Env) (task.Result, error) {
		for range 2 {
			dir, err := env.Dir()
			if err != nil {
				return task.Result{}, err
			}
			dirs <- dir
		}
		return task.Result{Status: task.Succeeded}, os.WriteFile(fmt.Sprintf("%s/f", <-dirs), nil, 0o600)
	}, nil)
	<-p.done
	s.finish()
	if r, _ := p.resultOf("t1"); r.Status != task.Succeeded {
		t.Fatalf("result %+v", r)
	}
	if _, err := os.Stat(<-dirs); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestSecretsAreInThePayloadOnly(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	a := assignment("t1")
	a.Payload = json.RawMessage(`{"n":12345678901234567890,"list":["x ⟦s-1⟧ y",true],"deep":{"⟦s-1⟧":"⟦s-2⟧"}}`)
	a.Secrets = map[string]string{"⟦s-1⟧": "quote\" and\nline", "⟦s-2⟧": "⟦s-1⟧"}
	p.offer(a)
	got := make(chan task.Assignment, 1)
	s := p.start(func(_ context.Context, a task.Assignment, _ executor.Env) (task.Result, error) {
		got <- a
		return task.Result{Status: task.Succeeded}, nil
	}, nil)
	<-p.done
	s.finish()
	r := <-got
	want := `{"deep":{"⟦s-1⟧":"⟦s-1⟧"},"list":["x quote\" and\nline y",true],"n":12345678901234567890}`
	if string(r.Payload) != want || r.Secrets != nil {
		t.Errorf("the executor got %s with secrets %v\nwant %s without", r.Payload, r.Secrets, want)
	}
}

func TestNoTaskIsRunTwice(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	var runs atomic.Int32
	s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
		runs.Add(1)
		return task.Result{Status: task.Succeeded}, nil
	}, nil)
	<-p.opened
	for batch := range slices.Chunk(ids(500), 7) {
		p.offer(batch...)
		p.say(protocol.Wake{Type: "work"})
	}
	for range 500 {
		<-p.done
	}
	s.finish()
	if runs.Load() != 500 {
		t.Errorf("%d runs of 500 tasks", runs.Load())
	}
}
