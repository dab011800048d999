// Package share divides places among those who ask for them, so that nobody
// who asks for many keeps the others waiting: each may have a share of them,
// and those who wait take turns.
//
// What a place is for and who somebody is are the callers' to say, and how long
// a place is held.
package share

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrFull is of somebody for whom as many wait already as may.
var ErrFull = errors.New("too many are waiting")

type whoKey struct{}

// With gives a context whose work is somebody's, for places that are divided
// further in.
func With(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// Who is whose work a context's is; empty for what is nobody's own, such as what
// the process does by itself.
func Who(ctx context.Context) string {
	who, _ := ctx.Value(whoKey{}).(string)
	return who
}

// Places are what is divided.
type Places struct {
	most, each, waiting int

	mu    sync.Mutex
	taken int
	lines map[string]*line // of those who have a place or wait for one
	turns []*line          // those in which somebody waits, in turn
}

// line is what one has and waits for.
type line struct {
	who   string
	taken int
	queue []chan struct{} // closed when its place is there
}

// New makes Places: so many in all, of which one has at most each, and waits for
// at most so many more; 0: for any number.
func New(most, each, waiting int) *Places {
	return &Places{most: most, each: each, waiting: waiting, lines: map[string]*line{}}
}

// Enter waits for a place. Whoever has it gives it back by leave, once. The
// error is ErrFull or the context's.
func (p *Places) Enter(ctx context.Context, who string) (leave func(), err error) {
	l, place, err := p.queue(who)
	if err != nil {
		return nil, err
	}
	select {
	case <-place:
	case <-ctx.Done():
		p.giveUp(l, place)
		return nil, context.Cause(ctx)
	}
	return sync.OnceFunc(func() { p.leave(l) }), nil
}

// queue puts somebody at the end of his line, and gives what is free.
func (p *Places) queue(who string) (*line, chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[who]
	if l == nil {
		l = &line{who: who}
		p.lines[who] = l
	}
	if p.waiting > 0 && len(l.queue) >= p.waiting {
		return nil, nil, ErrFull
	}
	place := make(chan struct{})
	if l.queue = append(l.queue, place); len(l.queue) == 1 {
		p.turns = append(p.turns, l)
	}
	p.give()
	return l, place, nil
}

// giveUp takes out of a line who doesn't wait any more.
func (p *Places) giveUp(l *line, place chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(l.queue, place)
	if i < 0 { // the place came at the same moment
		p.back(l)
		return
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	p.tidy(l)
}

func (p *Places) leave(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.back(l)
}

// back takes a place back and gives it to who is next.
func (p *Places) back(l *line) {
	l.taken--
	p.taken--
	p.tidy(l)
	p.give()
}

// give gives what is free to those whose turn it is. Who has had one is the
// last again; who has his share is passed over.
func (p *Places) give() {
	for p.taken < p.most {
		i := slices.IndexFunc(p.turns, func(l *line) bool { return l.taken < p.each })
		if i < 0 {
			return
		}
		l := p.turns[i]
		p.turns = slices.Delete(p.turns, i, i+1)
		close(l.queue[0])
		l.queue = l.queue[1:]
		l.taken++
		p.taken++
		if len(l.queue) > 0 {
			p.turns = append(p.turns, l)
		}
	}
}

// tidy forgets a line in which nobody waits, and one that has nothing.
func (p *Places) tidy(l *line) {
	if len(l.queue) > 0 {
		return
	}
	p.turns = slices.DeleteFunc(p.turns, func(t *line) bool { return t == l })
	if l.taken == 0 {
		delete(p.lines, l.who)
	}
}
