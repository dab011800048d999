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
	if searchPassword == "" {
		return login.Claims{}, login.Refuse(login.Broken, errors.New("the search user has no password"))
	}
	conn, err := c.dial(p.Directory)
	if err != nil {
		return login.Claims{}, away("reach "+p.Directory.Address(), err)
	}
	defer conn.Close()
	// The library knows no context: whoever goes away has the connection closed.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	s := session{conn, p.Directory, searchPassword}
	if err := s.search(); err != nil {
		return login.Claims{}, err
	}
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
	groups := entry.GetEqualFoldAttributeValues(query.Groups)
	if len(p.Directory.Groups) > 0 {
		if err := s.search(); err != nil {
			return login.Claims{}, err
		}
		if groups, err = s.groups(entry.DN, groups); err != nil {
			return login.Claims{}, err
		}
	}
	claims.All["groups"] = list(groups)
	return claims, nil
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
	var found *ldap.Entry
	var by sso.UserQuery
	for _, q := range s.at.Users {
		filter := "(&" + q.Filter + "(" + q.Email + "=" + ldap.EscapeFilter(user) + "))"
		result, err := s.conn.Search(s.request(q.Base, filter, 2, append(lasting(), q.Email, q.Name, q.Groups)...))
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
