package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// watchers are watches under way in a test, by their releases.
type watchers struct {
	mu      sync.Mutex
	running map[string]task.Watch
	report  map[string]func(task.Observed) error
	end     map[string]chan error
}

func newWatchers() *watchers {
	return &watchers{running: map[string]task.Watch{}, report: map[string]func(task.Observed) error{}, end: map[string]chan error{}}
}

// watch is a watcher that reports and ends when the test says so.
func (w *watchers) watch(ctx context.Context, one task.Watch, report func(context.Context, task.Observed) error) error {
	name := fmt.Sprint(one.Target.Release, " ", one.Fence)
	end := make(chan error)
	w.mu.Lock()
	w.running[name], w.end[name] = one, end
	w.report[name] = func(o task.Observed) error { return report(ctx, o) }
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.running, name)
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-end:
		return err
	}
}

// names are those that run, once everything has come to rest.
func (w *watchers) names() map[string]bool {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]bool{}
	for name := range w.running {
		out[name] = true
	}
	return out
}

func watchOf(release string, fence int64) task.Watch {
	return task.Watch{ID: "id-" + release, Fence: fence, Kind: lane.Kind, Target: task.Target{Release: release}}
}

func watching(w *watchers) func(*agent.Config) {
	return func(c *agent.Config) { c.Kinds[lane.Kind] = executor.Kind{Watch: w.watch} }
}

func TestWatchesComeAndGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, w := newPlane(t), newWatchers()
		p.want(watchOf("a", 1), watchOf("b", 1))
		s := p.start(succeed, watching(w))
		for _, c := range []struct {
			name string
			do   func()
			want map[string]bool
		}{
			{"at the start", func() {}, map[string]bool{"a 1": true, "b 1": true}},
			{"one is dropped, one is new", func() { p.want(watchOf("b", 1), watchOf("c", 4)); elapse(90 * time.Second) }, map[string]bool{"b 1": true, "c 4": true}},
			{"a deployment changed one", func() { p.want(watchOf("b", 2), watchOf("c", 4)); elapse(90 * time.Second) }, map[string]bool{"b 2": true, "c 4": true}},
			{"one ended with an error", func() { w.end["c 4"] <- errors.New("no use"); synctest.Wait() }, map[string]bool{"b 2": true}},
			{"and is watched again", func() { elapse(90 * time.Second) }, map[string]bool{"b 2": true, "c 4": true}},
		} {
			c.do()
			if diff := cmp.Diff(c.want, w.names()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
		}
		s.finish()
		if diff := cmp.Diff(map[string]bool{}, w.names()); diff != "" {
			t.Errorf("after the end (-want +got):\n%s", diff)
		}
	})
}

func TestReportsOfWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, w := newPlane(t), newWatchers()
		one := watchOf("a", 1)
		one.Place, one.Secrets = json.RawMessage(`{"cluster":{"token":"((t))"}}`), map[string]string{"((t))": "hunter2"}
		p.want(one)
		s := p.start(succeed, watching(w))
		w.names()
		if got := w.running["a 1"]; string(got.Place) != `{"cluster":{"token":"hunter2"}}` || got.Secrets != nil {
			t.Errorf("the watcher got the place %s and the secrets %v", got.Place, got.Secrets)
		}
		seen := task.Instance{Name: "x", Properties: map[string]string{"login": "hunter2"}}
		if err := w.report["a 1"](task.Observed{Trouble: "hunter2 was refused", Instances: []task.Instance{seen}}); err != nil {
			t.Fatal(err)
		}
		seen.Properties = map[string]string{"login": "**************"}
		want := task.Observed{Watched: task.Watched{ID: "id-a", Fence: 1}, Trouble: "************** was refused", Instances: []task.Instance{seen}}
		if diff := cmp.Diff(want, <-p.observed); diff != "" {
			t.Errorf("the report (-want +got):\n%s", diff)
		}

		p.want(watchOf("a", 2)) // a deployment: the next report is refused, and the watch begins anew at once
		err := w.report["a 1"](task.Observed{})
		if !fault.Is(err, fault.LeaseLost) {
			t.Errorf("the report under an old fence: %v", err)
		}
		w.end["a 1"] <- err
		if diff := cmp.Diff(map[string]bool{"a 2": true}, w.names()); diff != "" {
			t.Errorf("watches (-want +got):\n%s", diff)
		}
		s.finish()
	})
}

// A delegate that can't watch what it is to watch says so, and goes on.
func TestAKindWithoutAWatcherIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, w := newPlane(t), newWatchers()
		other := watchOf("b", 1)
		other.Kind = "trial"
		p.want(watchOf("a", 1), other)
		s := p.start(succeed, watching(w))
		if diff := cmp.Diff(map[string]bool{"a 1": true}, w.names()); diff != "" {
			t.Errorf("watches (-want +got):\n%s", diff)
		}
		want := task.Observed{Watched: task.Watched{ID: "id-b", Fence: 1}, Trouble: `delegate blue has no watcher for what tasks of the kind "trial" put somewhere`}
		if diff := cmp.Diff(want, <-p.observed); diff != "" {
			t.Errorf("the report (-want +got):\n%s", diff)
		}
		elapse(10 * time.Minute)
		if n := p.count("instances"); n != 1 {
			t.Errorf("it was told %d times in ten minutes, want once", n)
		}
		s.finish()
	})
}

func TestADeploymentIsWatchedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, w := newPlane(t), newWatchers()
		s := p.start(func(context.Context, task.Assignment, executor.Env) (task.Result, error) {
			p.want(watchOf("a", 1))
			return task.Result{Status: task.Succeeded, Changes: []task.Change{{Target: "somewhere"}}}, nil
		}, watching(w))
		<-p.opened
		synctest.Wait()
		p.offer(assignment("t1"))
		p.say(protocol.Wake{Type: "work"})
		<-p.done
		if diff := cmp.Diff(map[string]bool{"a 1": true}, w.names()); diff != "" {
			t.Errorf("watches (-want +got):\n%s", diff)
		}
		s.finish()
	})
}

// Something new to watch needn't wait for the next poll.
func TestADelegateIsToldToLookAround(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, w := newPlane(t), newWatchers()
		s := p.start(succeed, watching(w))
		<-p.opened
		synctest.Wait()
		p.want(watchOf("a", 1))
		p.say(protocol.Wake{Type: "watch"})
		if diff := cmp.Diff(map[string]bool{"a 1": true}, w.names()); diff != "" {
			t.Errorf("watches (-want +got):\n%s", diff)
		}
		s.finish()
	})
}

func TestWatchingCostsOneRequestForEachPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, w := newPlane(t), newWatchers()
		for i := range 100 {
			p.watch = append(p.watch, watchOf(fmt.Sprint(i), 1))
		}
		s := p.start(succeed, watching(w))
		elapse(time.Hour)
		if got := p.count("watches"); got < 50 || got > 70 || p.count("instances") != 0 {
			t.Errorf("in an hour with a poll each minute, 100 watches made %d and %d requests", got, p.count("instances"))
		}
		s.finish()
	})
}
