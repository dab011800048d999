package attack_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/trigger"
)

// slowBody is a delivery that announces a large body, sends most of it at once
// and the rest never. It gives the status that the connection ends with, 0 for
// none.
func slowBody(ctx context.Context, to string) (int, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	const size = trigger.MaxBytes - 100<<10
	head := fmt.Sprintf("POST /webhooks/github HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=00\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if _, err := conn.Write([]byte(head)); err == nil {
			_, _ = conn.Write(bytes.Repeat([]byte("x"), size-1)) // refused is as good
		}
	}()
	defer func() {
		_ = conn.Close()
		<-sent
	}()
	deadline, _ := ctx.Deadline()
	if err := conn.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, fmt.Errorf("the server still waits: %w", err)
		}
		return 0, nil //nolint:nilerr // it has hung up, which is an end, too
	}
	defer resp.Body.Close()
	return resp.StatusCode, nil
}

// Many connections that send large bodies slowly neither fill the memory nor
// keep others from an answer, and the server hangs up on them.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	before := p.peak(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var mu sync.Mutex
	statuses := map[int]int{}
	var all sync.WaitGroup
	const many, others = 150, 10
	enough := make(chan struct{}) // others have been answered so many times
	for range many {
		all.Go(func() {
			for { // those that are held go on until enough others were answered
				status, err := slowBody(ctx, strings.TrimPrefix(p.url, "http://"))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
				select {
				case <-enough:
					return
				default:
					if err != nil || status == http.StatusTooManyRequests {
						return
					}
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		all.Wait()
	}()
	answered := 0
	for under := true; under; { // while they go on, others are answered
		select {
		case <-ended:
			under = false
		case <-time.After(100 * time.Millisecond):
		}
		goodRequests(ctx, t, p)
		if answered++; answered == others {
			close(enough)
		}
	}
	if statuses[http.StatusTooManyRequests] == 0 || answered < others {
		t.Errorf("the statuses are %v, and others were answered %d times meanwhile; want some 429", statuses, answered)
	}
	// 32 MiB of one address, doubled while the buffers grow, and what was
	// read into the buffers of connections.
	if used := p.peak(t) - before; used > 300 {
		t.Errorf("the server took %d MiB more; want at most 300", used)
	}
}

// goodRequests are a delivery that is small, and a document of who has a token.
func goodRequests(ctx context.Context, t *testing.T, p *process) {
	t.Helper()
	for _, one := range []struct {
		method, path, body string
		headers            map[string]string
		want               int
	}{
		{"POST", "/webhooks/github", "{}", map[string]string{"X-Hub-Signature-256": "sha256=00"}, 401}, // it was read, and nobody knows the signer
		{"POST", "/v1/entities:validate?org=default&project=web", "pipeline: {}" + strings.Repeat("\n#", 1<<20), map[string]string{"Authorization": "Bearer " + p.token}, 400},
	} {
		r, err := http.NewRequestWithContext(ctx, one.method, p.url+one.path, strings.NewReader(one.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range one.headers {
			r.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != one.want {
			t.Fatalf("%s %s is answered with %d, want %d", one.method, one.path, resp.StatusCode, one.want)
		}
	}
}

// Whoever doesn't even say who he is sends his body in vain: the answer comes
// before it.
func TestWithoutProofNoBodyIsRead(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	for _, path := range []string{
		"/webhooks/github", "/webhooks/gitlab", "/webhooks/bitbucket", "/webhooks/aws", "/webhooks/listen/x",
		"/webhooks/custom?orgIdentifier=o&projectIdentifier=p", "/v1/tokens", "/v1/files/content?path=/x", "/v1/delegate/register",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", path)
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || !resp.Close {
			t.Errorf("%s: status %d, hangs up: %t; want 401, and that it does", path, resp.StatusCode, resp.Close)
		}
		_ = conn.Close()
	}
}
