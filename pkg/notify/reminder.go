package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify/message"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Reminder tells people by mail that tokens of theirs are about to end.
type Reminder struct {
	*Notifier
	Account string
}

const (
	day = 24 * time.Hour
	// lookEvery is how often tokens are looked at.
	lookEvery = time.Hour
	// shortLived is how long a token lasts at most of whose end nobody is told: those of
	// logins, which one makes again.
	shortLived = 3 * day
)

// before are how long before a token's end its owner is told.
func before() []time.Duration { return []time.Duration{day, 7 * day, 14 * day} }

// Run looks at the tokens each hour, until ctx ends.
func (r Reminder) Run(ctx context.Context) error {
	for {
		if err := r.Pass(ctx); err != nil && ctx.Err() == nil {
			r.Log.ErrorContext(ctx, "people couldn't be told that tokens are about to end", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// Pass tells those who are to be told now. It looks once an hour, however often it is
// asked. What can't be sent is logged, and tried again in the next hour.
func (r Reminder) Pass(ctx context.Context) error {
	if r.Mail == nil {
		return nil
	}
	now := r.Now()
	hour := r.Account + "/reminders/" + now.UTC().Format("2006-01-02T15")
	if looked, err := r.has(ctx, hour); err != nil || looked {
		return err
	}
	all, err := r.Sent.ListTokens(ctx, r.Account, store.TokenUser)
	if err != nil {
		return err
	}
	var failed []error
	for _, t := range all {
		if when := dueBefore(t, now); when > 0 {
			failed = append(failed, r.remind(ctx, t, when))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	_, _, err = r.Sent.PutAnswer(ctx, store.Answer{Key: hour, RequestHash: []byte{}, Body: []byte{}, Expires: now.Add(2 * lookEvery)})
	return err
}

// dueBefore is which of the mails about a token's end is due; 0: none.
func dueBefore(t store.AccessToken, now time.Time) time.Duration {
	left := t.ExpiresAt.Sub(now)
	if t.Principal.Kind != ref.User || t.Revoked || t.ExpiresAt.IsZero() || left <= 0 || t.ExpiresAt.Sub(t.CreatedAt) <= shortLived {
		return 0
	}
	for _, when := range before() {
		if left <= when {
			if t.ExpiresAt.Sub(t.CreatedAt) <= when {
				return 0 // who made it knows
			}
			return when
		}
	}
	return 0
}

// remind tells the owner of a token, once for each time before its end.
func (r Reminder) remind(ctx context.Context, t store.AccessToken, when time.Duration) error {
	saved, err := r.Entities.Entity(ctx, t.Principal)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	e := grants.Decoded(saved)
	if e == nil || e.User == nil || e.User.Disabled || e.User.Email == "" || saved.CreatedAt.After(t.CreatedAt) {
		return nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d", t.ID, t.ExpiresAt.UnixNano(), when))
	key := r.Account + "/reminder/" + hex.EncodeToString(sum[:16])
	mine, err := r.claim(ctx, key)
	if err != nil || !mine {
		return err
	}
	server, err := r.server(ctx, r.Account)
	if err == nil {
		err = r.Sender.Send(ctx, message.Outgoing{Mail: &mail.Message{
			ID: hex.EncodeToString(sum[:16]), Date: r.Now(), To: []string{e.User.Email},
			Subject: "Slipway: your token " + t.Name + " ends on " + t.ExpiresAt.UTC().Format(time.DateOnly),
			Body: fmt.Sprintf("Your token %q (%s) of Slipway for %s ends at %s. What uses it gets EXPIRED_TOKEN from then on.\n\nPut another in its place with\n\n    slipway token rotate %s\n",
				t.Name, t.ID, t.Scope, t.ExpiresAt.UTC().Format(time.RFC3339), t.ID),
		}}, server)
	}
	if err != nil {
		r.Log.WarnContext(ctx, "a user couldn't be told of the end of a token; it is tried again in an hour", "user", t.Principal.ID, "token", t.ID, "error", err)
		return nil
	}
	_, _, err = r.Sent.PutAnswer(ctx, store.Answer{Key: key + "/sent", RequestHash: []byte{}, Body: []byte{}, Expires: t.ExpiresAt.Add(day)})
	return err
}
