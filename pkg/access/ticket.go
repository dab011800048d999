package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Tickets are texts that each do something once, for a while. What is kept of one
// doesn't tell it.
type Tickets struct {
	Keys store.Keys
	What string // they are, e.g. login link
	Age  time.Duration
}

// Make makes a ticket that means something.
func (t Tickets) Make(ctx context.Context, meaning []byte, now time.Time) (text string, expires time.Time, err error) {
	text, expires = rand.Text(), now.Add(t.Age)
	_, _, err = t.Keys.PutAnswer(ctx, store.Answer{Key: t.key(text, "made"), Body: meaning, Expires: expires})
	return text, expires, err
}

// Take says whether a ticket is known and wasn't taken before. Then admit has been asked
// about what it means; its error keeps the ticket from being taken.
func (t Tickets) Take(ctx context.Context, text string, now time.Time, admit func(meaning []byte) error) (bool, error) {
	made, err := t.Keys.Answer(ctx, t.key(text, "made"), now)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err == nil {
		err = admit(made.Body)
	}
	if err != nil {
		return false, err
	}
	// Of two who show it at once the store lets one be the first. The mark outlives the ticket.
	_, first, err := t.Keys.PutAnswer(ctx, store.Answer{Key: t.key(text, "taken"), Expires: made.Expires.Add(t.Age)})
	return first, err
}

// key is where a ticket's making or taking is noted.
func (t Tickets) key(text, what string) string {
	return fmt.Sprintf("%s %s %x", t.What, what, sha256.Sum256([]byte(text)))
}
