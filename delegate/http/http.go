// Package http sends requests from the delegate's network: the executor of
// Http steps (semantics/pipeline §7.5).
//
// Certificates are verified, the environment's proxies are used and redirects
// are followed, to other hosts without the request's headers. Any response is a success here; what it means is decided by
// pkg/step/http.
package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Unit is the command unit of a request's log.
const Unit = "Execute"

// maxBody is how much of a response's body is kept: 256 KB, less what the rest
// of a result needs. Both the body and its JSON form are within it.
const maxBody = task.MaxResult - 16<<10

// New makes the executor. Requests are sent over t; nil is a transport with
// net/http's defaults.
func New(t http.RoundTripper) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		p, err := executor.Payload[task.HTTP](a)
		if err != nil {
			return task.Result{}, err
		}
		req, err := request(ctx, p)
		if err != nil {
			return task.Result{}, err
		}
		if p.Certificate == "" {
			return send(ctx, &http.Client{Transport: t, CheckRedirect: redirect(p.Headers)}, req, p.URL, env)
		}
		own, err := transport(t, p)
		if err != nil {
			return task.Result{}, err
		}
		defer own.CloseIdleConnections()
		return send(ctx, &http.Client{Transport: own, CheckRedirect: redirect(p.Headers)}, req, p.URL, env)
	}
}

// transport is one that shows the payload's certificate; no other request
// shares its connections.
func transport(t http.RoundTripper, p task.HTTP) (*http.Transport, error) {
	pair, err := tls.X509KeyPair([]byte(p.Certificate), []byte(p.Key))
	if err != nil {
		return nil, fault.New(fault.Invalid, "the certificate and its certificateKey can't be used; want both in PEM: %w", err)
	}
	if t == nil {
		t = http.DefaultTransport
	}
	base, ok := t.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("a transport of type %T can't show certificates", t)
	}
	own := base.Clone()
	if own.TLSClientConfig == nil {
		own.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	own.TLSClientConfig.Certificates = []tls.Certificate{pair}
	return own, nil
}

// maxRedirects is as many as net/http follows by itself.
const maxRedirects = 10

// redirect follows redirects with the headers of a payload as far as they stay
// on its host: net/http takes Authorization from a request that goes elsewhere,
// but any header may hold a token. What the body is stays with it.
func redirect(headers []task.HTTPHeader) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return fmt.Errorf("stopped after %d redirects", maxRedirects)
		}
		from, to := via[0].URL, req.URL
		if from.Host == to.Host && from.Scheme == to.Scheme || from.Hostname() == to.Hostname() && to.Scheme == "https" {
			return nil
		}
		req.Header.Del("Referer") // the URL may have a token, too
		for _, h := range headers {
			if !strings.EqualFold(h.Key, "Content-Type") {
				req.Header.Del(h.Key)
			}
		}
		return nil
	}
}

// request makes the request of a payload.
func request(ctx context.Context, p task.HTTP) (*http.Request, error) {
	u, err := address.Web("the URL", p.URL)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if p.Body != "" {
		body = strings.NewReader(p.Body)
	}
	req, err := http.NewRequestWithContext(ctx, p.Method, u.String(), body)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the request can't be made: %w", err)
	}
	for _, h := range p.Headers {
		if strings.EqualFold(h.Key, "Host") {
			req.Host = h.Value
			continue
		}
		req.Header.Add(h.Key, h.Value)
	}
	return req, nil
}

// output is what the delegate knows of the step's outputs.
type output struct {
	URL    string `json:"httpUrl"`
	Method string `json:"httpMethod"`
	Code   int    `json:"httpResponseCode"`
	Body   string `json:"httpResponseBody"`
	Status string `json:"status"`
}

// send sends the request. Without a complete response the target was out of
// reach, which is a failure of type Connectivity.
func send(ctx context.Context, client *http.Client, req *http.Request, shown string, env executor.Env) (task.Result, error) {
	log, began := env.Log(Unit), time.Now()
	fmt.Fprintf(log, "%s %s\n", req.Method, shown)
	resp, err := client.Do(req)
	if err != nil {
		return unreachable(ctx, env, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return unreachable(ctx, env, fmt.Errorf("read the response: %w", err))
	}
	body, whole := fit(strings.ToValidUTF8(string(data), "\uFFFD"))
	whole = whole && len(data) <= maxBody
	fmt.Fprintf(log, "The response has status %d and %d bytes of body, after %s.\n", resp.StatusCode, len(body), time.Since(began).Round(time.Millisecond))
	if !whole {
		fmt.Fprintf(env.LogError(Unit), "The body is longer than %d KiB: only its beginning is kept, in httpResponseBody.\n", maxBody>>10)
	}
	return executor.Succeed(output{URL: shown, Method: req.Method, Code: resp.StatusCode, Body: body, Status: "SUCCESS"})
}

func unreachable(ctx context.Context, env executor.Env, err error) (task.Result, error) {
	if ctx.Err() != nil {
		return task.Result{}, context.Cause(ctx)
	}
	types := []fault.FailureType{fault.Connectivity}
	message := err.Error()
	if v := (*tls.CertificateVerificationError)(nil); errors.As(err, &v) {
		message += " (the server's certificate isn't trusted by this delegate)"
	} else {
		types = append(types, fault.RetryableTransientFailure)
	}
	fmt.Fprintf(env.LogError(Unit), "%s\n", message)
	return executor.Fail(types, "%s", message), nil
}

// fit cuts a text so that it and its JSON form are within maxBody.
func fit(s string) (cut string, whole bool) {
	size := 0
	for i, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			size += 2
		case r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
			size += 6
		default:
			size += len(string(r))
		}
		if size > maxBody {
			return s[:i], false
		}
	}
	return s, true
}
