// Package restapi speaks JSON to systems with an HTTP API: it proves who
// asks, reads what they say is wrong and tries again what may be tried again.
//
// It knows no system: what paths and bodies mean is its users'. It follows
// redirects, verifies certificates and uses the environment's proxies.
package restapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 16 << 20

// Client speaks to one server.
type Client struct {
	server task.Server
	http   *http.Client
	token  string // fetched with a refresh token; empty until the first request
}

// New makes a client, which keeps a session's cookies. Requests are sent over t; nil is a transport with
// net/http's defaults.
func New(server task.Server, t http.RoundTripper) *Client {
	server.URL = strings.TrimRight(server.URL, "/")
	jar, _ := cookiejar.New(nil) // there is no error without options
	return &Client{server: server, http: &http.Client{Transport: t, Timeout: 2 * time.Minute, Jar: jar}}
}

// URL is the server's address without a slash at its end.
func (c *Client) URL() string { return c.server.URL }

// Request is one request.
type Request struct {
	Method string
	Path   string // below the server's address, or a whole URL on the same server
	Query  url.Values
	JSON   any        // the body
	Form   url.Values // the body, instead of JSON
	Text   string     // the body, instead of either
	Header http.Header
	// Most bounds an answer that is a file, in bytes; one that is longer is
	// fault.TooLarge.
	Most int64
	// Once says that it isn't tried again: who asks knows better when to.
	Once bool
}

// Answer is what came back with a status below 400.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// StatusError is an answer with a status of 400 or more.
type StatusError struct {
	Method, Path string
	Status       int
	Reason       string // what the server says is wrong
	Header       http.Header
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %s: status %d %s", e.Method, e.Path, e.Status, http.StatusText(e.Status))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Get reads a document into out.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	return c.JSON(ctx, Request{Method: http.MethodGet, Path: path, Query: query}, out)
}

// JSON does a request and decodes its answer into out, unless that is nil.
func (c *Client) JSON(ctx context.Context, r Request, out any) error {
	a, err := c.Do(ctx, r)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(a.Body, out); err != nil {
		return fault.New(fault.Unavailable, "%s %s: the answer isn't the JSON that was expected: %w", r.Method, r.Path, err).Causing(fault.Unknown)
	}
	return nil
}

// tries is how often a request that only reads is sent.
const tries = 4

// Do does a request. One that only reads is tried again where the server is
// out of reach, busy or broken; others might be done twice and aren't.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	for try := 1; ; try++ {
		a, err := c.once(ctx, r)
		if err == nil || ctx.Err() != nil || try == tries || !repeatable(r, err) {
			return a, classify(ctx, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause(err, try)):
		}
	}
}

func (c *Client) once(ctx context.Context, r Request) (Answer, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	most := int64(maxAnswer)
	if r.Most > 0 {
		most = r.Most + 1
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer to %s %s: %w", r.Method, r.Path, err)
	}
	if r.Most > 0 && int64(len(body)) > r.Most {
		return Answer{}, fault.New(fault.TooLarge, "%s has more than %d bytes", req.URL.Path, r.Most).Causing(fault.ConfigurationFailure)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return Answer{}, &StatusError{
			Method: r.Method, Path: req.URL.Path, Status: resp.StatusCode, Reason: reason(body), Header: resp.Header,
		}
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	target, err := c.target(r)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	kind := ""
	switch {
	case r.JSON != nil:
		doc, err := json.Marshal(r.JSON)
		if err != nil {
			return nil, fmt.Errorf("encode the body of %s %s: %w", r.Method, r.Path, err)
		}
		body, kind = bytes.NewReader(doc), "application/json"
	case r.Form != nil:
		body, kind = strings.NewReader(r.Form.Encode()), "application/x-www-form-urlencoded"
	case r.Text != "":
		body, kind = strings.NewReader(r.Text), "text/plain"
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, body)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the request can't be made: %w", err)
	}
	for key, values := range r.Header {
		req.Header[key] = values
	}
	if r.Most == 0 { // files are taken as they are
		req.Header.Set("Accept", "application/json")
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return req, c.authorize(ctx, req)
}

// target is the URL of a request. A whole URL must be on the server: the
// credentials are for nobody else.
func (c *Client) target(r Request) (string, error) {
	base, err := address.Web("the connector's URL", c.server.URL)
	if err != nil {
		return "", err
	}
	target := c.server.URL + r.Path
	if strings.Contains(r.Path, "://") {
		if u, err := url.Parse(r.Path); err != nil || u.Host != base.Host || u.Scheme != base.Scheme {
			return "", fault.New(fault.Invalid, "%s isn't on the connector's server %s", r.Path, c.server.URL)
		}
		target = r.Path
	}
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	return target, nil
}

// repeatable says whether a request may be sent again after an error.
func repeatable(r Request, err error) bool {
	if r.Method != http.MethodGet || r.Once {
		return false
	}
	var s *StatusError
	if errors.As(err, &s) {
		return transient(s.Status)
	}
	return fault.CodeOf(err) == fault.Internal // nothing that a person has to mend
}

func transient(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusBadGateway ||
		status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// longestPause bounds what a server may ask for by Retry-After.
const longestPause = 30 * time.Second

// pause is the time before the next try: 0.5 s, 1 s, 2 s, or what the server
// asks for.
func pause(err error, try int) time.Duration {
	var s *StatusError
	if errors.As(err, &s) {
		if after, err := strconv.Atoi(s.Header.Get("Retry-After")); err == nil && after >= 0 {
			return min(time.Duration(after)*time.Second, longestPause)
		}
	}
	return 250 * time.Millisecond << try
}
