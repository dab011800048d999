package probe

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// git reads the branches of a repository, if there is one to read, and asks the
// host's API, if the connector has access to it.
func (x *exam) git(ctx context.Context, g probe.Git) {
	x.gitHost(ctx, g.Git.URL)
	if x.broken() {
		return
	}
	if !g.Whole {
		x.repository(ctx, g.Git)
	}
	if x.broken() {
		return
	}
	switch {
	case g.API != nil:
		x.requests(ctx, *g.API)
	case g.Whole:
		x.doubt(probe.CheckLogin, "the connector's URL is an account's, and no repository of it is known to read: name one by validationRepo, or give it apiAccess with a token")
	}
}

// repository asks for a repository's branches as git does before it fetches.
func (x *exam) repository(ctx context.Context, g task.Git) {
	if x.cfg.Git == nil {
		x.doubt(probe.CheckLogin, "this delegate doesn't fetch from Git")
		return
	}
	err := x.cfg.Git.Look(ctx, g)
	at := shown(g.URL)
	who := "the connector"
	if g.Username != "" {
		who = "user " + g.Username
	}
	var said string
	if err != nil {
		said = err.Error()
	}
	switch {
	case err == nil && g.Password == "" && g.SSHKey == "":
		x.pass(probe.CheckLogin, "%s can be read by everybody", at)
	case err == nil:
		x.pass(probe.CheckLogin, "%s lets %s read it", at, who)
	case late(ctx, err):
		x.fail(probe.CheckAnswer, "git got no answer of %s in %s", at, longest)
	case fault.Is(err, fault.Unauthenticated): // the host, to us
		x.fail(probe.CheckTLS, "%s", err)
	case fault.Is(err, fault.Invalid):
		x.fail(probe.CheckConfiguration, "%s", err)
	case slices.Contains(fault.Failures(err), fault.Authentication):
		x.fail(probe.CheckLogin, "%s doesn't let %s in: the credentials are wrong, have expired, or aren't for this repository: %s", at, who, said)
	case strings.Contains(said, "not found") || strings.Contains(said, "does not exist") || strings.Contains(said, "does not appear to be a git repository"):
		x.fail(probe.CheckPermission, "the host shows %s no repository %s: its name is wrong, or it may not be seen with these credentials: %s", who, at, said)
	default:
		x.fail(probe.CheckAnswer, "%s", said)
	}
}

// gitHost connects to the host of a repository.
func (x *exam) gitHost(ctx context.Context, repository string) {
	if err := address.Git(repository); err != nil {
		x.fail(probe.CheckConfiguration, "%s", err)
		return
	}
	if host, port, ok := sshHost(repository); ok {
		x.dial(ctx, host, port)
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(repository, "/")+"/info/refs?service=git-upload-pack", nil)
	if err != nil {
		x.fail(probe.CheckConfiguration, "the connector's URL can't be read")
		return
	}
	req.URL.User = nil
	client := http.Client{Transport: x.net, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if resp, err := client.Do(req); err == nil { // what it answers to nobody in particular doesn't matter
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		_ = resp.Body.Close()
	}
}

var scpLike = regexp.MustCompile(`^(?:[^/@\s:]+@)?([^/:\s]+):[^/]`)

// sshHost is where a repository's SSH server is; false if it has none.
func sshHost(repository string) (host, port string, ok bool) {
	if u, err := url.Parse(repository); err == nil && u.Host != "" {
		if port = u.Port(); port == "" {
			port = "22"
		}
		return u.Hostname(), port, u.Scheme == "ssh"
	}
	if m := scpLike.FindStringSubmatch(repository); m != nil {
		return m[1], "22", true
	}
	return "", "", false
}

// dial looks a host up and connects to a port of it.
func (x *exam) dial(ctx context.Context, host, port string) {
	c := &connection{patience: x.cfg.Patience, seen: seen{host: net.JoinHostPort(host, port), begun: time.Now()}}
	if net.ParseIP(host) == nil {
		c.looking = true
		within, stop := context.WithTimeout(ctx, x.cfg.Patience)
		defer stop()
		addresses, err := net.DefaultResolver.LookupHost(within, host)
		c.addresses, c.resolved = addresses, time.Since(c.begun)
		if err != nil {
			c.tell(x, err, true)
			return
		}
	}
	c.dialing = c.host
	conn, err := (&net.Dialer{Timeout: x.cfg.Patience}).DialContext(ctx, "tcp", c.host)
	if err == nil {
		c.reached, c.dialed, c.got = conn.RemoteAddr().String(), time.Since(c.begun), true
		err = conn.Close()
	}
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	c.tell(x, err, true)
}
