// Package watchdog ends what the tasks of a delegate have started once the
// delegate itself is killed: a script must not go on beside its next attempt. A
// small process beside the delegate notices, as its pipe closes, and kills
// every process that has a running task's mark in its environment.
//
// What a task's end stops is its executor's matter; so is what a task leaves
// behind on purpose, which lives on here too. Marks are found below /proc, so
// there is a watchdog on Linux only.
//
//	delegate --"+ mark", "- mark"--> sh (in a group of its own)
//	   X     -------- EOF ---------> this program as Answer --SIGKILL--> what is marked
package watchdog

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Watchdog knows which tasks run. Its process starts with the first program
// that one of them starts. It is for many goroutines.
type Watchdog struct {
	log *slog.Logger

	mu     sync.Mutex
	live   map[string]bool // marks that the process has to know
	dog    *process        // nil: none runs
	closed bool
	warned bool
}

// New makes a Watchdog; nothing runs yet.
func New(log *slog.Logger) *Watchdog { return &Watchdog{log: log, live: map[string]bool{}} }

// Guard gives a context with a mark, for all that one task starts. Whoever
// starts a program under it uses Environ. The mark is one word, and nobody
// else's; release says that the task has ended.
func (w *Watchdog) Guard(ctx context.Context, mark string) (guarded context.Context, release func()) {
	g := &guard{dog: w, mark: mark}
	return context.WithValue(ctx, guardKey{}, g), g.release
}

// guard is one task's mark.
type guard struct {
	dog  *Watchdog
	mark string
}

type guardKey struct{}

// Environ is an environment for a program that is about to start: with the
// mark of the context, if it has one, which the watchdog knows from now on.
func Environ(ctx context.Context, environ []string) []string {
	g, ok := ctx.Value(guardKey{}).(*guard)
	if !ok {
		return environ
	}
	g.dog.watch(ctx, g.mark)
	return append(slices.Clip(environ), variable(g.mark)+"=1")
}

// variable is the environment variable that is a mark. Each has its own, so
// that a delegate which a task starts doesn't hide the task's.
func variable(mark string) string { return "SLIPWAY_GUARD_" + mark }

// watch has the process know a mark. Without a process the task goes on all the
// same: it is only less safe.
func (w *Watchdog) watch(ctx context.Context, mark string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.live[mark] {
		return
	}
	w.live[mark] = true
	if w.tell('+', mark) {
		return
	}
	if err := w.restart(); err != nil && !w.warned {
		w.warned = true
		w.log.WarnContext(ctx, "no watchdog; if this process is killed, what its tasks have started goes on", "error", err)
	}
}

func (g *guard) release() {
	w := g.dog
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live[g.mark] {
		delete(w.live, g.mark)
		w.tell('-', g.mark)
	}
}

// restart starts a process and tells it all. The caller holds the lock.
func (w *Watchdog) restart() error {
	dog, err := start()
	if err != nil || dog == nil {
		return err
	}
	w.dog = dog
	for _, mark := range slices.Sorted(maps.Keys(w.live)) {
		w.tell('+', mark)
	}
	return nil
}

// slow is how long the process may take to read. One that was stopped reads
// never.
const slow = 5 * time.Second

// tell tells the process of a mark, if there is one that listens. The caller
// holds the lock.
func (w *Watchdog) tell(what byte, mark string) bool {
	if w.dog == nil {
		return false
	}
	_ = w.dog.pipe.SetWriteDeadline(time.Now().Add(slow)) // a pipe has deadlines
	if _, err := w.dog.pipe.WriteString(string(what) + " " + mark + "\n"); err != nil {
		w.dog.end()
		w.dog = nil
	}
	return w.dog != nil
}

// Close ends the process. It kills what tasks have started that still run.
func (w *Watchdog) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.dog != nil {
		_ = w.dog.pipe.Close() // that says it
		w.dog = nil
	}
}
