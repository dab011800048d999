package logstream

import "github.com/slipway-cd/slipway/pkg/fault"

// Check says why chunks that are to be stored under the numbers from first on
// aren't a part of a log. What passes can be read again.
func Check(first int64, chunks [][]byte) error {
	if len(chunks) > MaxBatch {
		return fault.New(fault.TooLarge, "%d log chunks come at once; the limit is %d", len(chunks), MaxBatch)
	}
	if first < 0 || first > MaxChunks-int64(len(chunks)) {
		return fault.New(fault.Invalid, "log chunks begin with the number %d; they have the numbers 0 to %d", first, MaxChunks-1)
	}
	for i, c := range chunks {
		if len(c) > MaxChunk {
			return fault.New(fault.TooLarge, "log chunk %d has %d bytes; the limit is %d", first+int64(i), len(c), MaxChunk)
		}
		for _, err := range Decode(c) {
			if err != nil {
				return fault.New(fault.Invalid, "log chunk %d: %w", first+int64(i), err)
			}
		}
	}
	return nil
}
