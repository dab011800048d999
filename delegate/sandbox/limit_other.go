//go:build !linux

package sandbox

import (
	"os"
	"runtime/metrics"
	"time"
)

// lookEvery is how often the child looks at its memory.
const lookEvery = 10 * time.Millisecond

// limit bounds the memory of this process: there is no limit of the system's
// that Go can live with, so it looks at it, often.
func limit(memory int64) error {
	ticks := time.NewTicker(lookEvery)
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	go func() {
		for range ticks.C {
			metrics.Read(sample)
			if sample[0].Value.Uint64()-sample[1].Value.Uint64() > uint64(memory) { //nolint:gosec // it is positive
				os.Exit(exitMemory)
			}
		}
	}()
	return nil
}
