package agent

import (
	"slices"
	"time"

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
// belongs to the call that asks for it. One goroutine at a time uses it.
type claims struct {
	last int64
	lost []lostClaim
}

// lostClaim is a claim without an answer, and until when to name it: zero
// until the control plane has heard of it.
type lostClaim struct {
	number int64
	until  time.Time
}

// settled says whether there is nothing to tell.
func (c *claims) settled() bool { return len(c.lost) == 0 }

// next numbers a claim, and names in it the lost ones.
func (c *claims) next(in task.Claim) task.Claim {
	c.last++
	in.Number = c.last
	for _, l := range c.lost {
		in.Lost = append(in.Lost, l.number)
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

// told takes in that the control plane has heard of lost claims.
func (c *claims) told(numbers []int64, now time.Time) {
	for i, l := range c.lost {
		if l.until.IsZero() && slices.Contains(numbers, l.number) {
			c.lost[i].until = now.Add(lostFor)
		}
	}
	c.lost = slices.DeleteFunc(c.lost, func(l lostClaim) bool { return !l.until.IsZero() && !now.Before(l.until) })
}
