// Package ldap asks LDAP directories whether a password is somebody's, and which
// groups that one is in.
//
// It checks what a directory says and knows no users, and doesn't count how often
// somebody is wrong: that is pkg/login's. It follows no referrals, and changes
// nothing in a directory. A function that logs nobody in doesn't have it, nor its
// library.
package ldap

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-ldap/ldap/v3"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/egress"
	"github.com/slipway-cd/slipway/pkg/login"
)

const (
	// maxUser and maxPassword bound what people type, in bytes.
	maxUser, maxPassword = 256, 512
	// page is how many groups a directory gives at once, and maxGroups how many are
	// read in all.
	page, maxGroups = 1000, 2000
	// levels is how deep groups of groups are followed.
	levels = 10
)

// Client asks directories. It is for many goroutines.
type Client struct{ inside bool }

// New makes a Client, which reaches what users may have it reach (pkg/egress).
func New(inside bool) *Client { return &Client{inside} }

// Check gives what the directory says of whom a password lets in. Its search user
// finds the one entry that has the mail address; the password is then tried as
// that entry's. Claims with a subject and an error are those of somebody whose
// password it isn't.
func (c *Client) Check(ctx context.Context, p sso.Provider, searchPassword, user, password string) (login.Claims, error) {
	// A directory takes an empty password as that of nobody in particular, and says
	// yes (RFC 4513, 5.1.2).
	if user == "" || password == "" || len(user) > maxUser || len(password) > maxPassword || !utf8.ValidString(user) || strings.ContainsRune(user, 0) {
		return login.Claims{}, wrong("nothing that could be right was typed")
	}
	s, end, err := c.open(ctx, p, searchPassword)
	if err != nil {
		return login.Claims{}, err
	}
	defer end()
	entry, query, err := s.find(user)
	if err != nil {
		return login.Claims{}, err
	}
	if entry == nil {
		// It takes as long, so that nobody learns by it who there is.
		_ = s.conn.Bind("cn="+rand.Text()+","+p.Directory.Users[0].Base, password)
		return login.Claims{}, wrong("the directory has nobody of that mail address")
	}
	claims := login.Claims{Subject: subject(entry), All: map[string]any{"mail": mail(entry, query, user), "name": entry.GetEqualFoldAttributeValue(query.Name)}}
	if err := s.conn.Bind(entry.DN, password); err != nil {
		if says(err) {
			return claims, wrong(fmt.Sprintf("the directory refuses the password of %q: %v", entry.DN, err))
		}
		return login.Claims{}, away("try the password", err)
	}
	if len(p.Directory.Groups) > 0 {
		if err := s.search(); err != nil {
			return login.Claims{}, err
		}
	}
	claims.All["groups"], err = s.groupsOf(entry, query)
	return claims, err
}

// Look gives what the directory says of people whom Check has let in before, by their
// subjects; of those whom it no longer has, nothing. It asks for no password of
// theirs.
func (c *Client) Look(ctx context.Context, p sso.Provider, searchPassword string, subjects []string) (map[string]login.Claims, error) {
	s, end, err := c.open(ctx, p, searchPassword)
	if err != nil {
		return nil, err
	}
	defer end()
	there := map[string]login.Claims{}
	for _, subject := range subjects {
		entry, query, err := s.known(subject)
		if err != nil {
			return nil, err
		}
		if entry == nil {
			continue
		}
		groups, err := s.groupsOf(entry, query)
		if err != nil {
			return nil, err
		}
		there[subject] = login.Claims{Subject: subject, All: map[string]any{"groups": groups}}
	}
	return there, nil
}

// open begins a session of the search user, which ends with the context.
func (c *Client) open(ctx context.Context, p sso.Provider, searchPassword string) (s session, end func(), err error) {
	if searchPassword == "" {
		return s, nil, login.Refuse(login.Broken, errors.New("the search user has no password"))
	}
	conn, err := c.dial(p.Directory)
	if err != nil {
		return s, nil, away("reach "+p.Directory.Address(), err)
	}
	// The library knows no context: whoever goes away has the connection closed.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	end = func() {
		stop()
		_ = conn.Close()
	}
	s = session{conn, p.Directory, searchPassword}
	if err := s.search(); err != nil {
		end()
		return s, nil, err
	}
	return s, end, nil
}

func wrong(why string) error { return login.Refuse(login.Wrong, errors.New(why)) }

func away(what string, err error) error {
	return login.Refuse(login.Away, fmt.Errorf("%s: %w", what, err))
}

// says says whether the directory itself has refused, and not what is between.
func says(err error) bool {
	var e *ldap.Error
	return errors.As(err, &e) && e.ResultCode < ldap.ErrorNetwork && !ldap.IsErrorAnyOf(err, ldap.LDAPResultBusy, ldap.LDAPResultUnavailable)
}

// dial opens a connection, which nobody on the way reads if it is to be so.
func (c *Client) dial(d sso.Directory) (*ldap.Conn, error) {
	trust := &tls.Config{ServerName: d.Host, MinVersion: tls.VersionTLS12}
	if d.CA != "" {
		trust.RootCAs = x509.NewCertPool()
		trust.RootCAs.AppendCertsFromPEM([]byte(d.CA))
	}
	conn, err := ldap.DialURL(d.Address(), ldap.DialWithDialer(egress.Dialer(c.inside, d.Connect)), ldap.DialWithTLSConfig(trust))
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	conn.SetTimeout(d.Respond)
	if d.StartTLS {
		if err := conn.StartTLS(trust); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("start TLS: %w", err)
		}
	}
	return conn, nil
}

// session is a connection to a directory.
type session struct {
	conn     *ldap.Conn
	at       sso.Directory
	password string // of the search user
}

// search has the connection be the search user's.
func (s session) search() error {
	err := s.conn.Bind(s.at.BindDN, s.password)
	if err != nil && says(err) {
		return login.Refuse(login.Broken, fmt.Errorf("the directory refuses the search user %s: %w", s.at.BindDN, err))
	}
	if err != nil {
		return away("be the search user", err)
	}
	return nil
}

// find gives the one entry with a mail address, and where it was found; nil: there
// is none, or there are several.
func (s session) find(user string) (*ldap.Entry, sso.UserQuery, error) {
	return s.one(func(q sso.UserQuery) *ldap.SearchRequest {
		return s.person(q, q.Base, "("+q.Email+"="+ldap.EscapeFilter(user)+")")
	})
}

// known gives the entry that a subject is of, if it is still one of those who may log
// in.
func (s session) known(of string) (*ldap.Entry, sso.UserQuery, error) {
	entry, query, err := s.one(func(q sso.UserQuery) *ldap.SearchRequest {
		name, value, _ := strings.Cut(of, "=")
		if !slices.Contains(lasting(), name) { // its name is all that it is known by
			r := s.person(q, of, "")
			r.Scope = ldap.ScopeBaseObject
			return r
		}
		if raw, err := hex.DecodeString(value); name == "objectGUID" && err == nil {
			value = string(raw)
		}
		return s.person(q, q.Base, "("+name+"="+ldap.EscapeFilter(value)+")")
	})
	if err != nil || entry == nil || subject(entry) != of || !below(entry.DN, query.Base) {
		return nil, query, err
	}
	return entry, query, nil
}

// below says whether an entry is below a name, or the one of that name.
func below(dn, base string) bool {
	entry, err := ldap.ParseDN(dn)
	at, failed := ldap.ParseDN(base)
	return err == nil && failed == nil && (at.EqualFold(entry) || at.AncestorOfFold(entry))
}

// person searches for people of a query below a name, who are something besides.
func (s session) person(q sso.UserQuery, base, and string) *ldap.SearchRequest {
	return s.request(base, "(&"+q.Filter+and+")", 2, append(lasting(), q.Email, q.Name, q.Groups)...)
}

// one gives the one entry that the queries find; nil: there is none, or there are
// several.
func (s session) one(search func(sso.UserQuery) *ldap.SearchRequest) (*ldap.Entry, sso.UserQuery, error) {
	var found *ldap.Entry
	var by sso.UserQuery
	for _, q := range s.at.Users {
		result, err := s.conn.Search(search(q))
		switch {
		case ldap.IsErrorWithCode(err, ldap.LDAPResultNoSuchObject):
			continue
		case ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded):
			return nil, by, nil
		case err != nil && says(err):
			return nil, by, login.Refuse(login.Broken, fmt.Errorf("the directory doesn't search %s: %w", q.Base, err))
		case err != nil:
			return nil, by, away("search "+q.Base, err)
		}
		for _, e := range result.Entries {
			if found != nil && found.DN != e.DN {
				return nil, by, nil // nobody knows which of them it is
			}
			found, by = e, q
		}
	}
	return found, by, nil
}

func (s session) request(base, filter string, most int, attributes ...string) *ldap.SearchRequest {
	return ldap.NewSearchRequest(base, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, most, int(s.at.Respond.Seconds()), false, filter, attributes, nil)
}

// lasting are the attributes by which directories know an entry whatever it is
// called: Active Directory's, that of RFC 4530, and those of others.
func lasting() []string { return []string{"objectGUID", "entryUUID", "nsUniqueId", "ipaUniqueID"} }

// subject is what an entry is known by. Without anything that lasts it is its name.
func subject(e *ldap.Entry) string {
	for _, name := range lasting() {
		if value := e.GetEqualFoldRawAttributeValue(name); len(value) > 0 {
			if name == "objectGUID" {
				return name + "=" + hex.EncodeToString(value)
			}
			return name + "=" + string(value)
		}
	}
	return strings.ToLower(e.DN)
}

// mail is the address that was typed, as the directory writes it.
func mail(e *ldap.Entry, q sso.UserQuery, typed string) string {
	for _, address := range e.GetEqualFoldAttributeValues(q.Email) {
		if strings.EqualFold(address, typed) {
			return address
		}
	}
	return "" // it was found by something else than what people see
}

// groupsOf are the groups of an entry, as claims have them.
func (s session) groupsOf(e *ldap.Entry, q sso.UserQuery) ([]any, error) {
	groups := e.GetEqualFoldAttributeValues(q.Groups)
	if len(s.at.Groups) > 0 {
		var err error
		if groups, err = s.groups(e.DN, groups); err != nil {
			return nil, err
		}
	}
	return list(groups), nil
}

// groups are those that an entry says it is in, and those that name it; with the
// groups that name these, if they count.
func (s session) groups(dn string, said []string) ([]string, error) {
	all := map[string]bool{}
	for _, g := range said {
		all[strings.ToLower(g)] = true
	}
	groups, next := said, []string{dn}
	if s.at.Recursive {
		next = append(next, said...)
	}
	for level := 0; len(next) > 0 && level < levels; level++ {
		var found []string
		for _, member := range next {
			named, err := s.naming(member)
			if err != nil {
				return nil, err
			}
			for _, g := range named {
				if !all[strings.ToLower(g)] {
					all[strings.ToLower(g)] = true
					found = append(found, g)
				}
			}
			if len(all) > maxGroups {
				return nil, login.Refuse(login.Broken, fmt.Errorf("the directory names more than %d groups for %q", maxGroups, dn))
			}
		}
		groups = append(groups, found...)
		if next = found; !s.at.Recursive {
			break
		}
	}
	return groups, nil
}

// naming are the groups that name a member.
func (s session) naming(member string) ([]string, error) {
	var names []string
	is := ldap.EscapeFilter(member)
	for _, q := range s.at.Groups {
		filter := "(&" + q.Filter + "(|(member=" + is + ")(uniqueMember=" + is + ")))"
		result, err := s.conn.SearchWithPaging(s.request(q.Base, filter, 0, "cn"), page)
		switch {
		case ldap.IsErrorWithCode(err, ldap.LDAPResultNoSuchObject):
			continue
		case err != nil && says(err):
			return nil, login.Refuse(login.Broken, fmt.Errorf("the directory doesn't search %s: %w", q.Base, err))
		case err != nil:
			return nil, away("search "+q.Base, err)
		}
		for _, e := range result.Entries {
			names = append(names, e.DN)
		}
	}
	return names, nil
}

func list(texts []string) []any {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = t
	}
	return all
}
