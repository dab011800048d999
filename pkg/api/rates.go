package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/rate"
	"github.com/slipway-cd/slipway/pkg/store"
)

// remainingHeader says how many more requests its caller may make at once. With 0, and
// 429, nothing was done, and the request may be sent again.
const remainingHeader = "Ratelimit-Remaining"

// How much more may come at once than in a second.
const (
	requestBurst = 4
	loginBurst   = 10
)

// rates bounds how often callers ask.
type rates struct {
	callers *rate.Limiter // by whom a token is of
	doors   *rate.Limiter // by address, where people prove who they are
	now     func() time.Time
}

func newRates(r rate.Rates, now func() time.Time) rates {
	return rates{callers: rate.New(r.Requests, r.Requests*requestBurst), doors: rate.New(r.Logins, r.Logins*loginBurst), now: now}
}

// asks takes a request of the bearer of a token. All tokens and sessions of a user or of
// a service account are the one's: whoever makes more of them has no more. Delegates
// aren't counted: the server says how often these ask.
func (r rates) asks(w http.ResponseWriter, t store.AccessToken) error {
	if t.Kind == store.TokenDelegate {
		return nil
	}
	who, key := "of this token", "token "+t.ID
	switch {
	case t.Principal.Kind != "":
		who, key = "of "+t.Actor, principalText(t.Principal)
	case t.Of != "":
		key = "token " + t.Of
	}
	return taken(w, r.callers, key, "requests "+who, r.now())
}

// knocks takes a request of who is about to prove who they are.
func (r rates) knocks(w http.ResponseWriter, req *http.Request) error {
	return taken(w, r.doors, addressKeyOf(req), "requests of this address to log in", r.now())
}

// addressKeyOf is where a request comes from, as one counts: an address of IPv4, or a
// network of IPv6, of which a machine mostly has all.
func addressKeyOf(r *http.Request) string {
	at := addressOf(r.Context())
	if !at.IsValid() {
		return remote(r)
	}
	if at.Is6() {
		if net, err := at.Prefix(64); err == nil {
			return net.String()
		}
	}
	return at.String()
}

// opensDoor says whether a request is one by which somebody may prove who they are.
func opensDoor(path string) bool {
	return path == waysPath || path == foundPath || strings.HasPrefix(path, loginPaths) || strings.HasPrefix(path, linkPaths)
}

func taken(w http.ResponseWriter, l *rate.Limiter, key, what string, now time.Time) error {
	if l == nil {
		return nil
	}
	left, wait := l.Take(key, now)
	w.Header().Set(remainingHeader, strconv.Itoa(left))
	if wait == 0 {
		return nil
	}
	seconds := int((wait + time.Second - 1) / time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return fault.New(fault.TooMany, "too many %s; try again in %d s", what, seconds)
}
