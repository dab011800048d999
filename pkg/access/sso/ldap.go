package sso

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"time"
)

// Directory is what the document of a provider that is an LDAP directory says
// besides.
type Directory struct {
	Host string
	Port int
	// TLS is from the first byte on, StartTLS after a plain one; neither: all is
	// plain.
	TLS, StartTLS bool
	// CA is who signs the directory's certificate, as PEM; empty: whom the machine
	// trusts.
	CA string
	// BindDN is who searches; the provider's Secret is its password.
	BindDN string
	// Connect bounds a connection, Respond each answer.
	Connect, Respond time.Duration
	// Recursive has groups of groups count too.
	Recursive bool
	// Sync is the schedule by which it is asked about its people between logins.
	Sync   string
	Users  []UserQuery
	Groups []GroupQuery
}

// UserQuery is where people are found.
type UserQuery struct {
	Base, Filter string
	// Email, Name and Groups are the attributes with the mail address, which people
	// log in by, with the name, and with the groups.
	Email, Name, Groups string
}

// GroupQuery is where groups are found that name their members.
type GroupQuery struct{ Base, Filter string }

// Address is where the directory is.
func (d Directory) Address() string {
	scheme := "ldap://"
	if d.TLS {
		scheme = "ldaps://"
	}
	return scheme + net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
}

// Near says whether the directory is on this machine.
func (d Directory) Near() bool { return loopback(d.Host) }

// CheckFilter says what is wrong with a filter (RFC 4515): it must be one, so that
// it stays one beside others.
func CheckFilter(text string) error {
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(text)-1 {
			return errors.New("want one filter in parentheses, such as (objectClass=person)")
		}
	}
	if depth != 0 || !strings.Contains(text, "=") {
		return errors.New("want one filter in parentheses, such as (objectClass=person)")
	}
	return nil
}

// CheckDN says what is wrong with the name of an entry.
func CheckDN(text string) error {
	if !strings.Contains(text, "=") {
		return errors.New("want the name of an entry, such as ou=people,dc=example,dc=com")
	}
	return nil
}
