package task

import "time"

// IdentityToken is an identity.Identity that is signed. It is a secret.
type IdentityToken struct {
	Text string        `json:"text"`
	Good time.Duration `json:"good"` // nanoseconds, from now on
}

// FreshToken asks for another token of a held task, under the name that the
// first one has in Assignment.Tokens.
type FreshToken struct {
	Fence    int64  `json:"fence"`
	Identity string `json:"identity"`
}

// WatchToken is FreshToken for a watch.
type WatchToken struct {
	Watched
	Identity string `json:"identity"`
}
