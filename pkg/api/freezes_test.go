package api_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// A calendar program may send a token as a password, for the calendar and for
// nothing else.
func TestCalendarProgramsMaySendATokenAsAPassword(t *testing.T) {
	t.Parallel()
	s := setup(t)
	basic := func(token string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte("calendar:"+token))
	}
	const path = "/v1/freezes/calendar.ics?org=default&project=web"
	a := s.ask("GET", path, "", "Authorization", basic(s.token)).want(200, nil)
	if got := a.header.Get("Content-Type"); got != "text/calendar; charset=utf-8" || !strings.HasPrefix(string(a.body), "BEGIN:VCALENDAR\r\n") {
		t.Errorf("the calendar is %s: %q", got, a.body)
	}
	s.ask("GET", "/v1/freezes", "", "Authorization", basic(s.token)).problem(401)
	s.ask("GET", path, "", "Authorization", basic("guess")).problem(401)
	elsewhere := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "other"}, Name: "other", Actor: "eve"})
	s.ask("GET", path, "", "Authorization", basic(elsewhere)).problem(403)
}
