package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Client asks the host of a session. It is for many goroutines.
type Client struct {
	id   string
	http *http.Client
}

// NewClient makes a client. dial reaches the host, as often as it is called.
func NewClient(id string, dial func(ctx context.Context) (net.Conn, error)) *Client {
	return &Client{id: id, http: &http.Client{Transport: &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		IdleConnTimeout: time.Minute,
	}}}
}

// Forget closes the connections that nobody uses.
func (c *Client) Forget() { c.http.CloseIdleConnections() }

// Info asks the host about itself.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var out Info
	err := c.call(ctx, http.MethodGet, "session", nil, &out)
	if err == nil && out.Protocol > Protocol {
		err = fault.New(fault.Unsupported, "the session's host speaks version %d of the protocol; this delegate knows %d", out.Protocol, Protocol)
	}
	return out, err
}

// Start starts an attempt of a step, or finds the same one again.
func (c *Client) Start(ctx context.Context, step string, attempt int, s Start) (State, error) {
	s, err := s.Sealed()
	if err != nil {
		return State{}, err
	}
	var out State
	return out, c.call(ctx, http.MethodPut, of(step, attempt), s, &out)
}

// State asks how far an attempt is, as soon as that isn't the version after any
// more or the wait is over.
func (c *Client) State(ctx context.Context, step string, attempt, after int, wait time.Duration) (State, error) {
	var out State
	return out, c.call(ctx, http.MethodGet, fmt.Sprintf("%s?after=%d&wait=%s", of(step, attempt), after, wait), nil, &out)
}

// Log reads an attempt's log from an offset on, as soon as there is something.
func (c *Client) Log(ctx context.Context, step string, attempt int, offset int64, wait time.Duration) (Log, error) {
	var out Log
	return out, c.call(ctx, http.MethodGet, fmt.Sprintf("%s/log?offset=%d&wait=%s", of(step, attempt), offset, wait), nil, &out)
}

// Lend gives credentials to the command of an attempt, or newer ones, and says
// where it finds them.
func (c *Client) Lend(ctx context.Context, step string, attempt int, own Credentials) (Lent, error) {
	var out Lent
	return out, c.call(ctx, http.MethodPut, of(step, attempt)+"/credentials", own, &out)
}

// Cancel ends an attempt.
func (c *Client) Cancel(ctx context.Context, step string, attempt int, s Stop) error {
	return c.call(ctx, http.MethodPost, of(step, attempt)+"/cancel", s, nil)
}

// Close ends the session with all that runs in it.
func (c *Client) Close(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "close", Stop{}, nil)
}

// Put unpacks a tar in a folder of the workspace.
func (c *Client) Put(ctx context.Context, folder string, files io.Reader) error {
	req, err := c.request(ctx, http.MethodPut, "files?path="+url.QueryEscape(folder), files)
	if err != nil {
		return err
	}
	return c.do(req, nil)
}

// Get gives a file or a folder of the workspace as a tar.
func (c *Client) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	req, err := c.request(ctx, http.MethodGet, "files?path="+url.QueryEscape(name), nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refused(resp)
	}
	return resp.Body, nil
}

func of(step string, attempt int) string { return "steps/" + step + "/" + strconv.Itoa(attempt) }

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		doc, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode a request to the session: %w", err)
		}
		body = bytes.NewReader(doc)
	}
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	return c.do(req, out)
}

func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://session/v1/"+path, body)
	if err != nil {
		return nil, fmt.Errorf("make a request to the session: %w", err)
	}
	req.Header.Set(header, c.id)
	return req, nil
}

func (c *Client) do(req *http.Request, out any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return refused(resp)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return unreachable(err)
	}
	return nil
}

// unreachable is the error of a carrier that broke: the call may be made again.
func unreachable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ask the session: %w", err)
	}
	return fault.New(fault.Unavailable, "ask the session: %w", err)
}

func refused(resp *http.Response) error {
	var r refusal
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return unreachable(err)
	}
	code := fault.Invalid
	switch resp.StatusCode {
	case http.StatusConflict:
		code = fault.Conflict
	case http.StatusPreconditionFailed:
		code = fault.LeaseLost
	case http.StatusNotFound:
		code = fault.NotFound
	}
	return fault.New(code, "the session: %s", r.Error)
}

const (
	// poll is how long a request waits for something to come.
	poll = 20 * time.Second
	// lost is how long a host may be out of reach before it is given up.
	lost = 2 * time.Minute
)

// Follow gives the frames of an attempt's log to write, from an offset on, until
// it has ended. A carrier that breaks is reached anew.
func (c *Client) Follow(ctx context.Context, step string, attempt int, offset int64, write func(Log) error) (State, error) {
	since, pause := time.Now(), 200*time.Millisecond
	for {
		part, err := c.Log(ctx, step, attempt, offset, poll)
		if fault.Is(err, fault.Unavailable) && time.Since(since) < lost && !gone(err) {
			select {
			case <-ctx.Done():
				return State{}, context.Cause(ctx)
			case <-time.After(pause):
			}
			pause = min(2*pause, 5*time.Second)
			continue
		}
		if err != nil {
			return State{}, err
		}
		since, pause = time.Now(), 200*time.Millisecond
		if err := write(part); err != nil {
			return State{}, err
		}
		offset = part.Next
		if part.Ended {
			return c.State(ctx, step, attempt, 0, 0)
		}
	}
}
