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
	found, next, err := s.newestFirst(ctx, firesPK(trigger), since, page)
	if err != nil {
		return nil, "", err
	}
	fires, err := decodeAll(ctx, s, found, func(ctx context.Context, s *Store, it item) (store.Fire, error) {
		return readFire(ctx, s, trigger, it)
	})
	return fires, next, err
}

func readFire(ctx context.Context, s *Store, trigger store.EntityKey, it item) (store.Fire, error) {
	var d fireDoc
	err := s.decode(ctx, it, "doc", &d)
	return store.Fire{
		Trigger: trigger, ID: text(it, "id"), At: fromMillis(number(it, "at")),
		Outcome: d.Outcome, Reason: d.Reason, Execution: d.Execution, Subject: d.Subject,
	}, err
}
