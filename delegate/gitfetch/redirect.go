package gitfetch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/transport"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// errMoved is what git says of a redirect when it may not follow it.
var errMoved = errors.New("the repository has moved")

// maxMoves is how many redirects a repository may be behind.
const maxMoves = 5

// following does something with a repository, and again where it has moved to.
func following(ctx context.Context, g task.Git, do func(task.Git) error) error {
	for moves := 0; ; moves++ {
		err := do(g)
		if !errors.Is(err, errMoved) || moves == maxMoves || !carries(g) {
			return err
		}
		if g, err = moved(ctx, g); err != nil {
			return err
		}
	}
}

// refs is what git asks for first, below a repository's URL.
const refs = "/info/refs"

// moved is a repository at the place to which its host redirects. What opens it
// goes with it only if that is on the same host: git itself would send the
// header with it to wherever the redirect leads.
func moved(ctx context.Context, g task.Git) (task.Git, error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(g.URL, "/")+refs+"?service=git-upload-pack", nil)
	if err != nil {
		return g, fault.New(fault.Invalid, "the URL of repository %s: %w", g.URL, err)
	}
	switch {
	case g.Password != "":
		req.SetBasicAuth(user(g), g.Password)
	case g.Token != "":
		req.Header.Set("Authorization", "Bearer "+g.Token)
	}
	via, err := transport.New(g.Over)
	if err != nil {
		return g, fault.Wrap(err, "repository %s", g.URL)
	}
	defer via.CloseIdleConnections()
	client := http.Client{Transport: via, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return g, fault.New(fault.Unavailable, "find out where repository %s has moved: %w", g.URL, err).Causing(fault.Connectivity)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil || !strings.HasSuffix(to.Path, refs) {
		return g, fault.New(fault.Unavailable, "repository %s answers with status %d and redirects to no repository", g.URL, resp.StatusCode).Causing(fault.Connectivity)
	}
	if !sameHost(req.URL, to) {
		g.Username, g.Password, g.Token = "", "", ""
		if g.Over != nil { // it is another host's certificate
			g.Over = &task.Over{Proxy: g.Over.Proxy, NoProxy: g.Over.NoProxy}
		}
	}
	to.Path, to.RawPath, to.RawQuery = strings.TrimSuffix(to.Path, refs), "", ""
	g.URL = to.String()
	return g, nil
}

// sameHost says whether what a host may know is safe at another URL.
func sameHost(from, to *url.URL) bool {
	return from.Host == to.Host && from.Scheme == to.Scheme || from.Hostname() == to.Hostname() && to.Scheme == "https"
}
