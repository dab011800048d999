package testservers

import (
	"fmt"
	"net/http"
	"strings"
)

// Reroute sends requests for some hosts to servers on loopback, and none
// elsewhere: it maps a host to the URL of its stand-in. The stand-in sees the
// host that was asked for.
type Reroute map[string]string

// RoundTrip sends a request (http.RoundTripper).
func (r Reroute) RoundTrip(req *http.Request) (*http.Response, error) {
	to, ok := r[req.URL.Host]
	if !ok {
		return nil, fmt.Errorf("nothing stands in for %s", req.URL.Host)
	}
	out := req.Clone(req.Context())
	out.Host = req.URL.Host
	out.URL.Scheme, out.URL.Host = "http", strings.TrimPrefix(to, "http://")
	return http.DefaultTransport.RoundTrip(out)
}
