package dynamo

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// PutAnswer stores the first answer to a key; it says whether this one was.
func (s keys) PutAnswer(ctx context.Context, a store.Answer) (store.Answer, bool, error) {
	it := answerAt(a.Key).item()
	it["request"], it["status"], it["until"] = bin(a.RequestHash), num(int64(a.Status)), num(millis(a.Expires))
	it[Expires] = num(a.Expires.Add(time.Second).Unix()) // not before until, which has milliseconds
	var err error
	if it["body"], err = s.table.packed(ctx, a.Body, largestValue); err != nil {
		return store.Answer{}, false, err
	}
	kept, first, err := s.table.place(ctx, it, missing)
	if err != nil {
		return store.Answer{}, false, err
	}
	answer, err := s.readAnswer(ctx, a.Key, kept)
	return answer, first, err
}

func (s keys) readAnswer(ctx context.Context, name string, it item) (store.Answer, error) {
	body, err := s.table.unpacked(ctx, it, "body")
	return store.Answer{
		Key: name, RequestHash: bytes(it, "request"), Status: int(number(it, "status")), Body: body, Expires: fromMillis(number(it, "until")),
	}, err
}

// Answer reads one that hasn't expired. One that has is forgotten, so that its
// key can be used again.
func (s keys) Answer(ctx context.Context, key string, now time.Time) (store.Answer, error) {
	it, err := s.table.find(ctx, answerAt(key), "an answer to idempotency key %q", key)
	if err != nil {
		return store.Answer{}, err
	}
	if number(it, "until") > millis(now) {
		return s.readAnswer(ctx, key, it)
	}
	if err := s.table.drop(ctx, answerAt(key), "#until = :until", item{":until": it["until"]}); err != nil {
		return store.Answer{}, err
	}
	return store.Answer{}, fault.New(fault.NotFound, "the answer to idempotency key %q has expired", key)
}
