// Package stream brings the account's audit trail to its streaming destinations,
// outside of the installation, and removes from it what is old.
//
// A destination gets every record at least once and in order; how far it has come
// is kept once it has taken a part. How a part goes by HTTP is pkg/notify/send's,
// and how into a bucket pkg/audit/bucket's.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify/message"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Config is what a Streamer needs.
type Config struct {
	Account string
	Store   store.Store
	Secret  *secret.Keeper
	// Post sends a part by HTTP, Put puts one into a bucket.
	Post func(ctx context.Context, out message.Outgoing, none *mail.Server) error
	Put  func(ctx context.Context, to audit.Destination, key string, body []byte) error
	// Settle returns when all that can be read is on disk; nil: it always is.
	Settle func() error
	// Retention is how long records are kept; 0: for ever.
	Retention time.Duration
	Now       func() time.Time
	Log       *slog.Logger
}

// Streamer brings the trail to its destinations. Two at the same time send a part
// twice: one of them keeps how far it has come, and the other one stops.
type Streamer struct{ Config }

// New makes a Streamer.
func New(cfg Config) *Streamer {
	if cfg.Settle == nil {
		cfg.Settle = func() error { return nil }
	}
	return &Streamer{cfg}
}

// atOnce is to how many destinations is sent at the same time.
const atOnce = 8

// pace is between two passes, and how long one goes on with a destination.
const pace = time.Minute

// Run passes until ctx ends, and trims now and then.
func (s *Streamer) Run(ctx context.Context) error {
	for {
		_, err := s.Pass(ctx)
		if err == nil {
			err = s.Trim(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.ErrorContext(ctx, "the audit trail isn't brought to its destinations, or not trimmed; it is tried again", "in", pace, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pace):
		}
	}
}

// Pass brings to each active destination what it hasn't got yet. It tells the age
// of what is longest in waiting for one that doesn't take it. One that takes
// nothing is no error: it is tried again later.
func (s *Streamer) Pass(ctx context.Context) (late time.Duration, err error) {
	list, err := s.destinations(ctx)
	if err != nil {
		return 0, err
	}
	removed, err := s.Store.RemovedAudit(ctx, s.Account)
	if err != nil {
		return 0, err
	}
	var g errgroup.Group
	g.SetLimit(atOnce)
	lates, errs := make([]time.Duration, len(list)), make([]error, len(list))
	for i, d := range list {
		if !d.decoded || !d.Active {
			continue
		}
		g.Go(func() error {
			if lates[i], errs[i] = s.serve(ctx, d, removed.Sequence); errs[i] != nil {
				errs[i] = fmt.Errorf("bring the audit trail to %s: %w", d.ID, errs[i])
			}
			return nil // the others go on
		})
	}
	_ = g.Wait() // see above
	for _, l := range lates {
		late = max(late, l)
	}
	return late, errors.Join(errs...)
}

// destination is a document of the account.
type destination struct {
	audit.Destination

	decoded bool // false: it can't be read any more, and gets nothing
	saved   store.Entity
}

// destinations reads them all.
func (s *Streamer) destinations(ctx context.Context) ([]destination, error) {
	var list []destination
	for saved, err := range store.All(ctx, s.Store.Entities, ref.Scope{Account: s.Account}, ref.StreamingDestination, "") {
		if err != nil {
			return nil, fmt.Errorf("list the streaming destinations: %w", err)
		}
		d := destination{saved: saved, Destination: audit.Destination{ID: saved.Key.ID}}
		if e := grants.Decoded(saved); e != nil && e.Destination != nil {
			d.Destination, d.decoded = *e.Destination, true
		}
		list = append(list, d)
	}
	return list, nil
}

// position is how far a destination has come. One that was deleted and made anew
// begins anew.
func (s *Streamer) position(ctx context.Context, d destination) (store.Stream, error) {
	st, err := s.Store.Stream(ctx, s.Account, d.ID)
	if err == nil && !st.Made.Equal(d.saved.CreatedAt) {
		st = store.Stream{Account: s.Account, Destination: d.ID, Version: st.Version, Made: d.saved.CreatedAt}
	}
	return st, err
}

// serve sends one part after the other, until there is none, one isn't taken, or
// its time is over.
func (s *Streamer) serve(ctx context.Context, d destination, removed int64) (late time.Duration, err error) {
	st, err := s.position(ctx, d)
	if err != nil {
		return 0, err
	}
	if st.Document == d.saved.Version && s.Now().Before(st.Next) {
		return s.Now().Sub(st.Failed), nil
	}
	for begun := s.Now(); s.Now().Sub(begun) < pace; {
		part, err := s.part(ctx, max(st.Sequence, removed)+1)
		if err != nil || len(part) == 0 {
			return 0, err
		}
		failed := s.send(ctx, d, part)
		if ctx.Err() != nil { // it may have taken it: it comes again
			return 0, ctx.Err()
		}
		if st, err = s.Store.SaveStream(ctx, sent(st, d.saved.Version, part, failed, s.Now())); err != nil {
			return 0, err
		}
		if failed != nil {
			s.Log.WarnContext(ctx, "a streaming destination takes no audit records; it is tried again", "destination", d.ID, "failures", st.Failures, "next", st.Next, "error", failed)
			return s.Now().Sub(st.Failed), nil
		}
	}
	return 0, nil
}

// The pauses after failures: the first one, and the longest.
const (
	firstPause   = 15 * time.Second
	longestPause = 15 * time.Minute
)

// sent is how far a destination is once a part was sent to it, or wasn't taken.
func sent(st store.Stream, document int64, part []audit.Record, failed error, now time.Time) store.Stream {
	st.Document = document
	if failed == nil {
		st.Sequence, st.Sent = part[len(part)-1].Sequence, now
		st.Failures, st.Failed, st.Error, st.Next = 0, time.Time{}, "", time.Time{}
		return st
	}
	if st.Failures == 0 {
		st.Failed = now
	}
	st.Next = now.Add(min(firstPause<<min(st.Failures, 10), longestPause))
	st.Failures++
	st.Error = failed.Error()
	return st
}

// The most that a part has: records, and bytes of what is in them. One record is
// sent however large it is.
const (
	mostRecords = 500
	mostBytes   = 2 << 20
	block       = 50 // records that are read at a time
)

// part reads the next records, as many as go together.
func (s *Streamer) part(ctx context.Context, from int64) ([]audit.Record, error) {
	var part []audit.Record
	size := 0
	for len(part) < mostRecords {
		list, err := s.Store.ListAudit(ctx, s.Account, from+int64(len(part)), block)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if size += len(r.Before) + len(r.After); size > mostBytes && len(part) > 0 {
				return part, nil
			}
			part = append(part, r)
		}
		if len(list) < block {
			break
		}
	}
	return part, nil
}
