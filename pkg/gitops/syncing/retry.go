package syncing

import (
	"strconv"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// RetryOf is how often a sync is tried again: as its request says, then as the
// application says, then five times if nobody asked for it.
func RetryOf(o gitops.Operation, p *gitops.SyncPolicy) gitops.Retry {
	switch {
	case o.Retry.Limit != 0 || o.Retry.Backoff != nil:
		return o.Retry
	case p != nil && p.Retry != nil:
		return *p.Retry
	case o.InitiatedBy.Automated:
		return gitops.Retry{Limit: 5}
	}
	return gitops.Retry{}
}

// RetryAfter is how long to wait for try number n, of which the first is 1; false
// if there is none.
func RetryAfter(r gitops.Retry, n int64) (time.Duration, bool) {
	if r.Limit >= 0 && n > r.Limit {
		return 0, false
	}
	wait, factor, most := 5*time.Second, int64(2), 3*time.Minute
	if b := r.Backoff; b != nil {
		if d, err := Duration(b.Duration); err == nil && b.Duration != "" {
			wait = d
		}
		if d, err := Duration(b.MaxDuration); err == nil && b.MaxDuration != "" {
			most = d
		}
		if b.Factor != nil && *b.Factor > 0 {
			factor = *b.Factor
		}
	}
	for range n - 1 {
		if factor == 1 || wait >= most {
			break
		}
		wait *= time.Duration(factor)
	}
	return min(wait, most), true
}

// Duration reads a duration as documents have it: Go's, or seconds.
func Duration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fault.New(fault.Invalid, "%q is no duration; want one such as 5s or 2m, or seconds", text)
	}
	return d, nil
}
