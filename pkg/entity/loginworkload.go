package entity

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// maxWorkload is how long a program acts by one token at most.
const maxWorkload = time.Hour

// workload decodes what is of an issuer whose tokens programs log in by.
func (d logins) workload(v yamldoc.Value, p *sso.Provider, keys document.Keys) {
	t := &p.Trust
	t.TTL = 15 * time.Minute
	people := d.Forbid(document.MisplacedKey, "a provider of the type "+sso.Workload+" logs in programs, and no people")
	d.Fields(v, document.Merge(keys, document.Keys{
		"issuer":         d.issuer(&p.Issuer),
		"audience":       d.said(&t.Audience, "what the tokens are for, such as https://slipway.example.com"),
		"claims":         func(v yamldoc.Value) { t.Claims = d.patterns(v) },
		"serviceAccount": func(v yamldoc.Value) { t.Account = d.account(v) },
		"ttl":            roles(d).lasting(&t.TTL, time.Minute, maxWorkload),
		"jit":            people, "allowedDomains": people, "requiredAmr": people,
	}))
	d.Need(v, "issuer", "audience", "claims", "serviceAccount")
}

// patterns decodes what the claims of a token must be like.
func (d logins) patterns(v yamldoc.Value) map[string]string {
	f := d.StringMap(v)
	d.Plain(v, f.Expr, "claims by their names")
	for _, name := range slices.Sorted(maps.Keys(f.Value)) {
		err := sso.CheckPattern(f.Value[name])
		if strings.Contains(f.Value[name], "<+") {
			err = errors.New("want a text without expressions")
		}
		if err != nil {
			d.Errorf(document.Child(v, name), document.WrongValue, "found %q; %s", yamldoc.Shorten(f.Value[name]), err)
		}
	}
	if f.Expr == "" && len(f.Value) == 0 && v.Is(yamldoc.Mapping) {
		d.Errorf(v, document.MissingKey, "found no claim: whoever has a token of the issuer would come in; want one such as sub")
	}
	return f.Value
}

// account decodes the service account as which a program acts, wherever it lives.
func (d logins) account(v yamldoc.Value) ref.Ref {
	r := ref.Ref{Scope: ref.Scope{Account: d.Scope.Account}}
	part := func(into *string, check func(string) error) document.Rule {
		return func(v yamldoc.Value) { *into = d.Spelled(v, document.BadReference, check).Value }
	}
	d.Fields(v, document.Keys{
		"identifier":        part(&r.ID, func(id string) error { return ref.CheckID(ref.ServiceAccount, id) }),
		"orgIdentifier":     part(&r.Scope.Org, ref.CheckOrg),
		"projectIdentifier": part(&r.Scope.Project, ref.CheckProject),
	})
	d.Need(v, "identifier")
	switch {
	case r.Scope.Project != "" && r.Scope.Org == "":
		d.Errorf(v, document.MissingKey, "found a projectIdentifier; want its orgIdentifier, too")
	case r.ID != "":
		roles(d).names(document.Child(v, "identifier"), ref.ServiceAccount, r)
	}
	return r
}
