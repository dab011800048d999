package ldap_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/testservers/directory"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/login/ldap"
)

const (
	ada  = "uid=ada," + directory.People
	eve  = "uid=eve," + directory.People
	devs = "cn=devs," + directory.Groups
	all  = "cn=all," + directory.Groups
)

// desk is a client and a directory.
type desk struct {
	*testing.T
	at       *directory.Directory
	provider sso.Provider
}

func setup(t *testing.T, secure bool) *desk {
	t.Helper()
	d := &desk{T: t, at: directory.New(t, secure)}
	d.at.Set(
		directory.Entry{DN: ada, Password: "corr3ct", Attributes: map[string][]string{
			"mail": {"other@example.com", "Ada@example.com"}, "cn": {"Ada L."}, "memberOf": {devs}, "entryUUID": {"1-2-3"},
		}},
		directory.Entry{DN: eve, Password: "ev1l", Attributes: map[string][]string{"mail": {"eve@example.com"}, "cn": {"Eve"}}},
		directory.Entry{DN: devs, Attributes: map[string][]string{"member": {ada}}},
		directory.Entry{DN: all, Attributes: map[string][]string{"member": {devs, all}}},
	)
	d.provider = sso.Provider{
		ID: "dir", Type: sso.LDAP, EmailClaim: "mail", NameClaim: "name", GroupsClaim: "groups",
		Directory: sso.Directory{
			Host: "127.0.0.1", Port: d.at.Port, TLS: secure, CA: d.at.CA, BindDN: directory.SearchDN, Connect: 10 * time.Second, Respond: 10 * time.Second,
			Users: []sso.UserQuery{{Base: directory.People, Filter: "(objectClass=person)", Email: "mail", Name: "cn", Groups: "memberOf"}},
		},
	}
	return d
}

func (d *desk) check(user, password string) (login.Claims, error) {
	d.Helper()
	c, err := ldap.New(true).Check(d.Context(), d.provider, directory.SearchSecret, user, password)
	if err != nil && password != "" && strings.Contains(err.Error(), password) {
		d.Errorf("the error tells the password: %v", err)
	}
	return c, err
}

func (d *desk) want(f login.Failure, err error) {
	d.Helper()
	var r *login.Refusal
	if !errors.As(err, &r) || r.Failure != f {
		d.Errorf("got %v; want %s", err, f)
	}
}

func TestADirectorySaysWhoSomebodyIs(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"with TLS": true, "plainly": false} {
		d := setup(t, secure)
		got, err := d.check("ada@EXAMPLE.com", "corr3ct")
		if err != nil || got.Subject != "entryUUID=1-2-3" || fmt.Sprint(got.All) != "map[groups:["+devs+"] mail:Ada@example.com name:Ada L.]" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	d := setup(t, false)
	d.provider.Directory.StartTLS = true
	if _, err := d.check("ada@example.com", "corr3ct"); err != nil || !slices.Contains(d.at.Questions(), "start TLS") {
		t.Errorf("with TLS after a plain beginning: %v; it was asked %q", err, d.at.Questions())
	}
	if got, err := d.check("eve@example.com", "ev1l"); err != nil || got.Subject != eve || fmt.Sprint(got.All["groups"]) != "[]" {
		t.Errorf("without what lasts: got %+v, %v", got, err)
	}
}

// Who can't be trusted is told no password.
func TestADirectoryThatNobodyVouchesFor(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{true, false} {
		d := setup(t, secure)
		d.provider.Directory.CA, d.provider.Directory.StartTLS = "", !secure
		_, err := d.check("ada@example.com", "corr3ct")
		d.want(login.Away, err)
		if asked := d.at.Questions(); slices.ContainsFunc(asked, func(q string) bool { return q != "start TLS" }) {
			t.Errorf("it was asked %q", asked)
		}
	}
	d := setup(t, false)
	d.provider.Directory.Host = "169.254.169.254"
	_, err := d.check("ada@example.com", "corr3ct")
	d.want(login.Away, err)
}

func TestWhoIsntLetIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user, password string
		known          bool
		binds          int // besides the search user
	}{
		"a wrong password":               {"ada@example.com", "inc0rrect", true, 1},
		"another's":                      {"ada@example.com", "ev1l", true, 1},
		"nobody":                         {"bob@example.com", "corr3ct", false, 1},
		"no password":                    {"ada@example.com", "", false, 0}, // ldap_empty_password_refused
		"no name":                        {"", "corr3ct", false, 0},
		"a long one":                     {strings.Repeat("x", 300), "corr3ct", false, 0},
		"a zero":                         {"ada@example.com\x00", "corr3ct", false, 0},
		"a star":                         {"*", "corr3ct", false, 1}, // ldap_filter_injection_is_literal
		"another filter":                 {"ada@example.com)(cn=*", "corr3ct", false, 1},
		"a filter that is always so":     {"*)(|(objectClass=*", "corr3ct", false, 1},
		"a name that isn't an address":   {"ada", "corr3ct", false, 1},
		"the search user by its address": {directory.SearchDN, directory.SearchSecret, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t, false)
			got, err := d.check(c.user, c.password)
			d.want(login.Wrong, err)
			if (got.Subject != "") != c.known {
				t.Errorf("it tells of %+v", got)
			}
			binds := 0
			for _, q := range d.at.Questions() {
				if strings.HasPrefix(q, "bind ") && q != "bind "+directory.SearchDN {
					binds++
				}
			}
			if binds != c.binds {
				t.Errorf("the directory was asked %q", d.at.Questions())
			}
		})
	}
	d := setup(t, false) // two of one address are nobody
	d.at.Set(
		directory.Entry{DN: ada, Password: "corr3ct", Attributes: map[string][]string{"mail": {"ada@example.com"}}},
		directory.Entry{DN: eve, Password: "corr3ct", Attributes: map[string][]string{"mail": {"ada@example.com"}}},
		directory.Entry{DN: "uid=3," + directory.People, Password: "corr3ct", Attributes: map[string][]string{"mail": {"ada@example.com"}}},
	)
	got, err := d.check("ada@example.com", "corr3ct")
	if d.want(login.Wrong, err); got.Subject != "" {
		t.Errorf("of two with one address it is %+v", got)
	}
}

func TestADirectoryThatDoesntWork(t *testing.T) {
	t.Parallel()
	d := setup(t, false)
	_, err := ldap.New(true).Check(t.Context(), d.provider, "inc0rrect", "ada@example.com", "corr3ct")
	d.want(login.Broken, err)
	_, err = ldap.New(true).Check(t.Context(), d.provider, "", "ada@example.com", "corr3ct")
	d.want(login.Broken, err)
	d.provider.Directory.Users[0].Filter = "(x"
	_, err = d.check("ada@example.com", "corr3ct")
	if err == nil {
		t.Error("a filter that is none finds somebody")
	}
	d.provider.Directory.Port = 1
	_, err = d.check("ada@example.com", "corr3ct")
	d.want(login.Away, err)
	_, err = ldap.New(false).Check(t.Context(), setup(t, false).provider, directory.SearchSecret, "ada@example.com", "corr3ct")
	d.want(login.Away, err)
}

func TestGroupsOfGroups(t *testing.T) {
	t.Parallel()
	d := setup(t, false)
	groups := func() string {
		t.Helper()
		got, err := d.check("ada@example.com", "corr3ct")
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprint(got.All["groups"])
	}
	d.provider.Directory.Users[0].Groups = "none"
	if got := groups(); got != "[]" {
		t.Errorf("without memberOf: %s", got)
	}
	d.provider.Directory.Groups = []sso.GroupQuery{{Base: directory.Groups, Filter: "(objectClass=groupOfNames)"}, {Base: "ou=other", Filter: "(objectClass=group)"}}
	if got := groups(); got != "["+devs+"]" {
		t.Errorf("those that name her: %s", got)
	}
	d.provider.Directory.Recursive = true
	if got := groups(); got != "["+devs+" "+all+"]" {
		t.Errorf("with the groups of groups: %s", got)
	}
	d.provider.Directory.Users[0].Groups = "memberOf"
	if got := groups(); got != "["+devs+" "+all+"]" {
		t.Errorf("of those that she says: %s", got)
	}
}

// Whom a directory has let in before is found by what lasts, without a password, and
// only as long as that one could log in.
func TestADirectoryIsAskedAboutItsPeople(t *testing.T) {
	t.Parallel()
	d := setup(t, true)
	d.provider.Directory.Groups = []sso.GroupQuery{{Base: directory.Groups, Filter: "(objectClass=groupOfNames)"}}
	d.at.Set(
		directory.Entry{DN: "uid=lovelace," + directory.People, Attributes: map[string][]string{"mail": {"lovelace@example.com"}, "entryUUID": {"1-2-3"}}}, // who was ada
		directory.Entry{DN: eve, Attributes: map[string][]string{"mail": {"eve@example.com"}, "memberOf": {all}}},
		directory.Entry{DN: "uid=bob,ou=left,dc=example,dc=com", Attributes: map[string][]string{"mail": {"bob@example.com"}, "entryUUID": {"4-5-6"}}},
		directory.Entry{DN: "uid=kim," + directory.People, Attributes: map[string][]string{"mail": {"kim@example.com"}, "objectGUID": {"\x00)*\xff"}}},
		directory.Entry{DN: devs, Attributes: map[string][]string{"member": {"uid=lovelace," + directory.People}}},
	)
	subjects := []string{"entryUUID=1-2-3", eve, "entryUUID=4-5-6", "uid=bob,ou=left,dc=example,dc=com", "objectGUID=00292aff", "uid=gone," + directory.People, "entryUUID=*", "not a name"}
	got, err := ldap.New(true).Look(t.Context(), d.provider, directory.SearchSecret, subjects)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for s, c := range got {
		if s != c.Subject {
			t.Errorf("of %s it says %+v", s, c)
		}
		said[s] = fmt.Sprint(c.All["groups"])
	}
	want := map[string]string{"entryUUID=1-2-3": "[" + devs + "]", eve: "[" + all + "]", "objectGUID=00292aff": "[]"}
	if !maps.Equal(said, want) {
		t.Errorf("it says %q; want %q", said, want)
	}
	if asked := strings.Join(d.at.Questions(), "\n"); strings.Count(asked, "bind ") != 1 {
		t.Errorf("it was asked:\n%s", asked)
	}
	_, err = ldap.New(true).Look(t.Context(), d.provider, "wrong", subjects)
	d.want(login.Broken, err)
}
