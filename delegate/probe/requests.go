package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// requests sends the request that proves who asks.
func (x *exam) requests(ctx context.Context, r probe.Requests) {
	a, err := restapi.New(r.Server, x.net).Do(ctx, restapi.Request{Method: http.MethodGet, Path: r.Path})
	path, _, _ := strings.Cut(r.Path, "?")
	var status *restapi.StatusError
	switch {
	case x.broken():
	case err == nil && !json.Valid(a.Body):
		x.fail(probe.CheckAnswer, "GET %s of %s answers with what isn't JSON: a page to log in, or another server; the URL may lack a path, or a proxy may stand before it", path, shown(r.Server.URL))
	case err == nil:
		x.answered(r.Server, "GET "+path, a.Status, r.Lists)
	case errors.As(err, &status):
		x.answered(r.Server, "GET "+path, status.Status, r.Lists)
	case fault.Is(err, fault.Invalid): // the address
		x.fail(probe.CheckConfiguration, "%s", err)
	case late(ctx, err):
		x.fail(probe.CheckAnswer, "GET %s of %s took longer than %s", path, shown(r.Server.URL), longest)
	case len(fault.Failures(err)) > 0 && fault.Failures(err)[0] == fault.Authentication:
		x.fail(probe.CheckLogin, "%s", err)
	default:
		x.fail(probe.CheckAnswer, "%s", err)
	}
}

// answered notes what the status of an answer says about the login.
func (x *exam) answered(s task.Server, request string, status int, lists bool) {
	who := whose(s)
	switch {
	case status < http.StatusBadRequest && s.Auth == task.AuthNone:
		x.pass(probe.CheckLogin, "%s answers, and asks for no login", shown(s.URL))
	case status < http.StatusBadRequest:
		x.pass(probe.CheckLogin, "%s lets %s in", shown(s.URL), who)
	case status == http.StatusUnauthorized && s.Auth == task.AuthNone:
		x.fail(probe.CheckLogin, "%s lets in only who logs in, and the connector is Anonymous (%s: status 401); give it credentials", shown(s.URL), request)
	case status == http.StatusUnauthorized:
		x.fail(probe.CheckLogin, "%s doesn't let %s in (%s: status 401): the credentials are wrong or have expired; correct the secret", shown(s.URL), who, request)
	case status == http.StatusForbidden && lists:
		x.pass(probe.CheckLogin, "%s knows %s", shown(s.URL), who)
		x.lack("%s may not list (%s: status 403); what it may do besides isn't known", who, request)
	case status == http.StatusForbidden:
		x.fail(probe.CheckPermission, "%s may not read (%s of %s: status 403); give it that right", who, request, shown(s.URL))
	case status == http.StatusNotFound:
		x.fail(probe.CheckAnswer, "%s has no %s (status 404); the URL may be that of something else, or lack a path", shown(s.URL), strings.TrimPrefix(request, "GET "))
	case status == http.StatusTooManyRequests:
		x.doubt(probe.CheckAnswer, "%s has had too many requests (status 429); test again later", shown(s.URL))
	default:
		x.fail(probe.CheckAnswer, "%s of %s: status %d %s", request, shown(s.URL), status, http.StatusText(status))
	}
}

// whose names who logs in.
func whose(s task.Server) string {
	if s.Auth == task.AuthBasic && s.Username != "" {
		return "user " + s.Username
	}
	return "the connector"
}

// maxIndex is how much of a repository's index is looked at.
const maxIndex = 1 << 20

// charts reads the beginning of the index of a repository of charts.
func (x *exam) charts(ctx context.Context, s task.Server) {
	_, err := address.Web("the repository's URL", s.URL)
	var req *http.Request
	if err == nil {
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/index.yaml", nil)
	}
	if err != nil {
		x.fail(probe.CheckConfiguration, "%s", err)
		return
	}
	if s.Auth == task.AuthBasic {
		req.SetBasicAuth(s.Username, s.Password)
	}
	resp, err := (&http.Client{Transport: x.net}).Do(req)
	if err != nil {
		if !x.broken() {
			x.fail(probe.CheckAnswer, "%s", fmt.Errorf("read the index: %w", err))
		}
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusBadRequest && !isIndex(resp.Body) {
		x.fail(probe.CheckAnswer, "%s/index.yaml isn't the index of a repository of charts; the URL may lack a path, or the repository may be a registry (OciHelmRepo)", shown(s.URL))
		return
	}
	x.answered(s, "GET /index.yaml", resp.StatusCode, false)
}

// isIndex says whether a text begins as an index does.
func isIndex(r io.Reader) bool {
	lines := bufio.NewScanner(io.LimitReader(r, maxIndex))
	lines.Buffer(nil, maxIndex)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "apiVersion:") || strings.HasPrefix(line, "entries:") {
			return true
		}
	}
	return false
}

// shown is a URL for people: without a password.
func shown(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "what isn't a URL"
	}
	return u.Redacted()
}
