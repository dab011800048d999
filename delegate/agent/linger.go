package agent

import (
	"context"
	"sync"
)

// lingering is what goes on after its task has ended, until the agent's end.
type lingering struct {
	all  sync.WaitGroup
	over chan struct{}
}

func newLingering() *lingering { return &lingering{over: make(chan struct{})} }

// end ends all of it, and says whether it did. Once the delegate has said goodbye,
// nobody takes its logs any more.
func (l *lingering) end() bool {
	close(l.over)
	ended := make(chan struct{})
	go func() { l.all.Wait(); close(ended) }()
	return within(ended, stubborn)
}

// linger notes what goes on after the task.
func (e *environment) linger(last func(ctx context.Context)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lasting = append(e.lasting, last)
}

// leave ends the task's environment, unless the task has succeeded and something goes
// on: then what was logged so far is sent, and the rest as it comes.
func (e *environment) leave(succeeded bool) {
	e.mu.Lock()
	lasting, log := e.lasting, e.log
	e.mu.Unlock()
	ctx, stop := context.WithCancel(context.WithoutCancel(e.task.ctx))
	if !succeeded || log == nil || len(lasting) == 0 {
		stop()
		for _, last := range lasting {
			last(ctx)
		}
		e.close()
		return
	}
	_ = log.Flush(ctx) // the flush loop tries again
	e.agent.lingering.all.Go(func() {
		defer stop()
		go e.heard(ctx, stop)
		for _, last := range lasting {
			last(ctx)
		}
		e.close()
	})
}

// heard calls stop as soon as nobody takes the task's log any more, or the agent ends.
func (e *environment) heard(ctx context.Context, stop func()) {
	unheard := make(chan struct{})
	go func() { e.flushed.Wait(); close(unheard) }()
	select {
	case <-unheard:
	case <-e.agent.lingering.over:
	case <-ctx.Done():
	}
	stop()
}
