package protocol

import (
	"github.com/slipway-cd/slipway/pkg/task"
)

// Watching asks for releases to watch, and says which the delegate watches.
type Watching struct {
	Held []task.Watched `json:"held"`
}

// Watches answers Watching.
type Watches struct {
	Watch []task.Watch `json:"watch,omitempty"` // to begin, or to begin anew
	Drop  []string     `json:"drop,omitempty"`  // to end
}

// WatchToken is FreshToken for a watch.
type WatchToken struct {
	task.Watched
	Identity string `json:"identity"`
}
