package extent_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestLoopsThatAreWrittenOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"{parallelism: 3}":                                      3,
		"{parallelism: 0}":                                      0,
		"{repeat: {times: 4, maxConcurrency: 1}}":               4,
		"{repeat: {items: [a, <+pipeline.variables.b>]}}":       2,
		`{repeat: {items: "a, b,, c"}}`:                         3,
		"{matrix: {x: [1, 2], y: [1, 2, 3], nodeName: <+n>}}":   6,
		"{matrix: {x: [1, 2], maxConcurrency: 2}}":              2,
		"{matrix: {x: [{a: 1}, {a: 2}], y: []}}":                0,
		"{parallelism: <+pipeline.variables.n>}":                -1,
		"{repeat: {items: <+pipeline.variables.list>}}":         -1,
		`{repeat: {items: "[1, 2]"}}`:                           -1,
		"{repeat: {items: [1, 2], start: 1}}":                   -1,
		"{repeat: {items: [1, 2], partitionSize: 2}}":           -1,
		"{matrix: {x: [1, 2], exclude: [{x: 1}]}}":              -1,
		"{matrix: {x: [1, 2], y: <+pipeline.variables.list>}}":  -1,
		"{matrix: <+pipeline.variables.axes>}":                  -1,
		"{when: <+pipeline.variables.b>, repeat: {times: 100}}": -1,
		"{}": -1,
	} {
		docs, report := yamldoc.Parse("", []byte(text))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		got, ok := extent.Written(docs[0])
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d iterations; want %d (-1: not written out)", text, got, want)
		}
	}
}

func TestBoundsRefuseOnePast(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		check func(int) error
		most  int
		words string
	}{
		"iterations": {extent.Iterations, 256, "there would be 257 iterations; the limit is 256"},
		"members":    {extent.Members, 256, "257 members at once; the limit is 256"},
		"axes":       {extent.Axes, 20, "the matrix has 21 axes; the limit is 20"},
		"nodes":      {extent.Nodes, 20_000, "the execution would have more than 20000 nodes"},
	} {
		if err := c.check(c.most); err != nil {
			t.Errorf("%s: %d are refused: %v", name, c.most, err)
		}
		err := c.check(c.most + 1)
		if !fault.Is(err, fault.TooLarge) || !strings.HasPrefix(err.Error(), c.words) {
			t.Errorf("%s: one past the bound gives %v; want %s", name, err, c.words)
		}
	}
}

func TestNoProductOverflows(t *testing.T) {
	t.Parallel()
	n := 1
	for range 100 {
		n = extent.Times(256, extent.Add(n, n))
	}
	if n <= extent.MaxNodes || extent.Times(0, n) != 0 || extent.Times(2, 3) != 6 || extent.Add(2, 3) != 5 {
		t.Errorf("256 to the 100th is %d", n)
	}
}
