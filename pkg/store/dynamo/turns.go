package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// turns is store.Turns.
type turns struct{ table *table }

// holderDoc is a holder as it stands in a queue.
type holderDoc struct {
	Execution string      `json:"execution"`
	Node      plan.NodeID `json:"node"`
}

// TakeTurn puts a holder at the end of a queue.
func (s turns) TakeTurn(ctx context.Context, key string, h store.Holder) ([]store.Holder, error) {
	return s.requeue(ctx, key, func(q []holderDoc) []holderDoc {
		if slices.Contains(q, holderDoc(h)) {
			return q
		}
		return append(q, holderDoc(h))
	})
}

// EndTurn takes a holder out of a queue.
func (s turns) EndTurn(ctx context.Context, key string, h store.Holder) ([]store.Holder, error) {
	return s.requeue(ctx, key, func(q []holderDoc) []holderDoc {
		return slices.DeleteFunc(q, func(other holderDoc) bool { return other == holderDoc(h) })
	})
}

// requeue changes a queue and gives what it is then. The condition is the whole
// queue as it was read: a queue that was emptied has no version to go on from.
func (s turns) requeue(ctx context.Context, name string, change func([]holderDoc) []holderDoc) ([]store.Holder, error) {
	var queue []holderDoc
	err := again(ctx, func() error {
		it, err := s.table.get(ctx, turnAt(name))
		if err != nil {
			return err
		}
		queue = nil
		if it != nil {
			if err := s.table.decode(ctx, it, "queue", &queue); err != nil {
				return err
			}
		}
		before := len(queue)
		if queue = change(queue); len(queue) == before {
			return nil
		}
		w, err := s.queueWrite(name, it, queue)
		if err != nil {
			return err
		}
		return s.table.transact(ctx, w)
	})
	if err != nil {
		return nil, err
	}
	out := make([]store.Holder, len(queue))
	for i, h := range queue {
		out[i] = store.Holder(h)
	}
	return out, nil
}

// queueWrite stores a queue over the item that it was read from, if there was one.
func (s turns) queueWrite(name string, read item, queue []holderDoc) (write, error) {
	asRead, values := missing, item(nil)
	if read != nil {
		asRead, values = "#queue = :queue", item{":queue": read["queue"]}
	}
	if len(queue) == 0 {
		return s.table.remove(turnAt(name), asRead, values, errAgain), nil
	}
	doc, err := json.Marshal(queue)
	if err != nil {
		return write{}, fmt.Errorf("encode the queue of %q: %w", name, err)
	}
	next := turnAt(name).item()
	next["queue"] = bin(doc)
	return s.table.put(next, asRead, values, errAgain), nil
}
