package agent

import (
	"slices"
	"time"

	"github.com/slipway-cd/slipway/delegate/journal"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
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

// replaced is a process before this one.
type replaced struct {
	journal.Gone
	naming
}

// lostClaim is a claim without an answer.
type lostClaim struct {
	number int64
	naming
}

// naming says until when something is named: zero until the control plane has
// heard of it.
type naming struct{ until time.Time }

// heard takes in that the control plane has heard of it.
func (n *naming) heard(now time.Time) {
	if n.until.IsZero() {
		n.until = now.Add(lostFor)
	}
}

// over says whether it needn't be named any more.
func (n naming) over(now time.Time) bool { return !n.until.IsZero() && !now.Before(n.until) }

// settled says whether there is nothing to tell.
func (c *claims) settled() bool { return len(c.lost)+len(c.gone) == 0 }

// next numbers a claim, and names in it what is lost.
func (c *claims) next(in protocol.Claim) protocol.Claim {
	c.last++
	in.Number = c.last
	for _, l := range c.lost {
		in.Lost = append(in.Lost, l.number)
	}
	for _, g := range c.gone {
		one := protocol.Replaced{ID: g.ID}
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
func (c *claims) told(in protocol.Claim, now time.Time) (over []journal.Gone) {
	for _, g := range c.gone {
		if g.over(now) {
			over = append(over, g.Gone)
		}
	}
	c.gone = slices.DeleteFunc(c.gone, func(g replaced) bool { return g.over(now) })
	for i := range c.gone { // each claim names them all
		c.gone[i].heard(now)
	}
	for i := range c.lost {
		if slices.Contains(in.Lost, c.lost[i].number) {
			c.lost[i].heard(now)
		}
	}
	c.lost = slices.DeleteFunc(c.lost, func(l lostClaim) bool { return l.over(now) })
	return over
}
