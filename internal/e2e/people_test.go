package e2e_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testservers/certified"
	"github.com/slipway-cd/slipway/internal/testservers/idp"
	"github.com/slipway-cd/slipway/internal/testservers/samlidp"
)

// visitor is a browser that trusts the providers and follows no redirect by itself.
type visitor struct {
	t      *testing.T
	client *http.Client
	api    string // where the gateway listens, in the place of the address that it is known by
}

// page is what a visitor gets.
type page struct {
	status  int
	to      string
	body    string
	cookies []*http.Cookie
}

func visiting(t *testing.T, api, ca string) *visitor {
	t.Helper()
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatal("there is no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &visitor{t, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, api}
}

// open asks for an address, or posts a form to it, as sent there by another site.
func (v *visitor) open(address string, form url.Values, cookies ...*http.Cookie) page {
	v.t.Helper()
	return v.ask("cross-site", address, form, cookies...)
}

// ask is open as sent there by a site, as browsers call that.
func (v *visitor) ask(site, address string, form url.Values, cookies ...*http.Cookie) page {
	v.t.Helper()
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	if rest, own := strings.CutPrefix(address, "https://slipway.example.com"); own {
		address = v.api + rest
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, address, body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", site)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	resp, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return page{resp.StatusCode, resp.Header.Get("Location"), string(text), resp.Cookies()}
}

// cookie is one that a page sets.
func (p page) cookie(t *testing.T, name string) *http.Cookie {
	t.Helper()
	for _, c := range p.cookies {
		if c.Name == name && c.Value != "" {
			return c
		}
	}
	t.Fatalf("there is no cookie %s: %+v", name, p)
	return nil
}

// People log in on AWS by OpenID Connect and by SAML, through a function of their
// own, to whose callers the API gives what their groups may; programs by tokens of an
// issuer. A directory, which none can ask, isn't saved.
func TestPeopleLogInOnAWS(t *testing.T) {
	t.Parallel()
	at := certified.New(t, outside(t)) // nothing is asked on a function's own loopback
	corp, fed := idp.NewAt(t, at), samlidp.NewAt(t, at)
	a := e2e.StartAWS(t, "SSL_CERT_FILE="+at.CA)
	account := *a.Server
	account.Org, account.Project = "", ""
	account.Apply(t, "secret: {identifier: idp, name: IdP, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: "+idp.ClientSecret+"}}")
	account.Apply(t, fmt.Sprintf("loginProvider: {identifier: corp, name: Corp, type: OIDC, issuer: '%s', clientId: %s, clientSecretRef: idp, cliClientId: %s, jit: {enabled: true}}", corp.URL, idp.ClientID, idp.CLIClientID))
	account.Apply(t, fmt.Sprintf("loginProvider: {identifier: fed, name: Federation, type: SAML, metadataUrl: '%s/metadata', groupAttribute: groups, jit: {enabled: true}}", fed.URL))
	account.Apply(t, "userGroup: {identifier: devs, name: Devs, ssoLinked: true, linkedSsoId: corp, linkedSsoType: OIDC, ssoGroupId: developers}")
	account.Apply(t, "userGroup: {identifier: ops, name: Ops, ssoLinked: true, linkedSsoId: fed, linkedSsoType: SAML, ssoGroupId: operators}")
	for _, group := range []string{"devs", "ops"} {
		account.Apply(t, fmt.Sprintf("roleAssignment: {identifier: %s, roleIdentifier: _account_viewer, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER_GROUP, identifier: %[1]s}}", group))
	}
	wantRefused(t, account.Call(t.Context(), "PUT", "/v1/entities", "loginProvider: {identifier: dir, name: Directory, type: LDAP, host: ldap.example.com, useSSL: true, bindDN: cn=x, bindPasswordRef: idp, userQueries: [{baseDN: dc=x}]}", nil), "an LDAP directory can't be asked")

	corp.Person(idp.Claims{"sub": "ada-1", "email": "ada@example.com", "email_verified": true, "name": "Ada", "groups": []string{"developers"}})
	fed.Person("sam@example.com", samlidp.Attributes{"groups": {"operators"}})
	v := visiting(t, a.URL, at.CA)
	if ways := v.open(a.URL+"/v1/login", nil); !strings.Contains(ways.body, `"Corp"`) || !strings.Contains(ways.body, `"Federation"`) {
		t.Errorf("people log in by %s", ways.body)
	}

	begun := v.open(a.URL+"/v1/login/oidc/corp/start?next=/o/default", nil)
	kept := begun.cookie(t, "__Host-slipway-login")
	asked := v.open(begun.to, nil)
	entered := v.open(asked.to, nil, kept)
	if entered.to != "/o/default" {
		t.Fatalf("the login ends at %+v", entered)
	}
	v.opens(entered.cookie(t, "__Host-slipway"), "ada_example_com")
	if again := v.open(asked.to, nil, kept); again.to != "/login?failed=expired" {
		t.Errorf("the same login again ends at %+v", again)
	}

	fed.Trust([]byte(v.open(a.URL+"/v1/login/saml/fed/metadata", nil).body))
	begun = v.open(a.URL+"/v1/login/saml/fed/start", nil)
	said := v.open(begun.to, nil).body
	field := func(name string) string {
		found := regexp.MustCompile(name + `" (?:name="\w+" )?value="([^"]*)"`).FindStringSubmatch(said)
		if found == nil {
			t.Fatalf("the provider's page has no %s: %s", name, said)
		}
		return html.UnescapeString(found[1])
	}
	posted := v.open(a.URL+"/v1/login/saml/fed/acs", url.Values{"SAMLResponse": {field("SAMLResponse")}, "RelayState": {field("RelayState")}})
	if len(posted.cookies) > 0 {
		t.Errorf("who posts what a provider says is logged in by it: %+v", posted)
	}
	entered = v.open(a.URL+posted.to, nil, begun.cookie(t, "__Host-slipway-login"))
	v.opens(entered.cookie(t, "__Host-slipway"), "sam_example_com")

	var made struct{ Secret string }
	if err := account.Call(t.Context(), "POST", "/v1/login/oidc/corp/exchange", map[string]string{"idToken": corp.IDToken(idp.CLIClientID, "")}, &made); err != nil || made.Secret == "" {
		t.Errorf("a terminal's token isn't swapped: %v", err)
	}
	account.Apply(t, "serviceAccount: {identifier: ci, name: CI}")
	account.Apply(t, fmt.Sprintf("loginProvider: {identifier: jobs, name: Jobs, type: WORKLOAD, issuer: '%s', audience: slipway-jobs, claims: {sub: 'repo:acme/web:*'}, serviceAccount: {identifier: ci}}", corp.URL))
	corp.Person(idp.Claims{"sub": "repo:acme/web:ref:refs/heads/main"})
	shown := map[string]string{"token": corp.IDToken("slipway-jobs", "")}
	if err := account.Call(t.Context(), "POST", "/v1/login/workload", shown, &made); err != nil || made.Secret == "" {
		t.Errorf("a program's token isn't swapped: %v", err)
	}
	job := *a.Server
	job.Token = made.Secret
	var who struct{ Principal string }
	if err := job.Call(t.Context(), "GET", "/v1/whoami", nil, &who); err != nil || !strings.Contains(who.Principal, "ci") {
		t.Errorf("the program is %q: %v", who.Principal, err)
	}
	corp.Person(idp.Claims{"sub": "repo:evil/web:ref:refs/heads/main"})
	shown["token"] = corp.IDToken("slipway-jobs", "")
	wantRefused(t, account.Call(t.Context(), "POST", "/v1/login/workload", shown, nil), "No trust rule takes the token")

	corp.Person(idp.Claims{"sub": "eve-1", "email": "ada@example.com", "email_verified": true})
	begun = v.open(a.URL+"/v1/login/oidc/corp/start", nil)
	if stranger := v.open(v.open(begun.to, nil).to, nil, begun.cookie(t, "__Host-slipway-login")); stranger.to != "/login?failed=elsewhere" {
		t.Errorf("another person with the address comes to %+v", stranger)
	}
	compareRights(t, "login", a.Calls.Calls("login"), a.Rights("login"))
}

// opens asks the API who has a session, and for something that the group may see.
func (v *visitor) opens(session *http.Cookie, user string) {
	v.t.Helper()
	for path, want := range map[string]string{"/v1/whoami": user, "/v1/entities/loginProvider": "Corp"} {
		if got := v.ask("same-origin", v.api+path, nil, session); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			v.t.Errorf("%s for %s: %d %s", path, user, got.status, got.body)
		}
	}
}
