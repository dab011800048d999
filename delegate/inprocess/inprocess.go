// Package inprocess carries HTTP requests to a handler of the same process,
// for a delegate that lives inside the control plane: no port, no sockets, no
// serialising of headers. WebSockets work, over a pipe.
//
// It is no cache and no server: the handler sees the request as it was made.
package inprocess

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// RoundTripper answers requests by calling h, in the caller's goroutine
// except for upgraded connections.
func RoundTripper(h http.Handler) http.RoundTripper { return roundTripper{h} }

type roundTripper struct{ handler http.Handler }

// RoundTrip answers one request.
func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		r := *req
		r.Body = http.NoBody // as servers give it to handlers
		req = &r
	}
	if req.Header.Get("Upgrade") != "" {
		return t.upgrade(req)
	}
	w := &recorder{header: http.Header{}}
	if err := serve(t.handler, w, req); err != nil {
		return nil, err
	}
	_ = req.Body.Close() // a round tripper must; nothing is behind it
	return w.response(req), nil
}

// serve calls the handler as a server does: a panic ends the request only.
func serve(h http.Handler, w http.ResponseWriter, req *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s %s: the handler broke: %v", req.Method, req.URL.Path, p)
		}
	}()
	h.ServeHTTP(w, req)
	return nil
}

// recorder keeps an answer until it is complete.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is the answer's header.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader sets the status; the first one counts.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write adds to the answer's body.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *recorder) response(req *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req,
	}
}

// upgrade runs the handler in a goroutine of its own: it goes on after the
// answer, with the other end of a pipe.
func (t roundTripper) upgrade(req *http.Request) (*http.Response, error) {
	w := &upgrader{recorder: recorder{header: http.Header{}}, answered: make(chan struct{})}
	var broken error
	go func() {
		broken = serve(t.handler, w, req)
		w.answer()
	}()
	select {
	case <-w.answered:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if w.client == nil {
		if broken != nil {
			return nil, broken
		}
		return w.response(req), nil
	}
	resp := w.response(req)
	resp.Body, resp.ContentLength = w.client, -1
	return resp, nil
}

// upgrader is the answer to a request that may take over the connection.
type upgrader struct {
	recorder
	once     sync.Once
	answered chan struct{} // closed when the answer can be given to the client
	client   net.Conn      // its end of the pipe, once taken over
}

func (w *upgrader) answer() { w.once.Do(func() { close(w.answered) }) }

// Hijack gives the handler the server's end (http.Hijacker).
func (w *upgrader) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	client, server := net.Pipe()
	w.client = client
	w.answer()
	return server, bufio.NewReadWriter(bufio.NewReader(server), bufio.NewWriter(server)), nil
}
