package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

const (
	// requestTimeout bounds one request; a batch of log chunks is the largest.
	requestTimeout = 30 * time.Second
	// maxAnswer bounds an answer in bytes: a full claim of large tasks.
	maxAnswer = 64 << 20
)

// client speaks the delegate's part of the API.
type client struct {
	http  *http.Client
	base  string // ends in "/v1/delegate/"
	token string
}

// newHTTP makes a client that keeps a connection for each running task.
// It follows no redirection, which would take the token along.
func newHTTP(capacity int, check *tls.Config) *http.Client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Client{CheckRedirect: stay}
	}
	t = t.Clone()
	if check != nil {
		t.TLSClientConfig = check
	}
	t.MaxIdleConnsPerHost = capacity + 2 // and for claims and heartbeats
	return &http.Client{Transport: t, CheckRedirect: stay}
}

func (c client) post(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, http.MethodPost, path, in, out)
}

// call sends in as JSON and decodes the answer into out; nil means none. A
// refusal is the fault that the server sent; anything that may pass by itself
// is fault.Unavailable.
func (c client) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		doc, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode the request %s: %w", path, err)
		}
		body = bytes.NewReader(doc)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return fmt.Errorf("make the request %s: %w", path, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return fault.New(fault.Unavailable, "%w", err)
	}
	defer resp.Body.Close()
	answer := io.LimitReader(resp.Body, maxAnswer)
	if resp.StatusCode/100 != 2 {
		return refusal(resp.StatusCode, answer)
	}
	if out != nil {
		if err := json.NewDecoder(answer).Decode(out); err != nil {
			return fault.New(fault.Unavailable, "read the answer to %s: %w", path, err)
		}
	}
	_, _ = io.Copy(io.Discard, answer) // lets the connection be used again
	return nil
}

// refusal makes a fault of an error answer. Something between the delegate
// and the control plane may have answered in its own words.
func refusal(status int, answer io.Reader) error {
	var e struct {
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
	}
	if err := json.NewDecoder(io.LimitReader(answer, 64<<10)).Decode(&e); err == nil && e.Code != "" {
		return fault.New(e.Code, "%s", e.Message)
	}
	code := fault.Unavailable
	switch status {
	case http.StatusUnauthorized:
		code = fault.Unauthenticated
	case http.StatusForbidden:
		code = fault.Forbidden
	case http.StatusRequestEntityTooLarge:
		code = fault.TooLarge
	}
	return fault.New(code, "the control plane answered with status %d", status)
}

// taskPath is the path below which a task's requests go.
func (a *Agent) taskPath(id task.ID, what string) string {
	return a.id + "/tasks/" + url.PathEscape(string(id)) + "/" + what
}

// Client speaks the delegate's part of the API for loops beside an Agent's.
type Client struct{ of client }

// ClientConfig is what a Client needs.
type ClientConfig struct {
	URL, Token string
	TLS        *tls.Config  // as in Config; nil: the system's
	HTTP       *http.Client // nil: one of its own
}

// NewClient makes one.
func NewClient(cfg ClientConfig) Client {
	with := cfg.HTTP
	if with == nil {
		with = newHTTP(1, cfg.TLS)
	}
	return Client{client{http: with, base: strings.TrimRight(cfg.URL, "/") + "/v1/delegate/", token: cfg.Token}}
}

// Post sends in as JSON and decodes the answer into out; nil means none. A
// refusal is the fault that the server sent; anything that may pass by itself is
// fault.Unavailable.
func (c Client) Post(ctx context.Context, path string, in, out any) error {
	return c.of.post(ctx, path, in, out)
}
