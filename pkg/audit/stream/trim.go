package stream

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
)

// mostTrimmed is how many records go together. The next ones go with the next
// call.
const mostTrimmed = 2000

// Trim removes records that are older than the retention from the beginning of the
// trail, but none that an active destination hasn't got yet. It goes by days, so
// that the record of it is made once a day, or seldom.
func (s *Streamer) Trim(ctx context.Context) error {
	if s.Retention <= 0 {
		return nil
	}
	before := s.Now().Add(-s.Retention).UTC().Truncate(24 * time.Hour)
	removed, err := s.Store.RemovedAudit(ctx, s.Account)
	if err != nil {
		return err
	}
	upTo, err := s.old(ctx, removed, before)
	if err != nil {
		return err
	}
	if upTo == (audit.Place{}) {
		return s.finish(ctx, removed)
	}
	return s.Store.TrimAudit(ctx, s.Account, upTo, audit.Expiry(s.Now(), s.Account, upTo))
}

// finish deletes what an earlier call was cut off at.
func (s *Streamer) finish(ctx context.Context, removed audit.Place) error {
	if removed == (audit.Place{}) {
		return nil
	}
	first, err := s.Store.ListAudit(ctx, s.Account, 1, 1)
	if err != nil || len(first) == 0 || first[0].Sequence > removed.Sequence {
		return err
	}
	return s.Store.TrimAudit(ctx, s.Account, removed, audit.Record{}) // which needs no record any more
}

// old is the place of the last record that may go now; zero: none.
func (s *Streamer) old(ctx context.Context, removed audit.Place, before time.Time) (audit.Place, error) {
	taken, err := s.takenByAll(ctx)
	if err != nil {
		return audit.Place{}, err
	}
	upTo := audit.Place{}
	for at := removed.Sequence; at < removed.Sequence+mostTrimmed; {
		list, err := s.Store.ListAudit(ctx, s.Account, at+1, block)
		if err != nil {
			return audit.Place{}, err
		}
		for _, r := range list {
			if !r.Time.Before(before) || taken >= 0 && r.Sequence > taken {
				return upTo, nil
			}
			upTo, at = r.Place(), r.Sequence
		}
		if len(list) < block {
			return upTo, nil
		}
	}
	return upTo, nil
}

// takenByAll is the number of the last record that every active destination has
// taken; negative: there is no such destination. One that can't be read may be
// active.
func (s *Streamer) takenByAll(ctx context.Context) (int64, error) {
	list, err := s.destinations(ctx)
	if err != nil {
		return 0, err
	}
	taken := int64(-1)
	for _, d := range list {
		if d.decoded && !d.Active {
			continue
		}
		st, err := s.position(ctx, d)
		if err != nil {
			return 0, err
		}
		if taken < 0 || st.Sequence < taken {
			taken = st.Sequence
		}
	}
	return taken, nil
}
