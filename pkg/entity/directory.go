package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// maxSaid is how long a text of a directory may be, in bytes.
const maxSaid = 512

// directory are the keys of a user or a group that a directory provisions. Who
// may write them is pkg/catalog's to say.
func (d roles) directory(v yamldoc.Value, into *sso.Provisioned, user bool) document.Keys {
	said := document.Keys{
		"externalId":  d.saidOf(&into.ExternalID),
		"displayName": d.saidOf(&into.DisplayName),
	}
	if user {
		said["userName"] = d.saidOf(&into.UserName)
		said["givenName"] = d.saidOf(&into.GivenName)
		said["familyName"] = d.saidOf(&into.FamilyName)
	}
	return document.Keys{
		"externallyManaged": d.settled(&into.Managed),
		"scim": func(at yamldoc.Value) {
			if d.Fields(at, said); document.Peek(v, "externallyManaged") != "true" {
				d.Errorf(at, document.WrongValue, "nothing says that a directory manages it, so that this would count for nothing; want externallyManaged: true with it")
			}
		},
	}
}

// saidOf decodes a text as a directory says it: any, which nothing is made of.
func (d roles) saidOf(into *string) document.Rule {
	return func(v yamldoc.Value) {
		f := d.String(v)
		d.Plain(v, f.Expr, "a text")
		switch {
		case f.Set && f.Expr == "" && strings.TrimSpace(f.Value) == "":
			d.Errorf(v, document.WrongValue, "found an empty text; want one, or no key")
		case len(f.Value) > maxSaid:
			d.Errorf(v, document.WrongValue, "found a text of %d bytes; want %d at most", len(f.Value), maxSaid)
		}
		*into = f.Value
	}
}
