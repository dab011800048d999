// Package apiclient speaks Slipway's HTTP API in Go, for the command line and
// for programs.
//
// It adds nothing to the API but what a network needs: errors come back as
// the faults that the server sent, and watching outlives a broken connection.
package apiclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Client is an API at an address, with a caller's token.
type Client struct {
	// HTTP carries the requests; its time-out must allow for long polls.
	HTTP  *http.Client
	base  string
	token string
}

// New makes a Client for a server such as "https://slipway.example.com".
func New(server, token string) *Client {
	// A redirection would take the token along, to plain HTTP as well.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{HTTP: &http.Client{CheckRedirect: stay}, base: strings.TrimSuffix(server, "/"), token: token}
}

// Checking has the server's certificate checked in a way of one's own; nil is
// as the system does.
func (c *Client) Checking(how *tls.Config) *Client {
	if t, ok := http.DefaultTransport.(*http.Transport); ok && how != nil {
		t = t.Clone()
		t.TLSClientConfig = how
		c.HTTP.Transport = t
	}
	return c
}

// URL is the server's address, without a slash at its end.
func (c *Client) URL() string { return c.base }

// request is one request.
type request struct {
	method, path string
	query        url.Values
	body         io.Reader
	contentType  string
	accept       string
	key          string // Idempotency-Key
}

// send sends a request and gives the answer, which is a success.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, r.body)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the server's address %q is wrong: %w", c.base, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	for name, value := range map[string]string{"Content-Type": r.contentType, "Accept": r.accept, "Idempotency-Key": r.key} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := patiently(c.HTTP, req)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // without the address, which the message has
		}
		return nil, fault.New(fault.Unavailable, "can't reach %s: %w", c.base, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

// maxRefusal bounds an error answer in bytes: every finding of a large document.
const maxRefusal = 4 << 20

// refusal is the fault that a server answered with. Something between us and
// it may have answered in its own words.
func refusal(resp *http.Response) error {
	var p api.Problem
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what came is all there is
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		if to := resp.Header.Get("Location"); to != "" {
			return fault.New(fault.Invalid, "the server's address leads to %s; is that the one that is meant?", to)
		}
		return fault.New(fault.Unavailable, "the server answered %s without saying why", resp.Status)
	}
	return fault.New(p.Code, "%s", p.Message).With(p.Details...)
}

// call sends a request and decodes the answer.
func call[T any](ctx context.Context, c *Client, r request) (T, error) {
	var out T
	resp, err := c.send(ctx, r)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return out, nil
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return out, fault.New(fault.Unavailable, "read the answer to %s %s: %w", r.method, r.path, err)
	}
	return out, nil
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	return call[T](ctx, c, request{method: http.MethodGet, path: path, query: query})
}

// post sends JSON. A request that creates something has a new idempotency
// key, so that a proxy may repeat it.
func post[T any](ctx context.Context, c *Client, path string, query url.Values, body any) (T, error) {
	return sendJSON[T](ctx, c, request{method: http.MethodPost, path: path, query: query, key: rand.Text()}, body)
}

func sendJSON[T any](ctx context.Context, c *Client, r request, body any) (T, error) {
	doc, err := json.Marshal(body)
	if err != nil {
		var none T
		return none, fmt.Errorf("encode the request %s: %w", r.path, err)
	}
	r.body, r.contentType = bytes.NewReader(doc), "application/json"
	return call[T](ctx, c, r)
}

// path joins parts of a path, each of them escaped.
func path(parts ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}

// scoped is the query that says where a request goes. The account is the token's.
func scoped(s ref.Scope) url.Values {
	q := url.Values{}
	set(q, "org", s.Org)
	set(q, "project", s.Project)
	return q
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// Page asks for a part of a list.
type Page struct {
	Limit int // 0: as many as the server likes
	Token string
}

func (p Page) in(q url.Values) url.Values {
	if p.Limit > 0 {
		q.Set("limit", fmt.Sprint(p.Limit))
	}
	set(q, "pageToken", p.Token)
	return q
}

// All reads every part of a list, in turn. It stops after limit members; 0
// means no limit.
func All[T any](limit int, part func(Page) ([]T, string, error)) ([]T, error) {
	const most = 500 // per request
	all := []T{}
	page := Page{Limit: most}
	for {
		if limit > 0 {
			page.Limit = min(most, limit-len(all))
		}
		some, next, err := part(page)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if next == "" || limit > 0 && len(all) >= limit {
			return all, nil
		}
		page.Token = next
	}
}
