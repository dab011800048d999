package feed

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/store"
)

// Subscriber gets every event, in the order in which they happened.
type Subscriber struct {
	Name string // under which it is known what it has got
	// Handle takes in an event, which may come again. An error makes it come
	// again and the later ones wait, so what can't pass isn't one.
	Handle func(ctx context.Context, e Event) error
}

// patience is how old an event gets before it is passed over. EventBridge
// gives its targets as long.
const patience = 24 * time.Hour

// Loop gives the changes of one machine's store to subscribers. On AWS
// EventBridge does that.
type Loop struct {
	Changes     store.Changes
	Reader      *Reader
	Subscribers []Subscriber
	Now         func() time.Time
	Log         *slog.Logger
}

// Run gives until ctx ends. Subscribers don't wait for each other.
func (l *Loop) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range l.Subscribers {
		g.Go(func() error {
			l.serve(ctx, s)
			return nil
		})
	}
	return g.Wait()
}

// The pauses between looks: after one that found nothing, and the longest
// after one that failed.
const (
	pause        = 500 * time.Millisecond
	longestPause = time.Minute
)

// part is how many changes are read at a time.
const part = 100

func (l *Loop) serve(ctx context.Context, s Subscriber) {
	wait := pause
	for {
		more, err := l.give(ctx, s)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = min(max(2*wait, pause), longestPause)
			l.Log.WarnContext(ctx, "a subscriber takes no events; it is tried again", "subscriber", s.Name, "in", wait, "error", err)
		case more:
			wait = 0
		default:
			wait = pause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// give gives the subscriber the next changes, and says whether there may be
// more. What it has handled is noted once for all of them.
func (l *Loop) give(ctx context.Context, s Subscriber) (more bool, err error) {
	changes, err := l.Changes.Changes(ctx, s.Name, part)
	if err != nil || len(changes) == 0 {
		return false, err
	}
	var taken int64
	for _, c := range changes {
		if err = l.one(ctx, s, c); err != nil {
			break
		}
		taken = c.Position
	}
	if taken > 0 {
		if failed := l.Changes.TakeIn(ctx, s.Name, taken, l.names()); failed != nil {
			return false, fmt.Errorf("note what %s has taken in: %w", s.Name, failed)
		}
	}
	return len(changes) == part, err
}

func (l *Loop) one(ctx context.Context, s Subscriber, c store.Change) error {
	events, err := l.Reader.Events(ctx, c)
	for _, e := range events {
		if err = s.Handle(ctx, e); err != nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil && l.Now().Sub(c.At) > patience {
		l.Log.ErrorContext(ctx, "an event is passed over", "subscriber", s.Name, "position", c.Position, "error", err)
		return nil
	}
	return err
}

func (l *Loop) names() []string {
	var names []string
	for _, s := range l.Subscribers {
		names = append(names, s.Name)
	}
	return names
}

// Logged writes every event to the log, for debugging.
func Logged(log *slog.Logger) Subscriber {
	return Subscriber{Name: "log", Handle: func(ctx context.Context, e Event) error {
		log.DebugContext(ctx, "event", "type", e.Type, "execution", e.Detail.Execution, "status", e.Detail.Status, "id", e.Detail.ID)
		return nil
	}}
}
