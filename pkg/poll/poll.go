// Package poll is the contract between the control plane and delegates for new
// versions of artifacts: what a delegate asks for on behalf of a trigger, and what
// it tells.
//
// It holds types only, as pkg/task does, whose watches they travel with. Who asks
// when is pkg/trigger/firing's, and asking is delegate/artifact's.
package poll

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// Kind is the kind of watches that ask for new versions. No task is of it.
const Kind task.Kind = "poll"

// The bounds of what a poll tells and remembers.
const (
	// MaxNews is how many new versions of one look are told; of more, the newest.
	MaxNews = 20
	// MaxAsked is how many versions wait for a delegate to look at them.
	MaxAsked = 100
	// MaxSeen is how many versions are remembered beyond the delegate.
	MaxSeen = 500
)

// Place is what a trigger listens to, and how far others have come with it.
type Place struct {
	Artifact lookup.Artifact `json:"artifact"`
	// Every is how often all versions are asked for; 0: only Asked are.
	Every time.Duration `json:"every,omitempty"`
	Begun bool          `json:"begun,omitempty"` // else the first look tells what is there
	// Seen are the newest versions, by Hash; Since is when the last of them was made
	// if there were more.
	Seen  []string  `json:"seen,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Asked []string  `json:"asked,omitempty"`
}

// News is what a look has brought.
type News struct {
	// Looked: all versions were asked for, and Seen and Since are as in Place; else
	// only what was asked for.
	Looked bool      `json:"looked,omitempty"`
	Seen   []string  `json:"seen,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// New are the oldest first: at most MaxNews, and all of Asked. Passed is how many
	// more were new.
	New    []Version `json:"new,omitempty"`
	Passed int       `json:"passed,omitempty"`
}

// Version is one that wasn't there before, or that was asked for.
type Version struct {
	ID string `json:"id"` // among versions: the name, of a machine image its id
	lookup.Results
	// Unfit is why it isn't what the trigger listens to; of what was asked for.
	Unfit string `json:"unfit,omitempty"`
}

// Hash stands for a version's id where many are remembered.
func Hash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}
