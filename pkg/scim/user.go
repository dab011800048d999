package scim

import (
	"cmp"
	"net/mail"
	"strconv"
	"strings"
	"time"
)

// User is a user as a directory knows it.
type User struct {
	ID          string
	ExternalID  string
	UserName    string
	DisplayName string
	GivenName   string
	FamilyName  string
	Email       string
	Active      bool
	Created     time.Time
	Modified    time.Time
}

// Object is the user as it is answered.
func (u User) Object(base string) Object {
	o := Object{
		"schemas": []any{UserSchema}, "id": u.ID, "userName": u.UserName, "active": u.Active, "displayName": u.DisplayName,
		"meta": meta("User", base+"/Users/"+u.ID, u.Created, u.Modified),
	}
	set(o, "externalId", u.ExternalID)
	name := map[string]any{}
	set(name, "formatted", u.DisplayName)
	set(name, "givenName", u.GivenName)
	set(name, "familyName", u.FamilyName)
	o["name"] = name
	if u.Email != "" {
		o["emails"] = []any{map[string]any{"value": u.Email, "type": "work", "primary": true}}
	}
	return o
}

func set(o map[string]any, name, value string) {
	if value != "" {
		o[name] = value
	}
}

func meta(kind, location string, created, modified time.Time) map[string]any {
	return map[string]any{
		"resourceType": kind, "location": location,
		"created": created.UTC().Format(time.RFC3339Nano), "lastModified": modified.UTC().Format(time.RFC3339Nano),
	}
}

// UserOf reads a user whom a directory sends. What Slipway doesn't keep of it
// counts for nothing (RFC 7644, 3.3).
func UserOf(o Object) (User, error) {
	u := User{Active: true}
	name, err := object(o, "name")
	if err != nil {
		return u, err
	}
	for _, one := range []struct {
		in   map[string]any
		key  string
		into *string
	}{
		{o, "externalId", &u.ExternalID},
		{o, "userName", &u.UserName},
		{o, "displayName", &u.DisplayName},
		{name, "givenName", &u.GivenName},
		{name, "familyName", &u.FamilyName},
	} {
		if *one.into, err = text(one.in, one.key); err != nil {
			return u, err
		}
	}
	if u.UserName == "" {
		return u, Unfit("the user has no userName")
	}
	if v, there := o["active"]; there && v != nil {
		if u.Active, err = truth("active", v); err != nil {
			return u, err
		}
	}
	formatted, err := text(name, "formatted")
	if err != nil {
		return u, err
	}
	u.DisplayName = cmp.Or(u.DisplayName, formatted, u.parts(), u.UserName)
	if u.Email, err = mainAddress(o); err != nil {
		return u, err
	}
	u.Email = strings.ToLower(cmp.Or(u.Email, u.UserName))
	if !address(u.Email) {
		return u, Unfit("found %.100q as the user's mail address; want one such as ada@example.com in emails, or as userName", u.Email)
	}
	return u, nil
}

// mainAddress is the primary one of a user's mail addresses, or the one at work, or
// the first.
func mainAddress(o Object) (string, error) {
	list, err := values(o, "emails")
	if err != nil {
		return "", err
	}
	best, rank := "", 0
	for _, one := range list {
		value, err := text(one, "value")
		if err != nil {
			return "", err
		}
		at := 1
		if kind, err := text(one, "type"); err != nil {
			return "", err
		} else if strings.EqualFold(kind, "work") {
			at = 2
		}
		if v, there := one["primary"]; there && v != nil {
			primary, err := truth("primary", v)
			if err != nil {
				return "", err
			}
			if primary {
				at = 3
			}
		}
		if value != "" && at > rank {
			best, rank = value, at
		}
	}
	return best, nil
}

// text is an attribute that is a text; empty: there is none. Empty ones count as
// none (RFC 7643, 2.5).
func text(o map[string]any, name string) (string, error) {
	switch v := o[name].(type) {
	case nil:
		return "", nil
	case string:
		return strings.TrimSpace(v), nil
	}
	return "", Unfit("%s isn't a text", name)
}

// truth reads true or false, which Entra sends as a text.
func truth(name string, v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		if b, err := strconv.ParseBool(strings.ToLower(v)); err == nil && len(v) > 1 {
			return b, nil
		}
	}
	return false, Unfit("%s is neither true nor false", name)
}

// object is an attribute with others in it; empty: there is none.
func object(o map[string]any, name string) (map[string]any, error) {
	switch v := o[name].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	}
	return nil, Unfit("%s isn't an object", name)
}

// values are those of an attribute that has several: objects, or their values alone.
func values(o map[string]any, name string) ([]map[string]any, error) {
	var list []any
	switch v := o[name].(type) {
	case nil:
		return nil, nil
	case []any:
		list = v
	default:
		list = []any{v}
	}
	out := make([]map[string]any, 0, len(list))
	for _, one := range list {
		switch v := one.(type) {
		case map[string]any:
			out = append(out, v)
		case string:
			out = append(out, map[string]any{"value": v})
		default:
			return nil, Unfit("%s has a value that is neither an object nor a text", name)
		}
	}
	return out, nil
}

// Replaced is the user after all of it is said anew. Who is disabled stays so, unless it
// is said that the user is active.
func (u User) Replaced(o Object) (User, error) {
	next, err := UserOf(o)
	if o["active"] == nil {
		next.Active = u.Active
	}
	return next, err
}

// Patched is the user after a patch. What was made of other attributes goes on being
// made of them: a name for people of the parts of a name, and a mail address of the
// userName.
func (u User) Patched(p Patch, base string) (User, error) {
	o, err := p.Apply(u.Object(base))
	if err != nil {
		return u, err
	}
	next, err := UserOf(o)
	if err != nil {
		return u, err
	}
	if u.DisplayName == u.parts() && next.DisplayName == u.DisplayName && next.parts() != "" {
		next.DisplayName = next.parts()
	}
	if strings.EqualFold(u.Email, u.UserName) && next.Email == strings.ToLower(u.Email) && address(strings.ToLower(next.UserName)) {
		next.Email = strings.ToLower(next.UserName)
	}
	return next, nil
}

// parts is the name that the parts of a name come to.
func (u User) parts() string { return strings.TrimSpace(u.GivenName + " " + u.FamilyName) }

func address(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text
}
