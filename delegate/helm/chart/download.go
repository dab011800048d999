package chart

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/slipway-cd/slipway/delegate/transport"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

const (
	// maxDownload is how many bytes of a chart, or of a repository's index, are
	// taken. Helm unpacks as many.
	maxDownload = 100 << 20
	// maxManifest is how many of what a registry says of a chart.
	maxManifest = 4 << 20
)

func tooLarge() error {
	return fault.New(fault.TooLarge, "it has more than %d MiB", maxDownload>>20).
		Causing(fault.ResourceLimitsFailure, fault.Unknown)
}

// bounded is how Helm speaks HTTP with repositories. It keeps all that it is
// sent in memory, and knows no bound of its own.
func bounded(ctx context.Context, insecure bool, over *task.Over) (*http.Transport, error) {
	via := &http.Transport{
		Proxy:              http.ProxyFromEnvironment,
		DisableCompression: true, // what is counted is what is kept
		DialContext: func(dialing context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(dialing, network, address)
			if err != nil {
				return nil, err
			}
			counted := &countedConn{Conn: c}
			counted.left.Store(maxDownload + maxManifest) // with what TLS and HTTP add
			counted.forget = context.AfterFunc(ctx, func() { _ = c.Close() })
			return counted, nil
		},
		DisableKeepAlives: true, // one download for each connection
	}
	if insecure {
		via.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // --insecure-skip-tls-verify
	}
	return via, transport.Fit(via, over)
}

// countedConn is a connection from which so much is read and no more, and which
// ends with its download's context.
type countedConn struct {
	net.Conn

	left   atomic.Int64
	forget func() bool
}

// Read reads what is left (net.Conn).
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.left.Add(-int64(n)) < 0 {
		return 0, tooLarge()
	}
	return n, err
}

// Close closes it (net.Conn).
func (c *countedConn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// RoundTrip sends a request (http.RoundTripper). Helm's client of registries
// makes room for what is announced before it comes, and keeps all of it.
func (b bound) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.via.RoundTrip(req.WithContext(b.ctx))
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > maxDownload {
		_ = resp.Body.Close() // nothing of it is wanted
		return nil, tooLarge()
	}
	if kind := resp.Header.Get("Content-Type"); strings.Contains(kind, "manifest") || strings.Contains(kind, "image.index") {
		return described(req, resp)
	}
	resp.Body = &countedBody{ReadCloser: resp.Body, left: maxDownload}
	return resp, nil
}

// described checks the sizes that a manifest announces.
func described(req *http.Request, resp *http.Response) (*http.Response, error) {
	if req.Method == http.MethodHead {
		return resp, nil
	}
	doc, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	_ = resp.Body.Close() // it was read
	if err != nil {
		return nil, err
	}
	type descriptor struct{ Size int64 }
	var m struct {
		Config            descriptor
		Layers, Manifests []descriptor
	}
	_ = json.Unmarshal(doc, &m) // what isn't one is its reader's to refuse
	for _, d := range append(append(m.Layers, m.Manifests...), m.Config) {
		if d.Size < 0 || d.Size > maxDownload {
			return nil, tooLarge()
		}
	}
	if len(doc) > maxManifest {
		return nil, tooLarge()
	}
	resp.Body = io.NopCloser(bytes.NewReader(doc))
	return resp, nil
}

// countedBody is an answer of which so much is read and no more.
type countedBody struct {
	io.ReadCloser

	left int64
}

// Read reads what is left (io.Reader).
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge()
	}
	return n, err
}
