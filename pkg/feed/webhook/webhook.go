// Package webhook posts Slipway's events to a URL, for an installation on one
// machine.
//
// It is one subscriber of pkg/feed, which keeps and repeats what isn't taken.
package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/slipway-cd/slipway/pkg/feed"
)

// Subscriber posts every event as JSON, as EventBridge would deliver it. An
// answer of 2xx takes it in. No redirection is followed: the event would be
// left behind.
func Subscriber(to string) feed.Subscriber {
	client := &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return feed.Subscriber{Name: "webhook", Handle: func(ctx context.Context, e feed.Event) error {
		doc, err := json.Marshal(e.Envelope())
		if err != nil {
			return fmt.Errorf("encode event %s: %w", e.Detail.ID, err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(doc))
		if err != nil { // it quotes the URL
			return fmt.Errorf("post event %s: the webhook's URL can't be read", e.Detail.ID)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("post event %s: %s can't be reached: %w", e.Detail.ID, req.URL.Host, withoutURL(err))
		}
		defer func() { _ = resp.Body.Close() }() // nothing of it is read
		if resp.StatusCode/100 != 2 {
			return fmt.Errorf("post event %s: the webhook answered %s", e.Detail.ID, resp.Status)
		}
		return nil
	}}
}

// withoutURL is a client's error without the whole URL, which is often a
// secret.
func withoutURL(err error) error {
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		return outer.Err
	}
	return err
}
