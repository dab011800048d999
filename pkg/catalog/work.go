package catalog

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// What is saved is checked against what is there: each input set of a pipeline
// against all of the pipeline. How much that may be for one request is bounded,
// or a few large documents would keep a processor for minutes.
const (
	// maxChecked is how many YAML nodes of a pipeline are gone through for its
	// input sets and triggers, once for each of them.
	maxChecked = 2_000_000
	// maxReadAgain is how many bytes of other documents those of one set need in
	// all, however often it is the same one.
	maxReadAgain = 64 << 20
)

// notChecked is the code of the warning about what was left out.
const notChecked = "NOT_CHECKED"

// checks is how many sets a pipeline is gone through for.
type checks struct{ of, left int }

func checksOf(pipeline *yamldoc.Node) *checks {
	n := max(1, maxChecked/max(1, pipeline.Size()))
	return &checks{of: n, left: n}
}

// another says whether one more may be checked.
func (c *checks) another() bool {
	c.left--
	return c.left >= 0
}

// skipped is how many weren't.
func (c *checks) skipped() int { return max(0, -c.left) }

func (c *checks) message() string {
	return fmt.Sprintf("a pipeline of this size is checked against %d of its input sets and triggers at once; one that is saved is always checked", c.of)
}

// readAgain counts what a set of documents needs of others.
func (v *view) readAgain(n int) error {
	if v.read += n; v.Entities == nil || v.read <= maxReadAgain {
		return nil
	}
	return fault.New(fault.TooLarge, "what these documents are checked against, pipelines and templates, comes to more than %d MiB, each counted as often as it is named; save them in smaller parts", maxReadAgain>>20)
}
