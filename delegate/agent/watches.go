package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/delegate/identity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// watches are the releases that the agent watches. Only watchLoop begins and
// ends them.
type watches struct {
	mu      sync.Mutex
	held    map[string]*watched
	running sync.WaitGroup
}

type watched struct {
	task.Watched
	cancel context.CancelFunc
}

// watches says whether the delegate can watch anything.
func (a *Agent) watches() bool {
	for _, k := range a.Kinds {
		if k.Watch != nil {
			return true
		}
	}
	return false
}

// watchLoop asks for releases to watch until ctx ends: with each poll, and as
// soon as a task has changed what runs or a watch has ended. The watches
// themselves cost nothing until something changes.
func (a *Agent) watchLoop(ctx context.Context) {
	if !a.watches() {
		return
	}
	defer a.watching.running.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-a.look:
		case <-timer.C:
		}
		if err := a.lookAround(ctx); err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "can't ask what to watch; will try again", "error", err)
			timer.Reset(backOff(failures))
			failures++
			continue
		}
		failures = 0
		timer.Reset(spread(a.watchEvery()))
	}
}

// watchEvery is how often an agent asks what to watch: nobody is waiting.
func (a *Agent) watchEvery() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.timing.PollEvery
}

// lookAround asks what to watch and begins and ends watches accordingly.
func (a *Agent) lookAround(ctx context.Context) error {
	var out protocol.Watches
	if err := a.api.post(ctx, a.id+"/watches", protocol.Watching{Held: a.watching.list()}, &out); err != nil {
		return a.known(ctx, err)
	}
	for _, id := range out.Drop {
		a.watching.end(id, nil)
	}
	for _, w := range out.Watch {
		a.beginWatch(ctx, w)
	}
	return nil
}

// list is what the agent watches, in the order of ids.
func (w *watches) list() []task.Watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []task.Watched{}
	for _, one := range w.held {
		out = append(out, one.Watched)
	}
	slices.SortFunc(out, func(a, b task.Watched) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// begin puts a watch in the place of the one of its id, which ends.
func (w *watches) begin(id string, one *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old := w.held[id]; old != nil {
		old.cancel()
	}
	if w.held == nil {
		w.held = map[string]*watched{}
	}
	w.held[id] = one
}

// end ends a watch, unless another has taken its place. No watch in particular
// means whichever there is.
func (w *watches) end(id string, one *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if held := w.held[id]; held != nil && (one == nil || held == one) {
		held.cancel()
		delete(w.held, id)
	}
}

// beginWatch watches a release in the background.
func (a *Agent) beginWatch(ctx context.Context, w task.Watch) {
	ctx, release := a.dog.Guard(ctx, rand.Text())
	ctx, cancel := context.WithCancel(ctx)
	one := &watched{Watched: task.Watched{ID: w.ID, Fence: w.Fence}, cancel: cancel}
	a.watching.begin(w.ID, one)
	a.watching.running.Go(func() {
		defer release()
		err := a.watch(ctx, w)
		over := ctx.Err() != nil
		a.watching.end(w.ID, one)
		switch {
		case over:
		case fault.Is(err, fault.LeaseLost):
			signal(a.look) // somebody else's, or to be watched anew
		case err != nil: // asked for again with the next poll
			a.Log.WarnContext(ctx, "a watch of instances has ended", "service", w.Target.Service, "environment", w.Target.Environment, "error", err)
		}
	})
}

// watch runs a watcher with the secrets in place, and hides them in what it
// says.
func (a *Agent) watch(ctx context.Context, w task.Watch) (err error) {
	mask := redact.New()
	hides := len(w.Secrets)+len(w.LateSecrets)+len(w.Tokens) > 0
	for _, value := range w.Secrets {
		mask.Add(value)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the watcher broke: %v\n%s", p, debug.Stack())
		}
		if err != nil && hides {
			err = hidden{mask.Text(err.Error()), err}
		}
	}()
	hide := func(values ...string) { mask.Add(values...) }
	ctx = identity.With(ctx, a.watchTokens(w, hide).get)
	secrets, err := a.made(ctx, w.Secrets, w.LateSecrets, hide)
	if err != nil {
		return err
	}
	if w.Place, err = reveal(w.Place, secrets); err != nil {
		return fmt.Errorf("the place of service %s: %w", w.Target.Service, err)
	}
	w.Secrets, w.LateSecrets, w.Tokens = nil, nil, nil
	watcher := a.Kinds[w.Kind].Watch
	if watcher == nil {
		watcher = a.unwatched
	}
	return watcher(ctx, w, func(ctx context.Context, o task.Observed) error {
		o.Watched, o.Trouble, o.Instances = task.Watched{ID: w.ID, Fence: w.Fence}, mask.Text(o.Trouble), masked(o.Instances, mask.Text)
		return a.api.post(ctx, a.id+"/instances", o, nil)
	})
}

// unwatched says again and again that this delegate has no watcher for what it
// is to watch: it may be older than the control plane.
func (a *Agent) unwatched(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
	for {
		if err := report(ctx, task.Observed{Trouble: fmt.Sprintf("delegate %s has no watcher for what tasks of the kind %q put somewhere", a.Name, w.Kind)}); err != nil {
			return err
		}
		if err := pause(ctx, task.ObserveEvery); err != nil {
			return err
		}
	}
}

// masked are instances with the secrets hidden in what is said of them.
func masked(list []task.Instance, hide func(string) string) []task.Instance {
	out := slices.Clone(list)
	for i := range out {
		properties := map[string]string{}
		for name, value := range out[i].Properties {
			properties[name] = hide(value)
		}
		out[i].Describe(properties)
	}
	return out
}

// hidden is an error whose text has its secrets masked.
type hidden struct {
	text string
	err  error
}

func (h hidden) Error() string        { return h.text }
func (h hidden) Is(target error) bool { return errors.Is(h.err, target) }
func (h hidden) As(target any) bool   { return errors.As(h.err, target) }
