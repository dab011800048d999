package scim_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/scim"
)

func someUser() scim.User {
	return scim.User{ID: "ada", UserName: "ada@example.com", DisplayName: "Ada", GivenName: "Ada", Email: "ada@example.com", Active: true}
}

// FuzzPatch: whatever a directory sends as a patch, it is refused or comes to a user
// and a group that are whole, which stay themselves, and it leaves what it was given.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		`{"Operations":[{"op":"Replace","path":"active","value":"False"}]}`,
		`{"Operations":[{"op":"add","path":"emails[type eq \"work\"].value","value":"x@example.com"}]}`,
		`{"Operations":[{"op":"remove","path":"members","value":[{"value":"a"}]},{"op":"remove","path":"members[value eq \"b\"]"}]}`,
		`{"Operations":[{"op":"add","value":{"name.givenName":"x","name":{"familyName":"y"},"urn:x:y":1}}]}`,
		`{"Operations":[{"op":"replace","path":"members[value eq \"b\"].display","value":null}]}`,
		`{"Operations":[{"op":"add","path":"emails[not (type eq \"x\")]","value":{"a":[{}]}}]}`,
		`{"Operations":[{"op":"add","path":"members","value":[[[]],{"value":{"value":"x"}},7,null]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := scim.ParsePatch(body)
		if err != nil {
			known(t, err)
			return
		}
		u := someUser()
		if next, err := u.Patched(p, "/x"); err != nil {
			known(t, err)
		} else if next.UserName == "" || next.Email == "" || next.DisplayName == "" {
			t.Errorf("%s makes a user of %+v", body, next)
		}
		g := scim.Group{ID: "ops", DisplayName: "Ops", Members: []string{"a", "b"}}
		next, err := g.Patched(p, "/x")
		if err != nil {
			known(t, err)
			return
		}
		if again, err := next.Patched(p, "/x"); err == nil && next.DisplayName == "" {
			t.Errorf("%s makes a group of %+v, and then %+v", body, next, again)
		}
		if len(g.Members) != 2 || g.Members[0] != "a" || g.Members[1] != "b" {
			t.Errorf("%s changes what it is given", body)
		}
	})
}

// known wants an error to be one that says what is wrong.
func known(t *testing.T, err error) {
	t.Helper()
	if scim.ProblemOf(err) == "" || err.Error() == "" {
		t.Errorf("%v has no problem of RFC 7644", err)
	}
}

// FuzzFilter: whatever is sent as a filter, it is refused or says of a user whether
// it has that one.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		`userName eq "ada@example.com"`, `emails[type eq "work" and value co "@"]`, `not (active eq true) or name.givenName pr`, `externalId eq null`, `meta.lastModified ge 7`,
		`urn:ietf:params:scim:schemas:core:2.0:User:userName sw "a"`, `members[value eq "\u0000"]`, `((((userName pr))))`,
	} {
		f.Add(seed)
	}
	o, err := json.Marshal(someUser().Object("/x"))
	if err != nil {
		f.Fatal(err)
	}
	user, err := scim.Parse(o)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		parsed, err := scim.ParseFilter(raw)
		if err != nil {
			known(t, err)
			return
		}
		other, err := scim.ParseFilter("not (" + raw + ")")
		if err == nil && strings.TrimSpace(raw) != "" && parsed.Has(user) == other.Has(user) {
			t.Errorf("%q and its opposite say the same", raw)
		}
	})
}
