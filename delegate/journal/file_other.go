//go:build !linux

package journal

import (
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// Journal keeps nothing here.
type Journal struct{}

// Open begins none.
func Open(string, string, string) (*Journal, error) { return nil, nil }

// Begin notes nothing.
func (*Journal) Begin(Entry) error { return nil }

// End notes nothing.
func (*Journal) End(protocol.Held) error { return nil }

// Remove removes nothing.
func (*Journal) Remove() error { return nil }

// Left lists none.
func Left(string, string, int) []Gone { return nil }
