// Package send takes notifications to where they are wanted: by HTTP to a
// vendor's endpoint or a webhook, by SMTP to people.
//
// It tries some times, for less than a minute, and keeps nothing: which
// messages have been sent already is pkg/notify's to know.
package send

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/egress"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify/message"
)

// Limit bounds what Send takes, all tries and the waits between them included.
const Limit = 50 * time.Second

const (
	tries    = 3                // semantics/pipeline §10
	each     = 10 * time.Second // for one try
	firstGap = time.Second      // before the second try; four times as long before each further one
)

// Sender sends messages. It is for many goroutines.
type Sender struct {
	client *http.Client
	mail   mail.Sender
}

// New makes a Sender, which sends mail with m. By HTTP it reaches every address
// but those of cloud metadata; with inside false not this machine either, as
// where a function's own runtime listens.
func New(m mail.Sender, inside bool) *Sender {
	return &Sender{mail: m, client: egress.Client(inside, each)}
}

// Send sends a message, and again if that may help. The error of the last try
// names no more of a URL than its host.
func (s *Sender) Send(ctx context.Context, out message.Outgoing, server *mail.Server) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	gap := firstGap
	for try := 1; ; try++ {
		err := s.once(ctx, out, server)
		var later *later
		if err == nil || try == tries || !errors.As(err, &later) {
			return err
		}
		if !wait(ctx, max(jitter(gap), later.after)) {
			return err
		}
		gap *= 4
	}
}

// later is the error of something that may work later.
type later struct {
	error
	after time.Duration // as asked for; 0: as one likes
}

func (l *later) Unwrap() error { return l.error }

// jitter is a random time around d, so that what failed together isn't tried
// again together.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // nothing secret hangs on it
}

// wait says whether there was the time to.
func wait(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (s *Sender) once(ctx context.Context, out message.Outgoing, server *mail.Server) error {
	if out.Mail == nil {
		return s.post(ctx, *out.Post)
	}
	if server == nil {
		return fault.New(fault.Invalid, "this installation has no mail server")
	}
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	err := s.mail.Send(ctx, *server, *out.Mail)
	if err != nil && mail.Temporary(err) {
		return &later{error: err}
	}
	return err
}

func (s *Sender) post(ctx context.Context, p message.Post) error {
	u, err := url.Parse(strings.TrimSpace(p.URL))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fault.New(fault.Invalid, "the URL can't be used; want http:// or https:// and a host, and expressions that have a value")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(p.Body))
	if err != nil {
		return fault.New(fault.Invalid, "the request to %s can't be made", u.Host)
	}
	req.Header.Set("Content-Type", p.Type)
	req.Header.Set("User-Agent", "Slipway")
	for key, value := range p.Headers {
		req.Header.Set(key, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return unreachable(u.Host, err)
	}
	defer func() { _ = resp.Body.Close() }() // what is left of it is of no interest
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return refused(u.Host, resp)
}

// unreachable is the error of a request without an answer. The client's own
// has the whole URL, which is often a secret.
func unreachable(host string, err error) error {
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err
	}
	if errors.Is(err, egress.ErrGuarded) {
		return fault.New(fault.Forbidden, "%s: %w", host, err)
	}
	return &later{error: fmt.Errorf("%s can't be reached: %w", host, err)}
}

// said is how much of an answer an error shows, in bytes.
const said = 200

func refused(host string, resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, said)) // as far as it came
	err := fault.New(fault.Invalid, "%s answered %s: %q", host, resp.Status, strings.TrimSpace(string(text)))
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode/100 == 5 {
		return &later{error: err, after: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	}
	return err
}

// retryAfter reads seconds or a date (RFC 9110 §10.2.3); 0 if there is none.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 && seconds < int(Limit/time.Second) {
		return time.Duration(seconds) * time.Second
	} else if err == nil && seconds > 0 {
		return Limit // too long to wait for
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
