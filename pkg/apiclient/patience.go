package apiclient

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxPatience is how often a request is sent that comes too soon.
	maxPatience = 6
	// longestPause bounds how long a server may have it wait each time.
	longestPause = 30 * time.Second
)

// patiently sends a request, and again if the server says that its caller asks too often:
// it has done nothing then, whatever was asked. Whatever else is too much, such as wrong
// passwords, is the caller's to know.
func patiently(client *http.Client, req *http.Request) (*http.Response, error) {
	for tried := 1; ; tried++ {
		resp, err := client.Do(req)
		if err != nil || !early(resp) || tried == maxPatience || req.Body != nil && req.GetBody == nil {
			return resp, err
		}
		_ = resp.Body.Close()
		if err := rest(req.Context(), resp.Header.Get("Retry-After")); err != nil {
			return nil, err
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// early says whether a request was refused for having come too soon, and for nothing
// else.
func early(resp *http.Response) bool {
	return resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Ratelimit-Remaining") == "0"
}

// rest waits as long as a server says, and up to as long again, so that those who were
// refused together don't come back together.
func rest(ctx context.Context, after string) error {
	seconds, err := strconv.Atoi(after)
	if err != nil || seconds < 0 {
		seconds = 1
	}
	pause := min(time.Duration(seconds)*time.Second, longestPause)
	timer := time.NewTimer(pause + rand.N(pause+time.Millisecond)) //nolint:gosec // it is no secret
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
