package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// A heartbeat of an idle delegate that doesn't arrive is sent again soon, each
// time a little later, and as ever once one has arrived.
func TestAnIdleDelegatesHeartbeatIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t)
		var at []time.Time
		p.refuse = func(what string, n int) error {
			if what != "heartbeat" {
				return nil
			}
			at = append(at, time.Now())
			if n <= 4 {
				return fault.New(fault.Unavailable, "out of reach")
			}
			return nil
		}
		s := p.start(succeed, nil)
		elapse(4 * time.Minute)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(at) < 7 {
			t.Fatalf("%d heartbeats in four minutes, want at least 7", len(at))
		}
		for i, most := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			if gap := at[i+1].Sub(at[i]); gap > most || gap < most/2 {
				t.Errorf("try %d comes %s after the one before, want %s to %s", i+2, gap, most/2, most)
			}
		}
		if gap := at[6].Sub(at[5]); gap != time.Minute {
			t.Errorf("after one that has arrived the next comes %s later, want a minute", gap)
		}
		p.mu.Unlock()
		s.finish()
		p.mu.Lock()
	})
}

// A socket that closes while a heartbeat is on its way that relies on it takes
// the silence back at once.
func TestASocketThatClosesDuringAHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := quietPlane(t)
		held := make(chan struct{})
		p.refuse = func(what string, n int) error {
			if what == "socket" && n > 1 {
				return fault.New(fault.Unavailable, "no socket")
			}
			return nil
		}
		p.beating = func(n int) {
			if n == 10 {
				held <- struct{}{}
				<-held
			}
		}
		s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
			elapse(95 * time.Second) // nine heartbeats
			return task.Result{Status: task.Succeeded}, nil
		}, nil)
		<-p.opened
		p.offer(assignment("t1")) // after it the delegate beats once, and will be quiet
		p.say(protocol.Wake{Type: "work"})
		<-p.done
		<-held
		_ = p.socket.CloseNow()
		elapse(time.Millisecond)
		closed := time.Now()
		held <- struct{}{}
		elapse(time.Second)
		beats, _ := p.said()
		if len(beats) != 11 || beats[9].Quiet == 0 || beats[9].Line != 1 || beats[10].Quiet != 0 {
			t.Errorf("a second after %s the heartbeats are %+v; want one that relies on the first socket, and one at once that announces nothing", closed, beats)
		}
		s.finish()
	})
}
