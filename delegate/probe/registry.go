package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// registry logs in to a registry as its clients do, and asks it whether it speaks
// their protocol: GET /v2/ of the OCI distribution API.
func (x *exam) registry(ctx context.Context, s task.Server) {
	if _, err := address.Web("the registry's address", s.URL); err != nil {
		x.fail(probe.CheckConfiguration, "%s", err)
		return
	}
	scheme, host, _ := strings.Cut(s.URL, "://")
	var options []name.Option
	if scheme == "http" {
		options = append(options, name.Insecure)
	}
	registry, err := name.NewRegistry(host, options...)
	if err != nil {
		x.fail(probe.CheckConfiguration, "the registry's address is %s: %s; want a host such as registry.example.com", shown(s.URL), err)
		return
	}
	who := authn.Anonymous
	if s.Auth == task.AuthBasic {
		who = &authn.Basic{Username: s.Username, Password: s.Password}
	}
	via, err := transport.NewWithContext(ctx, registry, who, only{scheme, host, x.net}, nil)
	if err != nil {
		x.refusedBy(ctx, s, err)
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+"/v2/", nil)
	if err != nil {
		x.fail(probe.CheckConfiguration, "the registry's address is %s: %s", shown(s.URL), err)
		return
	}
	resp, err := via.RoundTrip(req)
	if err != nil {
		x.refusedBy(ctx, s, err)
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // what it says isn't needed
	x.answered(s, "GET /v2/", resp.StatusCode, false)
}

// refusedBy notes what a registry's client says.
func (x *exam) refusedBy(ctx context.Context, s task.Server, err error) {
	var e *transport.Error
	switch {
	case x.broken():
	case errors.As(err, &e):
		x.answered(s, "GET /v2/", e.StatusCode, false)
	case late(ctx, err):
		x.fail(probe.CheckAnswer, "%s took longer than %s", shown(s.URL), longest)
	default:
		x.fail(probe.CheckAnswer, "what is at %s answers, but not as a registry does: %s", shown(s.URL), err)
	}
}

// only is a transport to a registry by one scheme: its client tries another one
// if that fails.
type only struct {
	scheme, host string
	next         http.RoundTripper
}

// RoundTrip sends a request (http.RoundTripper).
func (o only) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == o.host && req.URL.Scheme != o.scheme {
		return nil, fmt.Errorf("%s isn't asked by %s", o.host, req.URL.Scheme)
	}
	return o.next.RoundTrip(req)
}
