package entity

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var (
	scopeToken = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]+$`) // RFC 6749, 3.3
	domain     = regexp.MustCompile(`^[0-9A-Za-z]([-0-9A-Za-z]*[0-9A-Za-z])?(\.[0-9A-Za-z]([-0-9A-Za-z]*[0-9A-Za-z])?)+$`)
)

// provider decodes an identity provider that people log in by.
func (d logins) provider(v yamldoc.Value, e *Entity) *sso.Provider {
	p := &sso.Provider{NameClaim: "name"}
	var typ yamldoc.Field[string]
	keys := document.Merge(roles(d).own(e), document.Keys{
		"type":           d.Supported(&typ, "an identity provider by", []string{sso.OIDC, sso.SAML, sso.LDAP, sso.Workload}, "OAUTH"),
		"jit":            func(v yamldoc.Value) { d.jit(v, &p.JIT) },
		"allowedDomains": d.words(&p.Domains, "a domain such as example.com", domain.MatchString),
	})
	switch p.Type = document.Peek(v, "type"); p.Type {
	case sso.SAML:
		d.federation(v, p, document.Merge(d.elsewhere(sso.SAML), keys))
	case sso.LDAP:
		d.directory(v, e, p, document.Merge(d.elsewhere(sso.LDAP), keys))
	case sso.Workload:
		d.workload(v, p, document.Merge(d.elsewhere(sso.Workload), keys))
	default:
		d.tokens(v, e, p, document.Merge(d.elsewhere(sso.OIDC), keys))
	}
	d.Need(v, "identifier", "name", "type")
	if e.Scope.Org != "" {
		d.Errorf(v, wrongScope, "identity providers are the account's; want no orgIdentifier, and to save it with --org ''")
	}
	p.ID, p.Name = e.Identifier.Value, e.Name.Value
	return p
}

// elsewhere are the keys that go with one of the other types alone.
func (d logins) elsewhere(own string) document.Keys {
	keys := document.Keys{}
	for typ, names := range map[string][]string{
		sso.OIDC:     {"issuer", "clientId", "clientSecretRef", "scopes", "emailClaim", "requireEmailVerified", "groupsClaim", "cliClientId"},
		sso.SAML:     {"metadata", "metadataUrl", "entityId", "emailAttribute", "nameAttribute", "groupAttribute", "signRequests", "allowIdpInitiated"},
		sso.LDAP:     {"host", "port", "useSSL", "startTLS", "allowPlain", "caCertificate", "bindDN", "bindPasswordRef", "connectTimeout", "responseTimeout", "recursiveMembershipSearch", "userQueries", "groupQueries", "syncCron"},
		sso.Workload: {"audience", "claims", "serviceAccount", "ttl"},
	} {
		if typ == own {
			continue
		}
		for _, key := range names {
			keys[key] = d.Forbid(document.MisplacedKey, "only a provider of the type "+typ+" has this")
		}
	}
	return keys
}

// tokens decodes what is the provider's that speaks OpenID Connect.
func (d logins) tokens(v yamldoc.Value, e *Entity, p *sso.Provider, keys document.Keys) {
	p.EmailClaim, p.GroupsClaim = "email", "groups"
	var secret yamldoc.Field[string]
	verified := true
	d.Fields(v, document.Merge(keys, document.Keys{
		"issuer":               d.issuer(&p.Issuer),
		"clientId":             d.said(&p.ClientID, "the client's identifier"),
		"clientSecretRef":      d.ofTheAccount(&secret),
		"scopes":               d.words(&p.Scopes, "a scope of OAuth", scopeToken.MatchString),
		"emailClaim":           d.said(&p.EmailClaim, "the name of a claim"),
		"requireEmailVerified": roles(d).settled(&verified),
		"groupsClaim":          d.said(&p.GroupsClaim, "the name of a claim"),
		"requiredAmr":          d.words(&p.AMR, "an authentication method such as mfa", says),
		"cliClientId":          d.said(&p.CLIClientID, "the identifier of the command line's client"),
	}))
	d.Need(v, "issuer", "clientId")
	if secret.Value != "" && secret.Expr == "" {
		p.Secret, _ = ref.Parse(secret.Value, e.Scope) // found wrong above
	}
	if p.CLIClientID != "" && p.CLIClientID == p.ClientID && secret.Value != "" {
		d.Errorf(document.Child(v, "cliClientId"), document.WrongValue, "found the client that has a secret; the command line keeps none, so it needs a client of its own")
	}
	p.Unverified = !verified
}

// federation decodes what is the provider's that speaks SAML.
func (d logins) federation(v yamldoc.Value, p *sso.Provider, keys document.Keys) {
	// Who signs for an address vouches for it: SAML has no word for one that is verified.
	p.EmailClaim, p.NameClaim, p.GroupsClaim, p.Unverified = sso.NameID, "displayName", "groups", true
	d.Fields(v, document.Merge(keys, document.Keys{
		"metadata": func(v yamldoc.Value) {
			f := d.Spelled(v, document.WrongValue, func(text string) error {
				m, err := sso.ReadMetadata([]byte(text))
				p.Issuer = m.EntityID
				return err
			})
			p.Federation.Metadata = f.Value
		},
		"metadataUrl": func(v yamldoc.Value) {
			p.Federation.MetadataURL = d.Spelled(v, document.WrongValue, sso.CheckAddress).Value
			p.Issuer = p.Federation.MetadataURL
		},
		"entityId":          d.said(&p.Federation.EntityID, "what the provider calls Slipway"),
		"emailAttribute":    d.said(&p.EmailClaim, "the name of an attribute"),
		"nameAttribute":     d.said(&p.NameClaim, "the name of an attribute"),
		"groupAttribute":    d.said(&p.GroupsClaim, "the name of an attribute"),
		"requiredAmr":       d.words(&p.AMR, "a class of authentication such as https://refeds.org/profile/mfa", says),
		"signRequests":      roles(d).settled(&p.Federation.Signs),
		"allowIdpInitiated": roles(d).settled(&p.Federation.Unasked),
		"logoutUrl":         d.Never("logging out at the provider isn't supported: its session stays, and Slipway's ends"),
	}))
	d.OneOf(v, "metadata", "metadataUrl")
}

// ofTheAccount decodes the reference of a secret of the account.
func (d logins) ofTheAccount(into *yamldoc.Field[string]) document.Rule {
	return func(v yamldoc.Value) {
		d.Reference(ref.Secret, into)(v)
		d.Plain(v, into.Expr, "a secret of the account")
	}
}

func says(s string) bool { return strings.TrimSpace(s) != "" }

// issuer decodes the address of a provider.
func (d logins) issuer(into *string) document.Rule {
	return func(v yamldoc.Value) {
		f := d.Spelled(v, document.WrongValue, func(text string) error {
			if u, err := url.Parse(text); err == nil && u.RawQuery != "" {
				return sso.CheckAddress("") // an issuer has no query
			}
			return sso.CheckAddress(text)
		})
		*into = f.Value
	}
}

// said decodes a text that isn't empty.
func (d logins) said(into *string, want string) document.Rule {
	return func(v yamldoc.Value) {
		f := d.String(v)
		if d.Plain(v, f.Expr, want); f.Expr == "" && strings.TrimSpace(f.Value) == "" {
			d.Errorf(v, document.WrongValue, "found an empty text; want %s", want)
			return
		}
		*into = f.Value
	}
}

// words decodes a list of texts, each of which must be right.
func (d logins) words(into *[]string, want string, right func(string) bool) document.Rule {
	return func(v yamldoc.Value) {
		for item := range d.Items(v) {
			f := d.String(item)
			if d.Plain(item, f.Expr, want); f.Expr == "" && !right(f.Value) {
				d.Errorf(item, document.WrongValue, "found %q; want %s", yamldoc.Shorten(f.Value), want)
				continue
			}
			*into = append(*into, f.Value)
		}
	}
}

// jit decodes who becomes a user by logging in.
func (d logins) jit(v yamldoc.Value, into *sso.JIT) {
	d.Fields(v, document.Keys{
		"enabled":    roles(d).settled(&into.Enabled),
		"claimKey":   d.said(&into.Claim, "the name of a claim"),
		"claimValue": d.said(&into.Value, "the value of that claim"),
	})
	d.Need(v, "enabled")
	if (into.Claim == "") != (into.Value == "") {
		d.Errorf(v, document.MissingKey, "found one of claimKey and claimValue; want both, or none for everybody")
	}
}
