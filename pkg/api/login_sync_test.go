package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/testservers/directory"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/login"
)

// What a directory says between logins counts: whoever has left a group has no right
// by it, and whoever is gone has no session and no token.
func TestADirectoryIsHeardBetweenLogins(t *testing.T) {
	t.Parallel()
	o := withDirectory(t, "  syncCron: 0 */2 * * *\n")
	o.put(scope, "userGroup: {identifier: devs, name: Devs, ssoLinked: true, linkedSsoId: dir, linkedSsoType: LDAP, ssoGroupId: 'cn=devs,"+directory.Groups+"'}")
	o.put(scope, strings.Split(team, "\n---\n")[1])
	o.now = time.Date(o.now.Year()+1, 1, 1, 9, 30, 0, 0, time.UTC)
	c := session(t, o.types("ada@example.com", adasPassword))
	o.put("", "user: {identifier: eve, name: Eve, email: eve@example.com}")
	eves := session(t, o.types("eve@example.com", adasPassword))
	var token api.NewToken
	o.asks("/v1/login/ldap/dir/exchange", "ada@example.com", adasPassword).want(200, &token)
	mine := func() int { return o.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+token.Secret).status }
	sees := func() int { return o.as(c, "GET", "/v1/executions"+scope).status }
	sync := func(from, to time.Duration) error {
		t.Helper()
		return login.Sync{Desk: o.cfg.Login}.Pass(t.Context(), o.now.Add(from), o.now.Add(to))
	}
	want := func(when string, err error, rights, own, other int) {
		t.Helper()
		if err != nil || sees() != rights || mine() != own || o.as(eves, "GET", "/v1/whoami").status != other {
			t.Errorf("%s: %v; asked for executions: %d, by the token: %d, by Eve: %d; want %d, %d, %d", when, err, sees(), mine(), o.as(eves, "GET", "/v1/whoami").status, rights, own, other)
		}
	}
	want("at first", nil, 200, 200, 200)
	records := len(o.trail(audit.Update))
	want("when nothing has changed", sync(0, time.Hour), 200, 200, 200)
	if now := len(o.trail(audit.Update)); now != records {
		t.Errorf("%d records of no change", now-records)
	}
	o.in("CN=Ops," + directory.Groups)
	want("before it is due", sync(0, 29*time.Minute), 200, 200, 200)
	want("when it is due", sync(0, 30*time.Minute), 403, 200, 200)
	o.in("CN=devs," + directory.Groups)
	want("back in the group", sync(0, time.Hour), 200, 200, 200)
	o.at.Set() // nobody
	if err := sync(0, time.Hour); err == nil || !strings.Contains(err.Error(), "has none of the 2 users who log in by it") {
		t.Errorf("a directory without anybody: %v", err)
	}
	want("a directory that was moved", nil, 200, 200, 200)
	o.in("CN=devs," + directory.Groups)
	o.at.Without("uid=ada," + directory.People)
	want("when Ada is gone", sync(0, time.Hour), 401, 401, 200)
	want("again", sync(0, time.Hour), 401, 401, 200)
	revoked := o.trail(audit.RevokeToken)
	if len(revoked) != 2 || !strings.Contains(revoked[0].After, "the directory of the login provider dir no longer has user ada") {
		t.Errorf("the audit trail tells %+v", revoked)
	}
}
