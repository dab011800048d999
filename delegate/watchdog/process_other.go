//go:build !linux

package watchdog

import (
	"context"
	"os"
)

// process is never started.
type process struct{ pipe *os.File }

func start() (*process, error) { return nil, nil }

func (*process) end() {}

// End does nothing where processes can't be told by their marks.
func End(context.Context, ...string) error { return nil }
