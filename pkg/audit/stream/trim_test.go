package stream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
)

// left is what the trail holds, and where it begins; it must verify.
func (b *bench) left() (first, last int64) {
	b.t.Helper()
	removed, err := b.store.RemovedAudit(b.t.Context(), "acme")
	b.must(err)
	list, err := b.store.ListAudit(b.t.Context(), "acme", 1, 500)
	b.must(err)
	var v audit.Verifier
	v.From(removed)
	for _, r := range list {
		b.must(v.Check(r))
	}
	return list[0].Sequence, v.Last().Sequence
}

func (b *bench) trims(first, last int64) {
	b.t.Helper()
	b.must(b.Trim(b.t.Context()))
	if f, l := b.left(); f != first || l != last {
		b.t.Errorf("records %d to %d are left; want %d to %d", f, l, first, last)
	}
}

const day = 24 * time.Hour

func TestRetention(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.append(60)
	b.now = b.now.Add(5 * day)
	b.append(10)
	b.trims(1, 70) // nothing is removed without a retention
	b.Retention = 3 * day
	b.trims(61, 71) // with the record of it
	b.trims(61, 71)
	b.now = b.now.Add(2 * day)
	b.trims(61, 71)
	b.now = b.now.Add(2 * day) // the day of the others is over
	b.trims(72, 72)
	b.append(1)
	b.trims(72, 73)
}

// What an active destination hasn't got stays, whatever its age.
func TestRetentionWaitsForDestinations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Retention = day
	b.save("archive", toBucket)
	b.save("siem", "status: ACTIVE, spec: {type: NEWER}") // perhaps it could be read before
	b.append(8)
	b.refuse = func(string) error { return errors.New("down") }
	b.pass()
	b.now = b.now.Add(9 * day)
	b.trims(1, 10)
	b.now = b.now.Add(time.Hour)
	b.refuse = nil
	b.pass()
	b.trims(1, 10)
	b.save("siem", "status: INACTIVE, spec: {type: AWS_S3, bucket: acme-siem}")
	b.trims(11, 12)
	if s := b.status("archive"); s.Sequence != 10 || s.Lag != 2 {
		t.Errorf("the status is %+v", s)
	}
	// One that wasn't active goes on with what is left.
	b.save("siem", "status: ACTIVE, spec: {type: AWS_S3, bucket: acme-siem}")
	b.objects = nil
	b.pass()
	for _, name := range b.objects {
		if first := b.got[name][0].Sequence; first != 11 && first != 12 {
			t.Errorf("%s begins with %d", name, first)
		}
	}
	if s := b.status("siem"); s.Lag != 0 || s.Missed != 0 {
		t.Errorf("the status is %+v", s)
	}
}

// A destination that paused for longer than records are kept misses some, and its
// status says how many.
func TestRetentionDoesNotWaitForPausedOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Retention = day
	b.save("archive", toBucket)
	b.pass()
	b.save("archive", "status: INACTIVE, spec: {type: AWS_S3, bucket: acme-audit}")
	b.append(4)
	b.now = b.now.Add(9 * day)
	b.trims(7, 7)
	if s := b.status("archive"); s.Sequence != 1 || s.Missed != 5 || s.Lag != 1 {
		t.Errorf("the status is %+v", s)
	}
}
