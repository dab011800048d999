package agent

import (
	"slices"
	"time"

	"github.com/slipway-cd/slipway/delegate/journal"
	"github.com/slipway-cd/slipway/pkg/task"
)

const (
	// lostFor is how long a claim without an answer is named after the control
	// plane has first heard of it: it may be under way there, or what it got may
	// not be listed yet.
	lostFor = 2 * time.Minute
	// unsettledPoll is how often meanwhile.
	unsettledPoll = 15 * time.Second
	// mostLost bounds the list: the leases of what the oldest got are over.
	mostLost = 200
)

// claims counts an agent's claims and remembers those whose answers never
// came. What such a claim got, the agent can't begin, however late: an answer
// belongs to the call that asks for it. The same goes for what processes before
// this one got and never began. One goroutine at a time uses it.
type claims struct {
	last int64
	lost []lostClaim
	gone []replaced
}

// replaced is a process before this one, and until when to name it.
type replaced struct {
	journal.Gone
	until time.Time
}

// lostClaim is a claim without an answer, and until when to name it: zero
// until the control plane has heard of it.
type lostClaim struct {
	number int64
	until  time.Time
}

// settled says whether there is nothing to tell.
func (c *claims) settled() bool { return len(c.lost)+len(c.gone) == 0 }

// next numbers a claim, and names in it what is lost.
func (c *claims) next(in task.Claim) task.Claim {
	c.last++
	in.Number = c.last
	for _, l := range c.lost {
		in.Lost = append(in.Lost, l.number)
	}
	for _, g := range c.gone {
		one := task.Replaced{ID: g.ID}
		for _, e := range g.Begun {
			one.Begun = append(one.Begun, e.Held)
		}
		in.Replaces = append(in.Replaces, one)
	}
	return in
}

// lose remembers that a claim's answer won't come.
func (c *claims) lose(number int64) {
	if slices.ContainsFunc(c.lost, func(l lostClaim) bool { return l.number == number }) {
		return
	}
	c.lost = append(c.lost, lostClaim{number: number})
	c.lost = c.lost[max(len(c.lost)-mostLost, 0):]
}

// told takes in that the control plane has heard a claim, and gives the
// processes that needn't be named any more.
func (c *claims) told(in task.Claim, now time.Time) (over []journal.Gone) {
	for i, l := range c.lost {
		if l.until.IsZero() && slices.Contains(in.Lost, l.number) {
			c.lost[i].until = now.Add(lostFor)
		}
	}
	for i, g := range c.gone { // each claim names them all
		switch {
		case g.until.IsZero():
			c.gone[i].until = now.Add(lostFor)
		case !now.Before(g.until):
			over = append(over, g.Gone)
		}
	}
	c.gone = slices.DeleteFunc(c.gone, func(g replaced) bool { return !g.until.IsZero() && !now.Before(g.until) })
	c.lost = slices.DeleteFunc(c.lost, func(l lostClaim) bool { return !l.until.IsZero() && !now.Before(l.until) })
	return over
}
