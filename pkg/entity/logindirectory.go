package entity

import (
	"crypto/x509"
	"errors"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/trigger/cron"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// directory decodes what is the provider's that is an LDAP directory.
func (d logins) directory(v yamldoc.Value, e *Entity, p *sso.Provider, keys document.Keys) {
	// Who keeps the directory vouches for what is in it.
	p.EmailClaim, p.NameClaim, p.GroupsClaim, p.Unverified = "mail", "name", "groups", true
	at := &p.Directory
	at.Connect, at.Respond = 5*time.Second, 5*time.Second
	var secret yamldoc.Field[string]
	var port yamldoc.Field[int]
	plain := false
	d.Fields(v, document.Merge(keys, document.Keys{
		"requiredAmr": d.Never("a directory says nothing of second factors"),
		"host": func(v yamldoc.Value) {
			at.Host = d.Spelled(v, document.WrongValue, func(text string) error {
				if text == "" || strings.ContainsAny(text, "/@ ") {
					return errors.New("want a host such as ldap.example.com")
				}
				return nil
			}).Value
		},
		"port": func(v yamldoc.Value) {
			port = d.Int(v)
			if d.Plain(v, port.Expr, "a port such as 636"); port.Expr == "" && port.Set && (port.Value < 1 || port.Value > 65535) {
				d.Errorf(v, document.WrongValue, "found %d; want a port such as 636", port.Value)
			}
		},
		"useSSL":                    roles(d).settled(&at.TLS),
		"startTLS":                  roles(d).settled(&at.StartTLS),
		"allowPlain":                roles(d).settled(&plain),
		"caCertificate":             d.authority(&at.CA),
		"bindDN":                    d.entry(&at.BindDN),
		"bindPasswordRef":           d.ofTheAccount(&secret),
		"connectTimeout":            roles(d).lasting(&at.Connect, time.Second, 30*time.Second),
		"responseTimeout":           roles(d).lasting(&at.Respond, time.Second, 30*time.Second),
		"recursiveMembershipSearch": roles(d).settled(&at.Recursive),
		"userQueries": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				at.Users = append(at.Users, d.userQuery(item))
			}
		},
		"groupQueries": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				at.Groups = append(at.Groups, d.groupQuery(item))
			}
		},
		"maxReferralHops": d.Refuse("following a directory's referrals isn't supported"),
		"syncCron": func(v yamldoc.Value) {
			at.Sync = d.Spelled(v, document.WrongValue, func(text string) error {
				_, err := cron.ParseAny(text)
				return err
			}).Value
		},
	}))
	d.Need(v, "host", "bindDN", "bindPasswordRef", "userQueries")
	if at.Port = port.Value; at.Port == 0 {
		if at.Port = 389; at.TLS {
			at.Port = 636
		}
	}
	if secret.Value != "" && secret.Expr == "" {
		p.Secret, _ = ref.Parse(secret.Value, e.Scope) // found wrong above
	}
	switch {
	case at.TLS && at.StartTLS:
		d.Errorf(document.Child(v, "startTLS"), document.Ambiguous, "useSSL and startTLS exclude each other")
	case !at.TLS && !at.StartTLS && !plain && at.Host != "" && !at.Near():
		d.Errorf(v, document.MissingKey, "passwords would go to the directory as everybody on the way can read them; want useSSL: true or startTLS: true, or allowPlain: true if the way is safe")
	case at.Recursive && len(at.Groups) == 0:
		d.Errorf(document.Child(v, "recursiveMembershipSearch"), document.MissingKey, "groups of groups are found by groupQueries; want one")
	}
	if at.Sync == "" {
		at.Sync = "0 * * * *"
	}
	p.Issuer = at.Address()
}

// userQuery decodes where people are found.
func (d logins) userQuery(v yamldoc.Value) sso.UserQuery {
	q := sso.UserQuery{Filter: "(objectClass=person)", Email: "mail", Name: "cn", Groups: "memberOf"}
	d.Fields(v, document.Keys{
		"baseDN":              d.entry(&q.Base),
		"searchFilter":        d.filter(&q.Filter),
		"emailAttr":           d.attributeName(&q.Email),
		"nameAttr":            d.attributeName(&q.Name),
		"groupMembershipAttr": d.attributeName(&q.Groups),
	})
	d.Need(v, "baseDN")
	return q
}

// groupQuery decodes where groups are found.
func (d logins) groupQuery(v yamldoc.Value) sso.GroupQuery {
	q := sso.GroupQuery{Filter: "(objectClass=groupOfNames)"}
	const named = "groups are known by their whole names (DN), so that no other of the same short name counts as one"
	d.Fields(v, document.Keys{
		"baseDN":          d.entry(&q.Base),
		"searchFilter":    d.filter(&q.Filter),
		"nameAttr":        d.Never(named),
		"descriptionAttr": d.Never(named),
	})
	d.Need(v, "baseDN")
	return q
}

func (d logins) entry(into *string) document.Rule {
	return func(v yamldoc.Value) { *into = d.Spelled(v, document.WrongValue, sso.CheckDN).Value }
}

func (d logins) filter(into *string) document.Rule {
	return func(v yamldoc.Value) { *into = d.Spelled(v, document.WrongValue, sso.CheckFilter).Value }
}

// attributeName decodes the name of an attribute.
func (d logins) attributeName(into *string) document.Rule {
	return func(v yamldoc.Value) {
		*into = d.Spelled(v, document.WrongValue, func(text string) error {
			if text == "" || strings.ContainsFunc(text, func(c rune) bool {
				return c != '-' && c != ';' && c != '.' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
			}) {
				return errors.New("want the name of an attribute such as mail")
			}
			return nil
		}).Value
	}
}

// authority decodes the certificates of who signs others.
func (d logins) authority(into *string) document.Rule {
	return func(v yamldoc.Value) {
		*into = d.Spelled(v, document.WrongValue, func(text string) error {
			if !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
				return errors.New("want a certificate as PEM, which begins with -----BEGIN CERTIFICATE-----")
			}
			return nil
		}).Value
	}
}
