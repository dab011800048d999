// Package awswait waits for what AWS does by itself after a call, by looking
// again and again: at a pace that grows, until a little before the step's time
// is up, and patient with an account whose limits others use, too.
//
// What is looked at and when it is good is said by who waits. A wait that many
// make at once for things of one place shares its looks, see Batch.
package awswait

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// reporting is what is left of a step's time to say how things stood.
const reporting = 15 * time.Second

// longest is the longest interval of an account that throttles.
const longest = time.Minute

// quiet is how long nothing is said if nothing changes.
const quiet = time.Minute

// Pace is the time between two looks, by how long the wait has lasted.
type Pace func(waited time.Duration) time.Duration

// Steady is the pace for services that become steady.
func Steady() Pace {
	return func(waited time.Duration) time.Duration {
		switch {
		case waited < 15*time.Second:
			return 3 * time.Second
		case waited < time.Minute:
			return 5 * time.Second
		case waited < 5*time.Minute:
			return 10 * time.Second
		}
		return 15 * time.Second
	}
}

// Stack is the pace for stacks of CloudFormation.
func Stack() Pace { return between(5*time.Second, 15*time.Second) }

// Function is the pace for functions of Lambda.
func Function() Pace { return between(time.Second, 5*time.Second) }

// Slow is the pace for what takes minutes: machines that start.
func Slow() Pace { return between(5*time.Second, 20*time.Second) }

// Watch is the pace for looking at what was deployed: often just after a
// deployment, when a watch begins anew, and then seldom; 0: each ten minutes.
func Watch(seldom time.Duration) Pace {
	if seldom == 0 {
		seldom = 10 * time.Minute
	}
	return func(watched time.Duration) time.Duration {
		if watched < 5*time.Minute {
			return min(time.Minute, seldom)
		}
		return seldom
	}
}

// AtLeast is a pace with a shortest interval, for accounts that are near their
// limits.
func AtLeast(least time.Duration, p Pace) Pace {
	return func(waited time.Duration) time.Duration { return max(least, p(waited)) }
}

// Every is a pace that stays, such as that of a test.
func Every(d time.Duration) Pace { return between(d, d) }

// between grows from one interval to another within some ten looks.
func between(first, last time.Duration) Pace {
	return func(waited time.Duration) time.Duration { return min(max(first, waited/10+first/2), last) }
}

// Wait is how something is waited for.
type Wait struct {
	Pace Pace
	Log  io.Writer
}

// State is what a look has found.
type State struct {
	Done bool
	// Progress is how things stand, in a line. It is said when it changes.
	Progress string
}

// Until looks until a state is done, and gives an error as soon as a look does.
// While AWS throttles, looks become rarer. At the end of the time the error says
// how things stood last; a context that ends before it stops the wait as it is.
func Until(ctx context.Context, w Wait, look func(context.Context) (State, error)) error {
	c := newClock(ctx, w)
	for {
		s, err := look(ctx)
		if err := c.judge(ctx, s, err); err != nil || s.Done {
			return err
		}
		if err := c.sleep(ctx); err != nil {
			return err
		}
	}
}

// clock is the time of one wait.
type clock struct {
	Wait
	began, until time.Time // until is zero for no end
	said         time.Time
	last         string        // progress
	slower       time.Duration // the interval since AWS has throttled; 0: the pace's
}

func newClock(ctx context.Context, w Wait) *clock {
	c := &clock{Wait: w, began: time.Now()}
	if end, ok := ctx.Deadline(); ok {
		c.until = end.Add(-min(reporting, time.Until(end)/2))
	}
	return c
}

// judge says what a look has found, and whether that ends the wait badly.
func (c *clock) judge(ctx context.Context, s State, err error) error {
	switch {
	case err == nil:
		c.slower = 0
		c.say(s)
		return nil
	case ctx.Err() != nil:
		return c.stopped(ctx)
	case !aws.Throttled(err):
		return err
	}
	if c.slower == 0 {
		c.print("AWS throttles the requests; looking less often")
		c.slower = c.interval()
	}
	c.slower = min(2*c.slower, longest)
	return nil
}

// say prints the progress if it has changed, or if nothing was said for long.
func (c *clock) say(s State) {
	if s.Progress == "" || s.Progress == c.last && time.Since(c.said) < quiet {
		return
	}
	c.last = s.Progress
	c.print(s.Progress)
}

func (c *clock) print(line string) {
	c.said = time.Now()
	_, _ = fmt.Fprintln(c.Log, line) // the agent reports what it can't log
}

func (c *clock) interval() time.Duration { return max(c.Pace(time.Since(c.began)), c.slower) }

// next is when the next look is due: it varies by a fifth, so that steps that
// began together don't look together for ever.
func (c *clock) next() time.Duration {
	every := c.interval()
	return every - every/5 + rand.N(2*every/5+1) //nolint:gosec // nobody gains by guessing it
}

// end is when the time is up; nil: never.
func (c *clock) end() <-chan time.Time {
	if c.until.IsZero() {
		return nil
	}
	return time.After(time.Until(c.until))
}

// sleep waits for the next look. It fails when the time is up.
func (c *clock) sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return c.stopped(ctx)
	case <-c.end():
		return c.expired()
	case <-time.After(c.next()):
		return nil
	}
}

func (c *clock) expired() error {
	last := c.last
	if last == "" {
		last = "nothing was found out"
	}
	return fault.New(fault.Unavailable, "it took longer than %s; last: %s", time.Since(c.began).Round(time.Second), last).Causing(fault.Timeout)
}

func (c *clock) stopped(ctx context.Context) error {
	if c.last == "" {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w; last: %s", context.Cause(ctx), c.last)
}
