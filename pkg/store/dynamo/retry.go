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
		if stopped := rest(ctx, pause); stopped != nil {
			return fault.New(fault.Unavailable, "the table is busy: %w", errors.Join(stopped, err))
		}
		pause = min(2*pause, longestPause)
	}
}

// rest waits for a random part of a time, so that those who met don't meet
// again.
func rest(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(rand.N(most)) //nolint:gosec // jitter is no secret
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
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
