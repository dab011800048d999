package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// sets saves the settings of a scope.
func (s *server) sets(at, keys string) answer {
	s.t.Helper()
	return s.ask("PUT", "/v1/entities"+at, "setting:\n  identifier: settings\n  name: Settings\n"+keys, "Content-Type", "application/yaml")
}

// makes makes a token in a scope.
func (s *server) makes(at, body string) answer {
	s.t.Helper()
	return s.ask("POST", "/v1/tokens"+at, body, "Content-Type", "application/json")
}

func TestTokensLastAsSettingsSay(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.put("", "serviceAccount: {identifier: ci, name: CI}")
	const ofCI, forever = `{"kind":"user","name":"ci","serviceAccount":"account.ci"`, `{"kind":"user","name":"old"`
	lasts := func(a answer) time.Duration {
		t.Helper()
		var made api.NewToken
		a.want(200, &made)
		if made.ExpiresAt.IsZero() {
			return 0
		}
		return made.ExpiresAt.Sub(made.CreatedAt).Round(time.Hour)
	}
	var long api.NewToken
	s.makes(scope, ofCI+`,"hours":1000}`).want(200, &long)
	if got := lasts(s.makes(scope, forever+`}`)); got != 0 {
		t.Errorf("a token of nobody's lasts %s; want for ever without a setting", got)
	}
	s.sets("", "  maxTokenLifetime: 10d").want(200, nil)
	s.sets(scope, "  maxTokenLifetime: 1w").want(200, nil)
	for _, c := range []struct {
		name, at, body string
		want           time.Duration // 0: it is refused
	}{
		{"nobody asks", "", ofCI + `}`, 240 * time.Hour},
		{"nobody asks, in the project", scope, ofCI + `}`, 168 * time.Hour},
		{"nobody's", scope, forever + `}`, 168 * time.Hour},
		{"as long as may be", scope, ofCI + `,"hours":168}`, 168 * time.Hour},
		{"an hour longer", scope, ofCI + `,"hours":169}`, 0},
		{"as the account lets, elsewhere", "?org=default&project=other", ofCI + `,"hours":240}`, 240 * time.Hour},
		{"longer than the account lets, elsewhere", "?org=default&project=other", ofCI + `,"hours":241}`, 0},
	} {
		a := s.makes(c.at, c.body)
		if c.want == 0 {
			if p := a.problem(400); !strings.Contains(p.Message, "maxTokenLifetime") {
				t.Errorf("%s: %+v; want the setting named", c.name, p)
			}
			continue
		}
		if got := lasts(a); got != c.want {
			t.Errorf("%s: it lasts %s; want %s", c.name, got, c.want)
		}
	}
	if got := lasts(s.ask("POST", "/v1/tokens/"+long.ID+"/rotate", "")); got != 168*time.Hour {
		t.Errorf("in the place of one that lasted 1000 hours one lasts %s; want what may be now", got)
	}
	var delegates api.NewToken
	s.makes(scope, `{"kind":"delegate","name":"d"}`).want(200, &delegates)
	if !delegates.ExpiresAt.IsZero() {
		t.Errorf("a delegate's token ends at %s", delegates.ExpiresAt)
	}
}

func TestSettingsAreOnlyMadeStricterWithin(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sets("", "  maxTokenLifetime: 10d\n  allowMarkStepFailed: false").want(200, nil)
	p := s.sets(scope, "  maxTokenLifetime: 11d\n  allowMarkStepFailed: true").problem(400)
	if len(p.Details) != 2 || p.Details[0].Line != 4 || p.Details[0].Path != "setting.maxTokenLifetime" || p.Details[1].Line != 5 {
		t.Errorf("loosened within: %+v; want both keys with their lines", p)
	}
	s.sets("?org=default", "  maxTokenLifetime: 10d").want(200, nil)
	s.sets(scope, "  maxTokenLifetime: 9d").want(200, nil)
	s.sets("?org=default", "  maxTokenLifetime: 5d").want(200, nil) // who is above needs nobody within
	s.sets(scope, "  maxTokenLifetime: 9d").want(200, nil)          // and what is there may be saved as it is
	held := func(at string) map[setting.Name]setting.Holds {
		t.Helper()
		var got struct{ Settings []setting.Holds }
		s.ask("GET", "/v1/settings"+at, "").want(200, &got)
		out := map[setting.Name]setting.Holds{}
		for _, h := range got.Settings {
			out[h.Name] = h
		}
		return out
	}
	if h := held(scope)[setting.MaxTokenLifetime]; h.Value != "5d" || h.Own != "9d" || h.From != "default/default" {
		t.Errorf("in the project holds %+v", h)
	}
	if got, want := held(scope)[setting.MaxTokenLifetime].Said, []setting.Said{{Scope: "default", Value: "10d"}, {Scope: "default/default", Value: "5d"}, {Scope: "default/default/web", Value: "9d"}}; !slices.Equal(got, want) {
		t.Errorf("around the project say %+v; want %+v", got, want)
	}
	if h := held("")[setting.SessionAbsolute]; h.Value != "1d" || h.From != "" || !h.Account {
		t.Errorf("what nobody sets: %+v", h)
	}
	s.ask("DELETE", "/v1/entities/setting/settings?org=default", "").want(204, nil)
	if h := held(scope)[setting.MaxTokenLifetime]; h.Value != "9d" || h.From != "default/default/web" {
		t.Errorf("once the organization says nothing: %+v", h)
	}
	for name, keys := range map[string]string{
		"another of the scope":          "  maxTokenLifetime: 1d",
		"an account's in a project":     "  sessionAbsolute: 2h",
		"a webhook that proves nothing": "  mandatoryWebhookSecret: false",
		"too short":                     "  maxTokenLifetime: 1m",
		"too long":                      "  maxTokenLifetime: 366d",
		"unknown":                       "  enableForceDelete: true",
		"an expression":                 "  maxTokenLifetime: <+input>",
	} {
		doc := "setting:\n  identifier: settings\n  name: Settings\n" + keys
		if name == "another of the scope" {
			doc = strings.Replace(doc, "identifier: settings", "identifier: more", 1)
		}
		if a := s.ask("PUT", "/v1/entities"+scope, doc, "Content-Type", "application/yaml"); a.status < 400 || a.status >= 500 || len(a.problem(a.status).Details) == 0 {
			t.Errorf("%s: %d %s; want it refused with a line", name, a.status, a.body)
		}
	}
}

func TestWhoSetsSettings(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.put("", "user: {identifier: bob, name: Bob}")
	s.put("", "user: {identifier: eve, name: Eve}")
	s.put(scope, "roleAssignment: {identifier: bob, roleIdentifier: _project_admin, resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER, identifier: bob}}")
	as := func(user, method, at, body string) int {
		t.Helper()
		token := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default"}, Name: user, Actor: user, Principal: store.EntityKey{Scope: ref.Scope{Account: "default"}, Kind: ref.User, ID: user}})
		return s.ask(method, at, body, "Authorization", "Bearer "+token, "Content-Type", "application/yaml").status
	}
	doc := "setting: {identifier: settings, name: Settings, maxTokenLifetime: 5d}"
	for _, c := range []struct {
		user, method, at, body string
		want                   int
	}{
		{"bob", "PUT", "/v1/entities" + scope, doc, 200},
		{"bob", "GET", "/v1/settings" + scope, "", 200},
		{"bob", "PUT", "/v1/entities", doc, 403},
		{"bob", "GET", "/v1/settings", "", 403},
		{"eve", "PUT", "/v1/entities" + scope, doc, 403},
		{"eve", "GET", "/v1/settings" + scope, "", 403},
		{"eve", "DELETE", "/v1/entities/setting/settings" + scope, "", 404}, // which eve may not even see
		{"bob", "DELETE", "/v1/entities/setting/settings" + scope, "", 204},
	} {
		if got := as(c.user, c.method, c.at, c.body); got != c.want {
			t.Errorf("%s: %s %s is %d; want %d", c.user, c.method, c.at, got, c.want)
		}
	}
}

func TestSessionsEndAsSettingsSay(t *testing.T) {
	t.Parallel()
	s := setup(t)
	now := time.Now()
	s.cfg.Now = func() time.Time { return now }
	s.Server = api.New(s.cfg)
	login := func() string {
		t.Helper()
		return strings.SplitN(s.ask("POST", "/v1/login/token", `{"token":"`+s.token+`"}`, "Content-Type", "application/json", "Origin", "https://slipway.example.com", "Authorization", "", "X-Slipway-Console", "1", "Sec-Fetch-Site", "same-origin").want(200, nil).header.Get("Set-Cookie"), ";", 2)[0]
	}
	asks := func(session string, more ...string) int {
		t.Helper()
		return s.ask("GET", "/v1/whoami", "", append([]string{"Authorization", "", "Cookie", session, "Sec-Fetch-Site", "same-origin", "X-Slipway-Console", "1"}, more...)...).status
	}
	before := login()
	s.sets("", "  sessionInactivity: 1h\n  sessionAbsolute: 3h").want(200, nil)
	idle := login()
	for range 3 { // somebody does something, so that it goes on
		now = now.Add(50 * time.Minute)
		if got := asks(before); got != http.StatusOK {
			t.Fatalf("a session that is used: %d", got)
		}
	}
	if got := asks(idle); got != http.StatusUnauthorized {
		t.Errorf("a session that nobody used: %d", got)
	}
	now = now.Add(31 * time.Minute) // 3 hours and a minute after it began
	if got := asks(before); got != http.StatusUnauthorized {
		t.Errorf("a session that is used, past its time: %d; a shorter one counts for what was begun before, too", got)
	}
	for _, header := range [][]string{{"X-Slipway-Idle", "1"}, {"Accept", "text/event-stream"}} {
		watched := login()
		now = now.Add(40 * time.Minute)
		if got := asks(watched, header...); got != http.StatusOK {
			t.Errorf("%s: %d", header, got)
		}
		now = now.Add(30 * time.Minute)
		if got := asks(watched, header...); got != http.StatusUnauthorized {
			t.Errorf("a page that asks by itself holds a session: %s: %d", header, got)
		}
	}
	s.ask("DELETE", "/v1/entities/setting/settings", "").want(204, nil) // a token opens what is needed to mend it
}

func TestMailAddressesAreOfTheDomainsThatAreSet(t *testing.T) {
	t.Parallel()
	l := people(t, "  jit: {enabled: true}\n")
	saves := func(email string) answer {
		t.Helper()
		return l.ask("PUT", "/v1/entities", "user:\n  identifier: bob\n  name: Bob\n  email: "+email+"\n", "Content-Type", "application/yaml")
	}
	saves("bob@elsewhere.example").want(200, nil)
	l.sets("", "  restrictEmailDomains: [Example.com]").want(200, nil)
	saves("bob@elsewhere.example").want(200, nil) // as it is
	p := saves("bob@evil.example").problem(400)
	if len(p.Details) != 1 || p.Details[0].Line != 4 || !strings.Contains(p.Message, "restrictEmailDomains") {
		t.Errorf("another domain: %+v", p)
	}
	for _, tricky := range []string{"bob@example.com.evil.example", "bob@evil-example.com", `"bob@example.com"@evil.example`, "Bob <bob@sub.example.com>"} {
		if a := saves("'" + tricky + "'"); a.status < 400 {
			t.Errorf("%s is taken", tricky)
		}
	}
	saves("bob@EXAMPLE.com").want(200, nil)
	if session, _ := l.enter("/"); session == nil {
		t.Error("ada of example.com isn't let in")
	}
	l.idp.Person(map[string]any{"sub": "mallory", "email": "mallory@evil.example", "email_verified": true})
	if session, to := l.enter("/"); session != nil || to != "domain" {
		t.Errorf("somebody of another domain is sent to %s", to)
	}
	// Nobody keeps themselves out.
	ada := l.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default"}, Name: "ada", Actor: "ada_example_com", Principal: store.EntityKey{Scope: ref.Scope{Account: "default"}, Kind: ref.User, ID: "bob"}})
	l.put("", "roleAssignment: {identifier: bob, roleIdentifier: _account_admin, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER, identifier: bob}}")
	a := l.ask("PUT", "/v1/entities", "setting: {identifier: settings, name: Settings, restrictEmailDomains: [other.example]}", "Content-Type", "application/yaml", "Authorization", "Bearer "+ada)
	if p := a.problem(409); p.Code != fault.Conflict || !strings.Contains(p.Message, "keep you out") {
		t.Errorf("%+v", p)
	}
}

func TestADirectorySaysNobodyOfAnotherDomain(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.sets("", "  restrictEmailDomains: [example.com]").want(200, nil)
	d.scim("POST", "/Users", `{"userName":"bo@example.com","name":{"givenName":"Bo","familyName":"Ek"}}`).want(201, nil)
	if a := d.scim("POST", "/Users", `{"userName":"eve@evil.example","name":{"givenName":"Eve","familyName":"Ek"}}`); a.status != 400 || !strings.Contains(string(a.body), "restrictEmailDomains") {
		t.Errorf("%d %s", a.status, a.body)
	}
	d.scim("PATCH", "/Users/bo_example_com", `{"Operations":[{"op":"replace","path":"userName","value":"bo@evil.example"}]}`).want(400, nil)
}

func TestABannerIsShownWherePeopleLogIn(t *testing.T) {
	t.Parallel()
	l := people(t, "")
	shown := func() string {
		t.Helper()
		var ways struct {
			Providers []any
			Passwords bool
			Banner    *setting.Banner
		}
		l.ask("GET", "/v1/login", "", "Sec-Fetch-Site", "same-origin", "Authorization", "").want(200, &ways)
		var who access.Whoami
		l.ask("GET", "/v1/whoami", "").want(200, &who)
		if (who.Banner == nil) != (ways.Banner == nil) || who.Banner != nil && *who.Banner != *ways.Banner {
			t.Errorf("the console says %v, the login page %v", who.Banner, ways.Banner)
		}
		if ways.Banner == nil {
			return ""
		}
		return string(ways.Banner.Level) + ": " + ways.Banner.Text
	}
	if got := shown(); got != "" {
		t.Errorf("shows %q; want nothing", got)
	}
	at := l.now.Add(time.Hour)
	l.sets("", "  banner: {text: \"Down on <b>Sunday</b>\", level: warning, from: '"+at.Format(time.RFC3339)+"', to: '"+at.Add(time.Hour).Format(time.RFC3339)+"'}").want(200, nil)
	var got []string
	for range 3 {
		got = append(got, shown())
		l.now = l.now.Add(time.Hour)
	}
	if want := []string{"", "warning: Down on <b>Sunday</b>", ""}; !slices.Equal(got, want) {
		t.Errorf("before, in and after its time it shows %q; want %q", got, want)
	}
}

// put saves a document.
func (s *server) put(at, doc string) {
	s.t.Helper()
	s.ask("PUT", "/v1/entities"+at, doc, "Content-Type", "application/yaml").want(200, nil)
}
