// Package extent is how much one pipeline may come to: the nodes of an
// execution, the iterations of a loop, the members of a parallel block. The
// same bounds hold when a document is saved and when it runs, in the same words.
//
// It counts loops that are written out. Those whose number an expression gives
// are counted by pkg/engine when they begin; evaluating them is pkg/resolve's.
package extent

import "github.com/slipway-cd/slipway/pkg/fault"

const (
	// MaxNodes is how many nodes an execution may have, with those of the
	// executions that its Pipeline stages start: stages, groups, steps, parallel
	// blocks and loops, each iteration's own. A record has 0.5 to 2 KB, so that
	// all of them are read in some tenths of a second.
	MaxNodes = 20_000
	// MaxOutputs is how many bytes of large outputs an execution may keep.
	MaxOutputs = 64 << 20
	// SmallOutputs is how many bytes a step's outputs have that aren't counted.
	SmallOutputs = 4 << 10
	// MaxIterations is how many a loop may have (semantics/pipeline §6).
	MaxIterations = 256
	// MaxMembers is how many members a parallel block may have
	// (semantics/pipeline §1.3).
	MaxMembers = 256
	// AtOnce is how many of them run at once at most, as the items of an inline
	// Map of Step Functions.
	AtOnce = 40
)

// Iterations refuses a loop with more than a loop may have.
func Iterations(n int) error {
	if n <= MaxIterations {
		return nil
	}
	return fault.New(fault.TooLarge, "there would be %d iterations; the limit is %d", n, MaxIterations)
}

// Members refuses a parallel block with more than one may have.
func Members(n int) error {
	if n <= MaxMembers {
		return nil
	}
	return fault.New(fault.TooLarge, "%d members at once; the limit is %d", n, MaxMembers)
}

// Nodes refuses an execution that would have more nodes than one may have; n
// needn't be exact above that.
func Nodes(n int) error {
	if n <= MaxNodes {
		return nil
	}
	return fault.New(fault.TooLarge, "the execution would have more than %d nodes (stages, groups, steps, parallel blocks and loops, once for each iteration); let it repeat less, or split the pipeline", MaxNodes).
		Causing(fault.ResourceLimitsFailure, fault.ConfigurationFailure, fault.Unknown)
}

// Add adds up to just above MaxNodes, so that no product overflows.
func Add(a, b int) int { return min(a+b, MaxNodes+1) }

// Times multiplies likewise.
func Times(a, b int) int {
	if a > 0 && b > MaxNodes/a {
		return MaxNodes + 1
	}
	return a * b
}

// MaxAxes is how many axes a matrix may have: each adds an index to the ids of
// all nodes below.
const MaxAxes = 20

// Axes refuses a matrix with more than one may have.
func Axes(n int) error {
	if n <= MaxAxes {
		return nil
	}
	return fault.New(fault.TooLarge, "the matrix has %d axes; the limit is %d", n, MaxAxes)
}
