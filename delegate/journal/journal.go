// Package journal keeps on disk which tasks a delegate's process has begun, so
// that its next process can say so if it was killed: what was claimed and not
// begun can be given to others at once, and the rest needn't wait for its lease.
//
// A file stands for a process and is locked as long as that lives; what isn't
// known for sure is left to the leases. It survives the process, not the
// machine: nothing is forced to the disk. Telling the control plane is
// delegate/agent's. Where there are no boot ids there is no journal.
package journal

import (
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// Entry is a task that has begun.
type Entry struct {
	protocol.Held
	Mark string `json:"mark"` // of what it starts, see delegate/watchdog
}

// Gone is a process that ended without a goodbye.
type Gone struct {
	ID    string // under which it registered
	Begun []Entry
	// Forget removes what it has left. Until then no other process takes it for
	// its own to tell of.
	Forget func()
}

// header is the first line of a file.
type header struct {
	ID     string `json:"id"`
	Boot   string `json:"boot"`   // of the machine: after another one nothing is known
	Server string `json:"server"` // that knows the id
}

// line is each further one.
type line struct {
	Begun *Entry         `json:"begun,omitempty"`
	Ended *protocol.Held `json:"ended,omitempty"`
}
