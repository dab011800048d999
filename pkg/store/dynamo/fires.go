package dynamo

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/store"
)

// fireDoc is what no condition asks a fire for.
type fireDoc struct {
	Outcome   store.FireOutcome `json:"outcome"`
	Reason    string            `json:"reason,omitempty"`
	Execution string            `json:"execution,omitempty"`
	Subject   string            `json:"subject,omitempty"`
}

// PutFire stores a fire.
func (s *Store) PutFire(ctx context.Context, f store.Fire) error {
	it := fireAt(f).item()
	it["at"], it["id"], it[Expires] = num(millis(f.At)), str(f.ID), num(f.At.Add(store.FiresKept).Unix())
	err := s.encode(ctx, it, "doc", fireDoc{Outcome: f.Outcome, Reason: f.Reason, Execution: f.Execution, Subject: f.Subject}, largestValue)
	if err != nil {
		return err
	}
	_, _, err = s.place(ctx, it, "")
	return err
}

// ListFires lists a trigger's since a time, newest first.
func (s *Store) ListFires(ctx context.Context, trigger store.EntityKey, since time.Time, page store.Page) ([]store.Fire, string, error) {
	list := firesPK(trigger)
	before, err := s.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	from := momentText(since, "")
	q := query{pk: list, sk: "sk >= :from", values: item{":from": str(from)}, backwards: true, limit: bounded(page.Limit) + 1}
	if before != "" {
		if before <= from {
			return nil, "", nil
		}
		// The place itself has been given; a range includes both of its ends.
		q.sk, q.values[":before"] = "sk BETWEEN :from AND :before", str(before)
		q.limit++
	}
	found, err := s.query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	if before != "" && len(found) > 0 && text(found[0], "sk") == before {
		found = found[1:]
	}
	found, next, err := nextPage(s, list, found, bounded(page.Limit), func(it item) string { return text(it, "sk") })
	if err != nil {
		return nil, "", err
	}
	fires, err := decodeAll(ctx, s, found, func(ctx context.Context, s *Store, it item) (store.Fire, error) {
		var d fireDoc
		err := s.decode(ctx, it, "doc", &d)
		return store.Fire{
			Trigger: trigger, ID: text(it, "id"), At: fromMillis(number(it, "at")),
			Outcome: d.Outcome, Reason: d.Reason, Execution: d.Execution, Subject: d.Subject,
		}, err
	})
	return fires, next, err
}
