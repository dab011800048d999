package dynamo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/audit"
)

// appending gives a record its place after its account's last one, and the
// writes that put it there unless another one has come in between.
func (s *Store) appending(ctx context.Context, a audit.Record) (audit.Record, []write, error) {
	account := a.Scope.Account
	head, err := s.get(ctx, auditHeadAt(account))
	if err != nil {
		return audit.Record{}, nil, err
	}
	last := number(head, "sequence")
	r, err := audit.Chain(a, last, text(head, "hash"))
	if err != nil {
		return audit.Record{}, nil, err
	}
	doc, err := json.Marshal(r)
	if err != nil {
		return audit.Record{}, nil, fmt.Errorf("encode audit record %d: %w", r.Sequence, err)
	}
	record := auditAt(account, r.Sequence).item()
	if record["doc"], err = s.packed(ctx, doc, largestValue); err != nil {
		return audit.Record{}, nil, err
	}
	next := auditHeadAt(account).item()
	next["sequence"], next["hash"] = num(r.Sequence), str(r.Hash)
	asRead, values := "#sequence = :last", item{":last": num(last)}
	if head == nil {
		asRead, values = missing, nil
	}
	return r, []write{s.put(next, asRead, values, errAgain), s.put(record, missing, nil, errAgain)}, nil
}

// audited does the writes and appends the record in one transaction. If only
// the trail has moved on, it is tried again with the same writes.
func (s *Store) audited(ctx context.Context, a audit.Record, writes ...write) (audit.Record, error) {
	var r audit.Record
	err := again(ctx, func() error {
		record, appended, err := s.appending(ctx, a)
		if err != nil {
			return err
		}
		r = record
		return s.transact(ctx, append(writes[:len(writes):len(writes)], appended...)...)
	})
	return r, err
}

// AppendAudit appends a record that belongs to no other change.
func (s *Store) AppendAudit(ctx context.Context, a audit.Record) (audit.Record, error) {
	r, err := s.audited(ctx, a)
	if err != nil {
		return audit.Record{}, fmt.Errorf("append to the audit trail of account %q: %w", a.Scope.Account, err)
	}
	return r, nil
}

// ListAudit lists an account's records from a sequence number on.
func (s *Store) ListAudit(ctx context.Context, account string, from int64, limit int) ([]audit.Record, error) {
	found, err := s.query(ctx, query{
		pk: auditPK(account), sk: "sk BETWEEN :from AND :to", limit: bounded(limit),
		values: item{":from": str(numberText(from)), ":to": str(lastNumber)},
	})
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s, found, func(ctx context.Context, s *Store, it item) (audit.Record, error) {
		var r audit.Record
		return r, s.decode(ctx, it, "doc", &r)
	})
}
