// Package chaos has what a run of random faults needs besides a host: their
// schedule, a network that fails as it says, and the ledger in which every step
// notes that it began and ended.
//
// It starts nothing and knows no host; internal/e2e does both, and decides
// what each fault is there.
package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Kind is what goes wrong.
type Kind string

// The kinds of faults.
const (
	KillServer   Kind = "server killed"
	KillDelegate Kind = "delegate killed"
	Cut          Kind = "connections cut"
	Lost         Kind = "answers lost"
	Doubled      Kind = "requests doubled"
	Delayed      Kind = "answers late"
	Stalled      Kind = "server stands still" // as it does while its disk doesn't answer
	FullDisk     Kind = "disk full"
	KillFunction Kind = "function killed"
	Throttled    Kind = "table throttled"
)

// Fault is one thing that goes wrong.
type Fault struct {
	Kind  Kind
	After time.Duration // since the fault before it was over
	For   time.Duration // how long it lasts, of a kind that lasts
}

// String is e.g. "disk full for 300ms after 1s".
func (f Fault) String() string { return fmt.Sprintf("%s for %s after %s", f.Kind, f.For, f.After) }

// The bounds of pauses between faults, and of how long one lasts.
const (
	maxAfter = 800 * time.Millisecond
	maxFor   = 1200 * time.Millisecond
)

// Schedule is that of a seed: n faults, of every kind about equally many.
func Schedule(seed uint64, n int, kinds ...Kind) []Fault {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it has to be the same for a seed
	out := make([]Fault, n)
	for i := range out {
		out[i] = Fault{
			Kind:  kinds[i%len(kinds)],
			After: time.Duration(random.Int64N(int64(maxAfter))).Round(time.Millisecond),
			For:   time.Duration(random.Int64N(int64(maxFor))).Round(time.Millisecond),
		}
	}
	random.Shuffle(n, func(i, j int) { out[i].Kind, out[j].Kind = out[j].Kind, out[i].Kind })
	return out
}

// Lines is a schedule as text, a line for each fault.
func Lines(faults []Fault) string {
	var b strings.Builder
	for i, f := range faults {
		fmt.Fprintf(&b, "%4d %s\n", i+1, f)
	}
	return b.String()
}
