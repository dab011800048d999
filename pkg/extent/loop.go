package extent

import (
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Written is how many iterations a looping strategy has, if it is written out:
// no condition, no expression, nothing that takes some of them away.
func Written(strategy *yamldoc.Node) (n int, ok bool) {
	if strategy == nil || strategy.Get("when") != nil {
		return 0, false
	}
	switch matrix, repeat := strategy.Get("matrix"), strategy.Get("repeat"); {
	case matrix != nil:
		return combinations(matrix)
	case repeat == nil:
		return number(strategy.Get("parallelism"))
	case repeat.Get("items") == nil:
		return number(repeat.Get("times"))
	case repeat.Get("start") != nil || repeat.Get("end") != nil || repeat.Get("partitionSize") != nil:
		return 0, false
	default:
		return length(repeat.Get("items"))
	}
}

// combinations are those of a matrix whose axes are all written out.
func combinations(matrix *yamldoc.Node) (n int, ok bool) {
	if matrix.Kind != yamldoc.Mapping || matrix.Get("exclude") != nil {
		return 0, false
	}
	n = 1
	for _, e := range matrix.Entries {
		if e.Key == "maxConcurrency" || e.Key == "nodeName" {
			continue
		}
		of, known := length(e.Value)
		if !known {
			return 0, false
		}
		n, ok = Times(n, of), true
	}
	return n, ok
}

// length is that of a list of items, or of a text with commas.
func length(n *yamldoc.Node) (int, bool) {
	switch {
	case n == nil:
		return 0, false
	case n.Kind == yamldoc.Sequence:
		return len(n.Items), true
	case n.Kind != yamldoc.Scalar || strings.Contains(n.Value, "<+") || strings.HasPrefix(strings.TrimSpace(n.Value), "["):
		return 0, false
	}
	items := 0
	for part := range strings.SplitSeq(n.Value, ",") {
		if strings.TrimSpace(part) != "" {
			items++
		}
	}
	return items, true
}

// number is a whole number that is written out.
func number(n *yamldoc.Node) (int, bool) {
	if n == nil || n.Kind != yamldoc.Scalar {
		return 0, false
	}
	i, err := strconv.Atoi(strings.TrimSpace(n.Value))
	return max(i, 0), err == nil
}
