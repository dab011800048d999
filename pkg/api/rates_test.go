package api_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/rate"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func TestHowOftenCallersAsk(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.put("", "user: {identifier: ada, name: Ada}")
	s.put("", "serviceAccount: {identifier: ci, name: CI}")
	now := time.Now()
	s.cfg.Now = func() time.Time { return now }
	s.cfg.Rates = rate.Rates{Requests: 2, Logins: 1} // 8 and 10 at once
	s.cfg.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	s.Server = api.New(s.cfg)
	account := ref.Scope{Account: "default"}
	of := func(kind ref.Kind, id string) string {
		return "Bearer " + s.mint(access.Grant{Kind: store.TokenUser, Scope: account, Name: id, Actor: id, Principal: store.EntityKey{Scope: account, Kind: kind, ID: id}})
	}
	first, second, ci := of(ref.User, "ada"), of(ref.User, "ada"), of(ref.ServiceAccount, "ci")
	through := func(n int, ask func(i int) answer) (good int, last answer) {
		for i := range n {
			a := ask(i)
			if a.status != http.StatusTooManyRequests {
				good++
				continue
			}
			last = a
		}
		return good, last
	}
	got, last := through(20, func(i int) answer {
		token := first
		if i%2 == 1 {
			token = second // of one user, whatever token
		}
		return s.ask("GET", "/v1/whoami", "", "Authorization", token, "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i))
	})
	if p := last.problem(429); got != 8 || !strings.Contains(p.Message, "too many requests of ada") || last.header.Get("Retry-After") != "1" || last.header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("%d of 20 come through, and then %+v with %v", got, p, last.header)
	}
	if a := s.ask("GET", "/v1/whoami", "", "Authorization", ci); a.status != 200 || a.header.Get("RateLimit-Remaining") != "7" {
		t.Errorf("a service account: %d with %v", a.status, a.header)
	}
	delegate := "Bearer " + s.mint(access.Grant{Kind: store.TokenDelegate, Scope: account, Name: "d"})
	if got, _ = through(20, func(int) answer {
		return s.ask("POST", "/v1/delegate/register", `{"id":"d1","name":"d"}`, "Authorization", delegate)
	}); got != 20 {
		t.Errorf("%d of a delegate's 20", got)
	}
	now = now.Add(time.Second)
	if got, _ = through(20, func(int) answer { return s.ask("GET", "/v1/whoami", "", "Authorization", first) }); got != 2 {
		t.Errorf("a second later %d; want 2", got)
	}

	knock := func(address, path string, headers ...string) answer {
		return s.askFrom(address, "GET", path, "", append([]string{"Authorization", "", "Sec-Fetch-Site", "same-origin"}, headers...)...)
	}
	for _, c := range []struct {
		name string
		ask  func(i int) answer
		want int
	}{
		{"an address, whatever it says of itself", func(i int) answer {
			return knock("203.0.113.7", "/v1/login", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i))
		}, 10},
		{"it, written as IPv6 and by other paths", func(i int) answer {
			return knock("::ffff:203.0.113.7", []string{"/v1/login", "/v1/login/oidc/corp/start", "/v1/approvals/x", "/v1/tokens:revoke"}[i%4])
		}, 0},
		{"a network of IPv6", func(i int) answer { return knock(fmt.Sprintf("2001:db8::%d", i+1), "/v1/login") }, 10},
		{"who comes by a proxy that is known", func(i int) answer {
			return knock("10.0.0.1", "/v1/login", "X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i%2))
		}, 20},
		{"what isn't to log in", func(int) answer { return knock("203.0.113.7", "/healthz") }, 30},
	} {
		if got, _ := through(30, c.ask); got != c.want {
			t.Errorf("%s: %d of 30; want %d", c.name, got, c.want)
		}
	}
}
