package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/store"
)

// answersKept is how long the answer to an idempotency key is remembered.
const answersKept = launch.KeyKept

// Keyed is a request that creates something and may be sent twice.
type Keyed struct {
	Key string `header:"Idempotency-Key" maxLength:"256" doc:"The same key within 24 hours gives the same answer and creates nothing more"`
}

// scopedKey is the key in the caller's own name space, for one route. Empty
// if the request has none.
func (k Keyed) scopedKey(ctx context.Context, route string) string {
	if k.Key == "" {
		return ""
	}
	t := caller(ctx)
	h := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", t.Scope.Account, t.Actor, route, k.Key))
	return fmt.Sprintf("%x", h)
}

// kept are the answers that were given to keys.
type kept struct {
	Store store.Keys
	Now   func() time.Time
}

// once does f, or gives back what it answered to the same key before. What it
// made must be safe to make twice: between making it and keeping the answer
// the process may die.
func once[T any](ctx context.Context, answers kept, k Keyed, request []byte, route string, f func(key string) (T, error)) (T, error) {
	key := k.scopedKey(ctx, route)
	if key == "" {
		return f("")
	}
	var none T
	body := sha256.Sum256(request)
	known, err := answers.Store.Answer(ctx, key, answers.Now())
	if err == nil {
		return again[T](known, body[:])
	}
	if !fault.Is(err, fault.NotFound) {
		return none, err
	}
	made, err := f(key)
	if err != nil {
		return none, err
	}
	doc, err := json.Marshal(made)
	if err != nil {
		return none, fmt.Errorf("encode the answer to keep: %w", err)
	}
	kept, first, err := answers.Store.PutAnswer(ctx, store.Answer{
		Key: key, RequestHash: body[:], Status: http.StatusOK, Body: doc, Expires: answers.Now().Add(answersKept),
	})
	if err != nil {
		return none, err
	}
	if !first {
		return again[T](kept, body[:])
	}
	return made, nil
}

// again is the answer that was given before, if the request is the same.
func again[T any](a store.Answer, body []byte) (T, error) {
	var out T
	if !bytes.Equal(a.RequestHash, body) {
		return out, fault.New(fault.Conflict, "the idempotency key was used for another request")
	}
	if err := json.Unmarshal(a.Body, &out); err != nil {
		return out, fmt.Errorf("decode a kept answer: %w", err)
	}
	return out, nil
}
