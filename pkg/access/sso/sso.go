// Package sso is what is said of logging in by an identity provider: the
// provider as its document has it, groups of people whom the provider names, and
// how a user is bound to somebody there.
//
// It is pure. Who talks to a provider is pkg/login's, and what the groups come to
// pkg/access/grants'.
package sso

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
)

// The types of provider.
const (
	OIDC = "OIDC"
	SAML = "SAML"
	LDAP = "LDAP"
	// Workload is no people's: programs come with tokens of an issuer.
	Workload = "WORKLOAD"
	// Local is no provider's, but that of passwords which Slipway keeps itself.
	Local = "LOCAL"
)

// Provider is an identity provider that people log in by.
type Provider struct {
	ID   string
	Name string
	Type string // OIDC, SAML, LDAP or WORKLOAD; LOCAL has no document
	// Issuer is whose names for people those are that it tells: the issuer of
	// tokens, the identity provider of SAML or where its metadata are, or the
	// directory's address.
	Issuer   string
	ClientID string
	// Secret is that of the client, or of the directory's search user; empty:
	// there is none.
	Secret ref.Ref
	Scopes []string // besides openid
	// EmailClaim is the claim with the mail address, NameClaim that with the name
	// and GroupsClaim that with the groups.
	EmailClaim  string
	NameClaim   string
	GroupsClaim string
	Federation  Federation // of SAML
	Directory   Directory  // of LDAP
	Trust       Trust      // of a workload
	// Unverified takes addresses that the provider doesn't call verified.
	Unverified bool
	JIT        JIT
	Domains    []string // of addresses; none: any
	AMR        []string // of which a login must have one; none: it needn't
	// CLIClientID is the client that people at a terminal log in by; empty: they can't.
	CLIClientID string
}

// Passwords is the way to log in by a password that Slipway keeps.
func Passwords() Provider { return Provider{ID: "local", Name: "Password", Type: Local} }

// Actor is how the audit trail names the provider.
func (p Provider) Actor() string {
	if p.Type == Local {
		return "passwords"
	}
	return "login provider " + p.ID
}

// JIT says whether who isn't a user becomes one by logging in, and who.
type JIT struct {
	Enabled bool
	// Claim must have Value, or hold it; empty: everybody.
	Claim, Value string
}

// AllScopes are those that are asked for.
func (p Provider) AllScopes() []string {
	scopes := p.Scopes
	if len(scopes) == 0 {
		scopes = []string{"email", "profile"}
	}
	return append([]string{"openid"}, slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == "openid" })...)
}

// Takes says whether addresses of a domain may log in.
func (p Provider) Takes(mail string) bool {
	_, domain, _ := strings.Cut(mail, "@")
	return len(p.Domains) == 0 || slices.ContainsFunc(p.Domains, func(d string) bool { return strings.EqualFold(d, domain) })
}

// CheckAddress says what is wrong with an address of a provider. What others
// could read on the way, or change, is for this machine alone.
func CheckAddress(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("want an address such as https://login.example.com")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("want an address that begins with https://, by which nobody on the way can change who somebody is")
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Link says that a provider names the members of a group. Its zero value is
// that of a group that isn't linked.
type Link struct {
	Provider string
	Group    string // as the provider names it
}

// Binding is how a user is bound to somebody at a provider, and what was told of
// that one at the last login.
type Binding struct {
	User     string   `json:"user"`
	Provider string   `json:"provider"`
	Issuer   string   `json:"issuer"`
	Subject  string   `json:"subject"`
	Email    string   `json:"email"`
	Groups   []string `json:"groups"`
	// Folds says that case says nothing in the groups' names.
	Folds bool `json:"folds,omitempty"`
	// Since is when they were bound. A user or a provider that was made later is
	// another one of that name.
	Since time.Time `json:"since"`
}

// In says whether the provider has named the group.
func (b Binding) In(l Link) bool {
	return l.Provider != "" && b.Provider == l.Provider && slices.ContainsFunc(b.Groups, func(g string) bool {
		return g == l.Group || b.Folds && strings.EqualFold(g, l.Group)
	})
}

// Is says whether it is of a provider as that is now, which was made at a time.
func (b Binding) Is(p Provider, made time.Time) bool {
	return b.Provider == p.ID && b.Issuer == p.Issuer && !made.After(b.Since)
}

// Encode gives the text that is kept.
func (b Binding) Encode() ([]byte, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("encode how user %s logs in: %w", b.User, err)
	}
	return text, nil
}

// Decode reads that; what can't be read binds nobody.
func Decode(text []byte) Binding {
	var b Binding
	if json.Unmarshal(text, &b) != nil {
		return Binding{}
	}
	return b
}

// BySubject begins the identifiers under which it is kept which user somebody is
// whom a provider names. No user's begins so.
const BySubject = "="

// OfUser says whether an identifier of bindings is a user's.
func OfUser(id string) bool { return !strings.HasPrefix(id, BySubject) }

// Trust is what the document of an issuer says whose tokens programs log in by.
type Trust struct {
	Audience string // what a token must be for
	// Claims say what a token must have: by the claim's name a pattern, in which *
	// is any text.
	Claims map[string]string
	// Account is the service account as which a program acts.
	Account ref.Ref
	TTL     time.Duration // of what it gets
}
