package scim

import (
	"slices"
	"strings"
)

// Place is the account that a request is about, as its path says.
type Place struct {
	Account string `path:"account" maxLength:"128" doc:"The account, which is the token's"`
}

// One is a resource of an account.
type One struct {
	Place
	ID string `path:"id" maxLength:"128" doc:"The identifier of the user, the group or the description"`
}

// Search is what a list is asked for by.
type Search struct {
	Filter string `query:"filter" maxLength:"2048" doc:"As RFC 7644 has it, e.g. userName eq \"ada@example.com\""`
	Start  int    `query:"startIndex" default:"1" doc:"The first that is wanted, which counts from 1"`
	Count  int    `query:"count" default:"100" doc:"At most so many; over 200 means 200"`
}

// Fields say which attributes are answered.
type Fields struct {
	Some    string `query:"attributes" maxLength:"2048" doc:"Of the resource only these, separated by commas"`
	Without string `query:"excludedAttributes" maxLength:"2048" doc:"All of the resource but these, e.g. members"`
}

// Only gives the attributes of a resource that are asked for (RFC 7644, 3.9). What
// tells the resource from others is always given.
func (f Fields) Only(o Object) Object {
	wanted, unwanted := names(f.Some), names(f.Without)
	if len(wanted) == 0 && len(unwanted) == 0 {
		return o
	}
	out := Object{}
	for name, v := range o {
		always := name == "id" || name == "schemas"
		if always || len(wanted) > 0 && slices.Contains(wanted, name) || len(wanted) == 0 && !slices.Contains(unwanted, name) {
			out[name] = v
		}
	}
	return out
}

// names reads a list of attributes. Of one within another the other is meant where
// it is wanted, and none where it isn't.
func names(list string) []string {
	var out []string
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		for _, schema := range []string{UserSchema, GroupSchema} {
			if len(one) > len(schema) && strings.EqualFold(one[:len(schema)], schema) {
				one = one[len(schema)+1:]
			}
		}
		if name, _, _ := strings.Cut(one, "."); name != "" {
			out = append(out, spelling(name))
		}
	}
	return out
}
