package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/notify/send"
	"github.com/slipway-cd/slipway/pkg/store"
)

const (
	// lease is how long a message is being sent at most: the tries and what the
	// store takes.
	lease = send.Limit + 10*time.Second
	// remembered is how long it is known that a message was sent. Events come
	// again for a day at most, and by hand from a queue that keeps them for two
	// weeks.
	remembered = 15 * 24 * time.Hour
)

// key is the same for the same message: of an event, by a rule, to one of a
// channel's targets.
func (d delivery) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%d", d.event.Detail.ID, d.rule.Known(), d.typ, d.number))
	return d.execution.Scope.Account + "/notification/" + hex.EncodeToString(sum[:16])
}

// claim says whether the caller is to send the message: it wasn't sent, and
// nobody else is about to. While somebody else is, it is an error: if that one
// dies the message is still to be sent.
func (n *Notifier) claim(ctx context.Context, key string) (bool, error) {
	if sent, err := n.has(ctx, key+"/sent"); err != nil || sent {
		return false, err
	}
	if n.Alone {
		return true, nil
	}
	if _, err := n.has(ctx, key+"/sending"); err != nil { // forgets one that has expired
		return false, err
	}
	_, mine, err := n.Sent.PutAnswer(ctx, store.Answer{Key: key + "/sending", RequestHash: []byte{}, Body: []byte{}, Expires: n.Now().Add(lease)})
	if err != nil {
		return false, err
	}
	if !mine {
		return false, fault.New(fault.Unavailable, "the message is being sent by somebody else")
	}
	sent, err := n.has(ctx, key+"/sent") // between the first look and the claim
	return !sent, err
}

func (n *Notifier) has(ctx context.Context, key string) (bool, error) {
	_, err := n.Sent.Answer(ctx, key, n.Now())
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// done keeps that a message was sent, or given up.
func (n *Notifier) done(ctx context.Context, key string) error {
	_, _, err := n.Sent.PutAnswer(ctx, store.Answer{Key: key + "/sent", RequestHash: []byte{}, Body: []byte{}, Expires: n.Now().Add(remembered)})
	return err
}
