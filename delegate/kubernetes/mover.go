package kubernetes

import (
	"context"
	"fmt"
	"io"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// mover moves pods from one Deployment to another, in batches that keep their
// number between the budget less what may be missing and the budget plus what
// may be too many. from is nil if there is nothing to move from.
type mover struct {
	s        *session
	from, to *unstructured.Unstructured
	budget   int64
	log      io.Writer
}

// move goes on until the one has as many pods as wanted and the other the
// rest. It begins with what the cluster has, so it can be done again.
func (m *mover) move(ctx context.Context, want int64) error {
	to, err := m.pods(ctx, m.to)
	if err != nil {
		return err
	}
	from, err := m.pods(ctx, m.from)
	if err != nil {
		return err
	}
	if to > want {
		return fault.New(fault.Invalid, "%s has %d pods already, more than the %d of this phase; only a rollback takes pods back", display(m.to), to, want)
	}
	surge, missing := m.limits()
	keep := max(m.budget-want, 0)
	for to < want || from > keep {
		grow := min(max(surge, missing), want-to, max(m.budget+surge-to-from, 0))
		if m.from == nil { // nothing is in the way
			grow = want - to
		}
		if grow > 0 {
			to += grow
			if err := m.scale(ctx, m.to, to, true); err != nil {
				return err
			}
		}
		shrink := min(from-keep, to+from-(m.budget-missing))
		if shrink > 0 {
			from -= shrink
			if err := m.scale(ctx, m.from, from, false); err != nil {
				return err
			}
		}
		if grow <= 0 && shrink <= 0 {
			return fault.New(fault.Conflict, "%s can't take over pods: it has %d of %d, and %d others are in the way", display(m.to), to, want, from).Causing(fault.Unknown)
		}
	}
	return m.settled(ctx)
}

// settled waits until the Deployment that shrinks has no more pods than it
// asks for; whether these are ready is no matter.
func (m *mover) settled(ctx context.Context) error {
	if m.from == nil {
		return nil
	}
	return applying.About(m.from, m.s.client.Watch(ctx, m.from, func(live *unstructured.Unstructured) (bool, error) {
		if live == nil {
			return true, nil
		}
		seen, _ := number(live, "status", "observedGeneration")
		has, _ := number(live, "status", "replicas")
		return seen >= live.GetGeneration() && has <= replicas(live), nil
	}))
}

// pods is how many pods a Deployment asks for.
func (m *mover) pods(ctx context.Context, w *unstructured.Unstructured) (int64, error) {
	if w == nil {
		return 0, nil
	}
	live, err := m.s.client.Get(ctx, w)
	if err != nil {
		return 0, err
	}
	if live == nil {
		return 0, nil
	}
	return replicas(live), nil
}

// limits are how many pods may be too many and how many may be missing, by the
// new Deployment's own strategy.
func (m *mover) limits() (surge, missing int64) {
	surge = m.limit("maxSurge", true)
	missing = m.limit("maxUnavailable", false)
	if surge == 0 && missing == 0 {
		missing = 1
	}
	return surge, missing
}

func (m *mover) limit(key string, up bool) int64 {
	given := intstr.FromString("25%")
	path := []string{"spec", "strategy", "rollingUpdate", key}
	if n, ok := number(m.to, path...); ok {
		given = intstr.FromInt32(int32(min(n, math.MaxInt32))) //nolint:gosec // bounded
	} else if t := text(m.to, path...); t != "" {
		given = intstr.FromString(t)
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&given, int(m.budget), up)
	if err != nil { // the cluster has accepted it, so it can't be
		return 1
	}
	return int64(n)
}

// scale gives a Deployment a number of pods, and waits until they are ready if
// it is to have more.
func (m *mover) scale(ctx context.Context, w *unstructured.Unstructured, to int64, wait bool) error {
	say(m.log, "%s gets %d pods", display(w), to)
	if err := m.s.kubectl.rescale(ctx, w, fmt.Sprintf(`{"spec":{"replicas":%d}}`, to)); err != nil {
		return err
	}
	if !wait {
		return nil
	}
	// A Deployment that was complete doesn't watch its progress when it grows.
	ctx, cancel := context.WithTimeoutCause(ctx, progressDeadline(w), noProgress(w))
	defer cancel()
	return m.s.lookout.steady(ctx, []*unstructured.Unstructured{w})
}
