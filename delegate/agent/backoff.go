package agent

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstBackOff = time.Second
	lastBackOff  = 30 * time.Second
)

// backOff is the pause after the given number of failures in a row: a window
// that doubles up to lastBackOff, and in it a moment that is chosen evenly,
// so that delegates which lost the same server don't come back at once.
func backOff(failures int) time.Duration {
	window := lastBackOff
	if failures < 5 { // 1, 2, 4, 8, 16 s
		window = firstBackOff << failures
	}
	return window/2 + rand.N(window/2) //nolint:gosec // spreading load needs no secrecy
}

// spread shortens a period by up to a tenth, so that delegates which began
// together don't stay together.
func spread(d time.Duration) time.Duration {
	return d - rand.N(d/10+1) //nolint:gosec // spreading load needs no secrecy
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
