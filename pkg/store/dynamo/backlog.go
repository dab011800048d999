package dynamo

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
)

// A trail has one end, so those who append to it at the same moment are in each
// other's way: of hundreds one at a time would get on. Who meets others leaves
// its record in the account's backlog instead, in the same transaction as the
// change, where nobody is in the way, and moves all that waits there into the
// trail afterwards, many at a time. Whoever does that does it for all: a lost
// race is as good as a won one. Who reads the trail moves what waits first, so
// that a record is never missing from it.

// entry is a record on its way into its account's trail, or several of one
// change.
type entry struct {
	records []audit.Record
	tried   bool // to append them to the trail itself
	waits   key  // the last one's place in the backlog, if that is where they go
}

// entering gives the writes that enter the records: at the end of the trail, and
// from the second try on in the backlog.
func (s audits) entering(ctx context.Context, e *entry) ([]write, error) {
	if !e.tried {
		e.tried = true
		_, writes, err := s.linking(ctx, e.account(), e.records...)
		return writes, err
	}
	var writes []write
	mine := rand.Text()
	for i, r := range e.records {
		e.waits = key{backlogPK(e.account()), momentText(r.Time, fmt.Sprintf("%s%03d", mine, i))}
		it := e.waits.item()
		if err := s.table.encode(ctx, it, "doc", r, largestValue); err != nil {
			return nil, err
		}
		writes = append(writes, s.table.put(it, missing, nil, errAgain))
	}
	return writes, nil
}

func (e *entry) account() string { return e.records[0].Scope.Account }

// settle moves an entry that was written from the backlog into the trail. It
// may fail: the change is made and its record kept, and the next who comes
// moves it.
func (s audits) settle(ctx context.Context, e entry) {
	if e.waits != (key{}) && rest(ctx, settlePause) == nil {
		_ = s.moveAll(ctx, e.account(), e.waits) // see above
	}
}

// settlePause is within how much time those who met begin to move entries: the
// first ones move those of the others.
const settlePause = 200 * time.Millisecond

// The most that is moved at a time: records, and bytes of a transaction's 4 MB.
const (
	mostMoved      = 25
	mostMovedBytes = 2 << 20
)

// moveAll moves what waits in an account's backlog into its trail, the oldest
// first, until the entry at mine is there, or all are if that is empty.
func (s audits) moveAll(ctx context.Context, account string, mine key) error {
	for more := true; more; {
		err := again(ctx, func() error {
			if mine != (key{}) {
				it, err := s.table.get(ctx, mine)
				if more = it != nil; err != nil || !more {
					return err
				}
			}
			waiting, err := s.table.query(ctx, query{pk: backlogPK(account), limit: mostMoved})
			if more = len(waiting) > 0; err != nil || !more {
				return err
			}
			return s.move(ctx, account, waiting)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// move moves some entries.
func (s audits) move(ctx context.Context, account string, waiting []item) error {
	var list []audit.Record
	var left []write
	size := 0
	for _, it := range waiting {
		if size += len(bytes(it, "doc")); size > mostMovedBytes && len(list) > 0 {
			break
		}
		var r audit.Record
		if err := s.table.decode(ctx, it, "doc", &r); err != nil {
			return err
		}
		list, left = append(list, r), append(left, s.table.remove(keyOf(it), present, nil, errAgain))
	}
	_, writes, err := s.linking(ctx, account, list...)
	if err != nil {
		return err
	}
	return s.table.transact(ctx, append(writes, left...)...)
}
