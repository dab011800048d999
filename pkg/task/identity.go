package task

import "time"

// IdentityToken is an identity.Identity that is signed. It is a secret.
type IdentityToken struct {
	Text string        `json:"text"`
	Good time.Duration `json:"good"` // nanoseconds, from now on
}
