package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
)

// audits is store.Audits, and enters the records of changes.
type audits struct{ table *table }

// appending gives a record its place after its account's last one, and the
// writes that put it there unless another one has come in between.
func (s audits) appending(ctx context.Context, a audit.Record) (audit.Record, []write, error) {
	list, writes, err := s.linking(ctx, a.Scope.Account, a)
	if err != nil {
		return audit.Record{}, nil, err
	}
	return list[0], writes, nil
}

// linking is appending for several records of an account.
func (s audits) linking(ctx context.Context, account string, list ...audit.Record) ([]audit.Record, []write, error) {
	head, err := s.table.get(ctx, auditHeadAt(account))
	if err != nil {
		return nil, nil, err
	}
	last, hash := number(head, "sequence"), text(head, "hash")
	next := auditHeadAt(account).item()
	asRead, values := "#sequence = :last", item{":last": num(last)}
	if head == nil {
		asRead, values = missing, nil
	}
	writes := []write{s.table.put(next, asRead, values, errAgain)}
	linked := make([]audit.Record, len(list))
	for i, a := range list {
		r, err := audit.Chain(a, last, hash)
		if err != nil {
			return nil, nil, err
		}
		record := auditAt(account, r.Sequence).item()
		if err := s.table.encode(ctx, record, "doc", r, largestValue); err != nil {
			return nil, nil, err
		}
		writes = append(writes, s.table.put(record, missing, nil, errAgain))
		linked[i], last, hash = r, r.Sequence, r.Hash
	}
	next["sequence"], next["hash"] = num(last), str(hash)
	return linked, writes, nil
}

// audited does the writes and enters the record in one transaction. If only
// the trail has moved on, it is tried again with the same writes.
func (s audits) audited(ctx context.Context, a audit.Record, writes ...write) error {
	return s.decided(ctx, a, func() ([]write, error) { return writes, nil })
}

// mostEntering is how many writes enter a record; more than one need this and
// one for each of the others.
const mostEntering = 2

// decided is audited for writes that each try finds anew. None: there is
// nothing to change, and nothing to record.
func (s audits) decided(ctx context.Context, a audit.Record, decide func() ([]write, error)) error {
	return s.recorded(ctx, []audit.Record{a}, decide)
}

// recorded is decided for several records of one account.
func (s audits) recorded(ctx context.Context, list []audit.Record, decide func() ([]write, error)) error {
	e := entry{records: list}
	err := again(ctx, func() error {
		writes, err := decide()
		if err != nil || len(writes) == 0 {
			return err
		}
		entering, err := s.entering(ctx, &e)
		if err != nil {
			return err
		}
		return s.table.transact(ctx, append(writes[:len(writes):len(writes)], entering...)...)
	})
	if err == nil {
		s.settle(ctx, e)
	}
	return err
}

// AppendAudit appends a record that belongs to no other change.
func (s audits) AppendAudit(ctx context.Context, a audit.Record) (audit.Record, error) {
	var r audit.Record
	err := again(ctx, func() error {
		linked, writes, err := s.appending(ctx, a)
		if err != nil {
			return err
		}
		r = linked
		return s.table.transact(ctx, writes...)
	})
	if err != nil {
		return audit.Record{}, fmt.Errorf("append to the audit trail of account %q: %w", a.Scope.Account, err)
	}
	return r, nil
}

// errEntered: a record was appended under the key before.
var errEntered = errors.New("the record is there already")

// AppendAuditOnce appends a record, unless one was appended under the key.
func (s audits) AppendAuditOnce(ctx context.Context, a audit.Record, key string, expires time.Time) error {
	it := answerAt(key).item()
	known, err := s.table.get(ctx, answerAt(key))
	if err != nil || known != nil {
		return err
	}
	it["until"], it[Expires] = num(millis(expires)), num(expires.Add(time.Second).Unix())
	err = s.audited(ctx, a, s.table.put(it, missing, nil, errEntered))
	if errors.Is(err, errEntered) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("append to the audit trail of account %q: %w", a.Scope.Account, err)
	}
	return nil
}

// ListAudit lists an account's records from a sequence number on.
func (s audits) ListAudit(ctx context.Context, account string, from int64, limit int) ([]audit.Record, error) {
	if err := s.moveAll(ctx, account, key{}); err != nil {
		return nil, fmt.Errorf("complete the audit trail of account %q: %w", account, err)
	}
	found, err := s.table.query(ctx, query{
		pk: auditPK(account), sk: "sk BETWEEN :from AND :to", limit: bounded(limit),
		values: item{":from": str(numberText(from)), ":to": str(lastNumber)},
	})
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, found, func(ctx context.Context, b bodies, it item) (audit.Record, error) {
		var r audit.Record
		return r, b.decode(ctx, it, "doc", &r)
	})
}

// LastAudit is the sequence of an account's last record.
func (s audits) LastAudit(ctx context.Context, account string) (int64, error) {
	head, err := s.table.get(ctx, auditHeadAt(account))
	if err != nil {
		return 0, err
	}
	return number(head, "sequence"), nil
}

// RemovedAudit is the place of the last record that was removed.
func (s audits) RemovedAudit(ctx context.Context, account string) (audit.Place, error) {
	it, err := s.table.get(ctx, auditRemovedAt(account))
	return audit.Place{Sequence: number(it, "sequence"), Hash: text(it, "hash")}, err
}

// TrimAudit removes an account's records up to a place.
func (s audits) TrimAudit(ctx context.Context, account string, upTo audit.Place, a audit.Record) error {
	var removed audit.Place
	err := s.decided(ctx, a, func() ([]write, error) {
		var err error
		if removed, err = s.RemovedAudit(ctx, account); err != nil || upTo.Sequence <= removed.Sequence {
			return nil, err
		}
		condition, values := missing, item(nil)
		if removed != (audit.Place{}) {
			condition, values = "#sequence = :read", item{":read": num(removed.Sequence)}
		}
		it := auditRemovedAt(account).item()
		it["sequence"], it["hash"] = num(upTo.Sequence), str(upTo.Hash)
		removed = upTo
		return []write{s.table.put(it, condition, values, errAgain)}, nil
	})
	for more := true; more && err == nil; {
		more, err = s.clear(ctx, account, removed.Sequence)
	}
	if err != nil {
		return fmt.Errorf("trim the audit trail of account %q: %w", account, err)
	}
	return nil
}

// clear deletes some of the records up to a number, the oldest first, and says
// whether there may be more. What they have in blobs goes before them, so that
// nothing is left that nobody knows.
func (s audits) clear(ctx context.Context, account string, upTo int64) (more bool, err error) {
	const part = 100
	found, err := s.table.query(ctx, query{
		pk: auditPK(account), sk: "sk BETWEEN :from AND :to", limit: part,
		values: item{":from": str(numberText(0)), ":to": str(numberText(upTo))},
	})
	for _, it := range found {
		if blob := text(it, "doc"); blob != "" {
			if err := s.table.blobs.Retire(ctx, blob); err != nil {
				return false, err
			}
		}
		if err := s.table.drop(ctx, keyOf(it), "", nil); err != nil {
			return false, err
		}
	}
	return len(found) == part, err
}
