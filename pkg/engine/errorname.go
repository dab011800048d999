package engine

import "github.com/slipway-cd/slipway/pkg/fault"

// The names under which the node machine sees Handle's errors. It tries
// Transient ones again.
const (
	Transient = "Slipway.Transient"
	Refused   = "Slipway.Refused"
)

// ErrorName is the name of an error of Handle for the state machine. What the
// call itself is wrong about stays wrong when it is tried again.
func ErrorName(err error) string {
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.NotFound, fault.Unsupported, fault.TooLarge:
		return Refused
	default:
		return Transient
	}
}
