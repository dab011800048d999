package store

import "time"

// Poll is how far a delegate has come with asking for new versions of the
// artifact that a trigger listens to (docs/triggers.md).
type Poll struct {
	Key     EntityKey // of the trigger
	Version int64
	// Watcher is the delegate that asks, for as long as it is connected; empty:
	// nobody. Fence grows when that changes, and with what there is to ask.
	Watcher string
	Fence   int64

	// Trigger says which saved version of the trigger it is about: another one
	// begins anew.
	Trigger string
	// Begun: Seen has what was there at the first look, which fires nothing.
	Begun bool
	// Seen are the newest versions, by poll.Hash; at most poll.MaxSeen.
	Seen []string
	// Since is how old the last of them is, if there were more; zero: there weren't.
	Since time.Time
	// Asked are versions that an event has told of and that nobody has looked at.
	Asked   []string
	Trouble string // why nothing could be asked; empty: all is well
}
