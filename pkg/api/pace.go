package api

import (
	"io"
	"net/http"
	"time"
)

const (
	// bodyPause is how long nothing may come of a body.
	bodyPause = 10 * time.Second
	// bodyGrace is how long a body may take whatever its size.
	bodyGrace = 15 * time.Second
	// bodyRate is how many bytes a second come of a body beyond that, on
	// average. The largest takes some five minutes at most.
	bodyRate = 64 << 10
)

// paced lets the bodies of requests come at a pace, and all of them in time:
// whoever sends a byte now and then holds a connection and memory for long.
// Where a body is there already, as in a function, there are no deadlines.
func paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			b := &body{ReadCloser: r.Body, control: http.NewResponseController(w), begun: time.Now()}
			b.set(b.due()) // also for what the server reads of a body that no handler wants
			r.Body = b
		}
		next.ServeHTTP(w, r)
	})
}

// body is the body of a request as it comes.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	begun   time.Time
	read    int64
}

// due is by when the next bytes must have come.
func (b *body) due() time.Time {
	slowest := b.begun.Add(bodyGrace + time.Duration(b.read)*time.Second/bodyRate)
	if next := time.Now().Add(bodyPause); next.Before(slowest) {
		return next
	}
	return slowest
}

func (b *body) set(deadline time.Time) { _ = b.control.SetReadDeadline(deadline) }

// Read reads what comes in time. After the end there is no deadline: it would
// end the request while it is being answered.
func (b *body) Read(p []byte) (int, error) {
	b.set(b.due())
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err == io.EOF {
		b.set(time.Time{})
	}
	return n, err
}
