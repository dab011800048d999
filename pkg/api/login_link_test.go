package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

const here = "http://127.0.0.1:8484"

// follow opens a login link as the console does.
func (s *server) follow(code, origin string) answer {
	s.t.Helper()
	return s.ask("POST", "/v1/login/link", `{"code":"`+code+`"}`, "Authorization", "", "Content-Type", "application/json", "Origin", origin, "Sec-Fetch-Site", "same-origin", "X-Slipway-Console", "1")
}

func (s *server) link(headers ...string) access.LoginLink {
	s.t.Helper()
	var link access.LoginLink
	s.ask("POST", "/v1/login-links", "", headers...).want(200, &link)
	return link
}

func TestALoginLinkOpensOneSession(t *testing.T) {
	t.Parallel()
	s := setup(t)
	token := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "web"}, Name: "laptop", Actor: "bob"})
	link := s.link("Authorization", "Bearer "+token)
	if left := time.Until(link.ExpiresAt); left > 5*time.Minute || left < 4*time.Minute {
		t.Errorf("the link can be opened for %s", left)
	}
	var opened [4]answer
	var all sync.WaitGroup
	for i := range opened {
		all.Go(func() { opened[i] = s.follow(link.Code, here) })
	}
	all.Wait()
	var sessions []*http.Cookie
	for _, a := range opened {
		if a.status != 200 {
			a.problem(401)
			continue
		}
		c, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, c)
		if !strings.Contains(string(a.body), `"actor":"bob"`) {
			t.Errorf("the session is of %s", a.body)
		}
	}
	if len(sessions) != 1 || sessions[0].Name != "slipway" || !sessions[0].HttpOnly {
		t.Errorf("of four who opened it at once these got sessions: %v", sessions)
	}
	s.follow(link.Code, here).problem(401)
}

func TestWhatALoginLinkDoesNotOpen(t *testing.T) {
	t.Parallel()
	s := setup(t)
	link := s.link()
	for _, origin := range []string{"", "http://10.0.0.5:8484", "https://slipway.example.com", "https://127.0.0.1", "null"} {
		s.follow(link.Code, origin).problem(403)
	}
	s.follow("GUESS", here).problem(401)
	s.ask("POST", "/v1/login/link", `{"code":"`+link.Code+`"}`, "Authorization", "", "Content-Type", "application/json", "Origin", here, "Sec-Fetch-Site", "cross-site", "X-Slipway-Console", "1").problem(403)
	s.ask("POST", "/v1/login-links", "", "Authorization", "").problem(401)
	c, _ := s.opened("https://slipway.example.com", s.token)
	s.by(c, "POST", "/v1/login-links", "").problem(403)

	token, text := access.Mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default"}, Name: "x", Actor: "eve"}, time.Now())
	if err := s.store.PutToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	revoked := s.link("Authorization", "Bearer "+text)
	token.Revoked = true
	if err := s.store.PutToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	s.follow(revoked.Code, here).problem(401)

	cfg := s.cfg
	cfg.Now = func() time.Time { return time.Now().Add(6 * time.Minute) }
	s.Server = api.New(cfg)
	s.follow(link.Code, here).problem(401)
}
