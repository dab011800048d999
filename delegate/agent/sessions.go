package agent

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
)

const (
	// sessionsEvery is how often a delegate asks whether sessions are over.
	sessionsEvery = 15 * time.Second
	// toolsEvery is how often it looks for tools.
	toolsEvery = 10 * time.Minute
	// afterTask is how long it lets the control plane decide what comes after a
	// task that has ended: often that was the last of its session.
	afterTask = 200 * time.Millisecond
	// closing bounds how long it takes to close a session.
	closing = 2 * time.Minute
)

// sessions are those of its machine; nil where no kind opens any.
func (a *Agent) sessions() *executor.Sessions {
	for _, k := range a.Kinds {
		if k.Sessions != nil {
			return k.Sessions
		}
	}
	return nil
}

// machine is what the control plane hears of the delegate's machine.
func (a *Agent) machine(ctx context.Context) (name string, tools []string) {
	s := a.sessions()
	if s == nil {
		return "", nil
	}
	name, err := s.Machine()
	if err != nil {
		a.Log.WarnContext(ctx, "this machine has no name: no sessions are opened here", "error", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return name, a.tools
}

// lookForTools looks which tools the machine has, and says so if they are others than
// before.
func (a *Agent) lookForTools(ctx context.Context, s *executor.Sessions) {
	found := s.Tools(ctx)
	a.mu.Lock()
	same := slices.Equal(a.tools, found)
	a.tools = found
	a.mu.Unlock()
	if same || ctx.Err() != nil {
		return
	}
	if err := a.register(ctx); err != nil {
		a.Log.WarnContext(ctx, "can't say which tools this machine has; will try again", "error", err)
		a.mu.Lock()
		a.tools = nil
		a.mu.Unlock()
	}
}

// sessionLoop closes sessions of its machine that are over, whichever delegate
// has opened them.
func (a *Agent) sessionLoop(ctx context.Context) {
	s := a.sessions()
	if s == nil {
		return
	}
	tick, tools := time.NewTicker(sessionsEvery), time.NewTicker(toolsEvery)
	defer tick.Stop()
	defer tools.Stop()
	a.lookForTools(ctx, s)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tools.C:
			a.lookForTools(ctx, s)
		case <-tick.C:
		case <-a.over:
			if pause(ctx, afterTask) != nil {
				return
			}
		}
		a.closeSessions(ctx, s)
	}
}

func (a *Agent) closeSessions(ctx context.Context, s *executor.Sessions) {
	open := s.Open()
	if len(open) == 0 {
		return
	}
	var out task.SessionsOver
	if err := a.api.post(ctx, a.id+"/sessions", task.Sessions{Open: open[:min(len(open), task.MaxSessions)]}, &out); err != nil {
		a.Log.WarnContext(ctx, "can't ask which sessions are over; will ask again", "error", err)
		return
	}
	for _, id := range out.Over {
		own, stop := context.WithTimeout(ctx, closing)
		if err := s.Close(own, id); err != nil {
			a.Log.WarnContext(ctx, "can't close a session; will try again", "session", id, "error", err)
		}
		stop()
	}
}
