package logstream_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/logstream"
)

func TestOnlyPartsOfALogAreTaken(t *testing.T) {
	t.Parallel()
	line := []byte(`{"t":1,"m":"x"}` + "\n")
	of := func(size int) []byte {
		empty := []byte(`{"t":1,"m":""}` + "\n")
		return bytes.Replace(empty, []byte(`""`), []byte(`"`+strings.Repeat("x", size-len(empty))+`"`), 1)
	}
	many := func(n int) (out [][]byte) {
		for range n {
			out = append(out, line)
		}
		return out
	}
	for name, c := range map[string]struct {
		first  int64
		chunks [][]byte
		want   fault.Code
	}{
		"a chunk":                 {0, many(1), ""},
		"none":                    {0, nil, ""},
		"a chunk of two lines":    {3, [][]byte{append(bytes.Clone(line), line...)}, ""},
		"as many as go together":  {0, many(logstream.MaxBatch), ""},
		"one more":                {0, many(logstream.MaxBatch + 1), fault.TooLarge},
		"the last number":         {logstream.MaxChunks - 2, many(2), ""},
		"one past it":             {logstream.MaxChunks - 1, many(2), fault.Invalid},
		"a negative number":       {-1, many(1), fault.Invalid},
		"a huge number":           {math.MaxInt64, many(1), fault.Invalid},
		"the largest chunk":       {0, [][]byte{of(logstream.MaxChunk)}, ""},
		"one byte more":           {0, [][]byte{of(logstream.MaxChunk + 1)}, fault.TooLarge},
		"no JSON":                 {0, [][]byte{[]byte("boom\n")}, fault.Invalid},
		"a line of another shape": {0, [][]byte{line, []byte(`["x"]` + "\n")}, fault.Invalid},
		"half a line":             {0, [][]byte{line[:5]}, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := logstream.Check(c.first, c.chunks); fault.CodeOf(err) != c.want {
				t.Errorf("the error is %v, want the code %q", err, c.want)
			}
		})
	}
}
