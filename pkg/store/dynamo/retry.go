package dynamo

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// errAgain: what a change was made from is no longer so, or another change was
// in its way. It can be made anew.
var errAgain = errors.New("another change was in the way")

// The pauses between tries grow from the first to the longest.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// again does fn until it no longer meets another change or a limit of the
// table. Only ctx bounds it: the caller knows how long an answer is wanted.
func again(ctx context.Context, fn func() error) error {
	pause := firstPause
	for {
		err := fn()
		if !passing(err) {
			return err
		}
		// The whole pause is random, so that those who met don't meet again.
		timer := time.NewTimer(rand.N(pause)) //nolint:gosec // jitter is no secret
		select {
		case <-ctx.Done():
			timer.Stop()
			return fault.New(fault.Unavailable, "the table is busy: %w", errors.Join(ctx.Err(), err))
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}

// passing says whether nothing was done, for a reason that passes.
func passing(err error) bool {
	var (
		throughput *types.ProvisionedThroughputExceededException
		limit      *types.RequestLimitExceeded
		throttled  *types.ThrottlingException
		conflict   *types.TransactionConflictException
	)
	return errors.Is(err, errAgain) || errors.As(err, &throughput) || errors.As(err, &limit) ||
		errors.As(err, &throttled) || errors.As(err, &conflict)
}
