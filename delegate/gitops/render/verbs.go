package render

import "github.com/slipway-cd/slipway/delegate/sandbox"

// Verbs are what this package has a sandbox do.
func Verbs() sandbox.Verbs { return sandbox.Verbs{} }
