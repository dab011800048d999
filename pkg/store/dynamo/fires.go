package dynamo

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/store"
)

// fires is store.Fires.
type fires struct{ table *table }

// fireDoc is what no condition asks a fire for.
type fireDoc struct {
	Outcome   store.FireOutcome `json:"outcome"`
	Reason    string            `json:"reason,omitempty"`
	Execution string            `json:"execution,omitempty"`
	Subject   string            `json:"subject,omitempty"`
}

// PutFire stores a fire.
func (s fires) PutFire(ctx context.Context, f store.Fire) error {
	it := fireAt(f).item()
	it["at"], it["id"], it[Expires] = num(millis(f.At)), str(f.ID), num(f.At.Add(store.FiresKept).Unix())
	err := s.table.encode(ctx, it, "doc", fireDoc{Outcome: f.Outcome, Reason: f.Reason, Execution: f.Execution, Subject: f.Subject}, largestValue)
	if err != nil {
		return err
	}
	_, _, err = s.table.place(ctx, it, "")
	return err
}

// ListFires lists a trigger's since a time, newest first.
func (s fires) ListFires(ctx context.Context, trigger store.EntityKey, since time.Time, page store.Page) ([]store.Fire, string, error) {
	found, next, err := s.table.newestFirst(ctx, firesPK(trigger), since, page)
	if err != nil {
		return nil, "", err
	}
	fires, err := decodeAll(ctx, s.table.bodies, found, func(ctx context.Context, b bodies, it item) (store.Fire, error) {
		return readFire(ctx, b, trigger, it)
	})
	return fires, next, err
}

func readFire(ctx context.Context, b bodies, trigger store.EntityKey, it item) (store.Fire, error) {
	var d fireDoc
	err := b.decode(ctx, it, "doc", &d)
	return store.Fire{
		Trigger: trigger, ID: text(it, "id"), At: fromMillis(number(it, "at")),
		Outcome: d.Outcome, Reason: d.Reason, Execution: d.Execution, Subject: d.Subject,
	}, err
}
