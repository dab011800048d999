package awswait

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Batch looks at several things with one call: those that the waits at one place
// have asked for, see Batches. Its zero value is ready.
type Batch[V any] struct {
	mu      sync.Mutex
	waiting []*waiter[V]
}

// Ask asks AWS about up to Most names, and answers with those that there are.
type Ask[V any] struct {
	Most int
	Call func(ctx context.Context, names []string) (map[string]V, error)
}

// waiter waits for the answer about a name.
type waiter[V any] struct {
	name   string
	due    time.Time
	early  time.Time      // from when on it is asked about with others: waits that began together stay together
	answer chan answer[V] // has room for one
}

type answer[V any] struct {
	value V
	found bool
	err   error
	again bool // whoever asked was stopped
}

// Until is the function Until for one name: judge gets what there is of it. Who
// of those that wait is due first asks, with his own credentials.
func (b *Batch[V]) Until(ctx context.Context, w Wait, name string, ask Ask[V], judge func(v V, found bool) (State, error)) error {
	c := newClock(ctx, w)
	pause := gather
	for {
		a, err := b.look(ctx, c, name, ask, pause)
		if err != nil {
			return err
		}
		var s State
		if err = a.err; err == nil {
			s, err = judge(a.value, a.found)
		}
		if err := c.judge(ctx, s, err); err != nil || s.Done {
			return err
		}
		pause = c.next()
	}
}

// gather is how long who looks at once lets others join in.
const gather = 50 * time.Millisecond

// Read looks at names once, with calls that begin after it was asked to, together with
// whoever waits or reads at that moment. It gives what there is.
func (b *Batch[V]) Read(ctx context.Context, names []string, ask Ask[V]) (map[string]V, error) {
	answers, errs := make([]answer[V], len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			if answers[i], errs[i] = b.look(ctx, &clock{began: time.Now()}, name, ask, gather); errs[i] == nil {
				errs[i] = answers[i].err
			}
		})
	}
	all.Wait()
	found := make(map[string]V, len(names))
	for i, a := range answers {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if a.found {
			found[names[i]] = a.value
		}
	}
	return found, nil
}

// look waits until somebody has asked about the name.
func (b *Batch[V]) look(ctx context.Context, c *clock, name string, ask Ask[V], pause time.Duration) (answer[V], error) {
	me := &waiter[V]{name: name, due: time.Now().Add(pause), early: time.Now().Add(pause / 2), answer: make(chan answer[V], 1)}
	b.join(me)
	defer b.leave(me)
	due, end := time.After(pause), c.end()
	for {
		select {
		case <-ctx.Done():
			return answer[V]{}, c.stopped(ctx)
		case a := <-me.answer:
			if !a.again {
				return a, nil
			}
			b.join(me)
			due = time.After(0)
		case <-due:
			for some := range slices.Chunk(b.take(me, ask.Most), ask.Most) {
				tell(ctx, ask, some)
			}
		case <-end:
			return answer[V]{}, c.expired()
		}
	}
}

func (b *Batch[V]) join(w *waiter[V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, w)
}

func (b *Batch[V]) leave(w *waiter[V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(o *waiter[V]) bool { return o == w })
}

// take removes those who are due or nearly so, and who is due next as far as the
// last call has room for more. There are none if somebody else has taken the waiter.
func (b *Batch[V]) take(me *waiter[V], most int) []*waiter[V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.waiting, me) {
		return nil
	}
	slices.SortStableFunc(b.waiting, func(x, y *waiter[V]) int { return x.early.Compare(y.early) })
	now, n := time.Now(), 0
	for n < len(b.waiting) && (n%most != 0 || !b.waiting[n].early.After(now)) {
		n++
	}
	taken := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	return taken
}

// tell asks about some names and tells who waits for them.
func tell[V any](ctx context.Context, ask Ask[V], some []*waiter[V]) {
	var names []string
	for _, w := range some {
		if !slices.Contains(names, w.name) {
			names = append(names, w.name)
		}
	}
	found, err := ask.Call(ctx, names)
	for _, w := range some {
		v, ok := found[w.name]
		w.answer <- answer[V]{value: v, found: ok, err: err, again: ctx.Err() != nil}
	}
}

// Batches are the batches of a delegate by their places: account, region and what
// is looked at, see aws.PlaceOf. Its zero value is ready.
type Batches[V any] struct {
	mu  sync.Mutex
	all map[string]*Batch[V]
}

// At is the batch of a place.
func (b *Batches[V]) At(place string) *Batch[V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[string]*Batch[V]{}
	}
	if b.all[place] == nil {
		b.all[place] = &Batch[V]{}
	}
	return b.all[place]
}
