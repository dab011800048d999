package execution

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/logstream"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// TestALogIsBounded at its bound and one byte past it, whatever its delegate
// leaves out by itself.
func TestALogIsBounded(t *testing.T) {
	t.Parallel()
	s, d, _ := disowning(t, "t1")
	got, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 1, Number: 1})
	must(t, err)
	line := func(size int) []byte { // of so many bytes
		frame := fmt.Sprintf(`{"m":"%s"}`+"\n", "")
		return []byte(strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1))
	}
	const rest = 1000
	most := logstream.MaxKept - rest
	must(t, s.Store.AppendLog(t.Context(), logstream.MaxKept, store.LogChunk{Stream: got[0].LogStream, Data: bytes.Repeat([]byte("\n"), most)}))
	send := func(first int64, size int) error {
		return s.AppendLog(t.Context(), d, got[0].ID, protocol.LogBatch{Fence: got[0].Fence, First: first, Chunks: [][]byte{line(size)}})
	}
	if err := send(1, rest+1); !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), fmt.Sprint(logstream.MaxKept)) {
		t.Errorf("a byte past the bound: %v; want that it is too large", err)
	}
	must(t, send(1, rest))
	if err := send(2, 20); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a line more: %v; want that it is too large", err)
	}
}
