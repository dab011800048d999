package scim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/scim"
)

// TestFiltersSayWhoIsMeant: each operator, and how they are put together.
func TestFiltersSayWhoIsMeant(t *testing.T) {
	t.Parallel()
	o := scim.User{ID: "ada", ExternalID: "X1", UserName: "Ada@example.com", DisplayName: "Ada L", GivenName: "Ada", Email: "ada@example.com", Active: true}.Object("/x")
	for filter, want := range map[string]bool{
		"":                                                       true,
		`userName eq "ADA@example.com"`:                          true,
		`USERNAME Eq "ada@example.com"`:                          true,
		`userName eq "bo@example.com"`:                           false,
		`userName ne "ada@example.com"`:                          false,
		`externalId eq "x1"`:                                     false,
		`externalId eq "X1"`:                                     true,
		`userName sw "ada"`:                                      true,
		`userName ew ".com"`:                                     true,
		`userName co "@"`:                                        true,
		`userName gt "ad"`:                                       true,
		`userName lt "ad"`:                                       false,
		`active eq true`:                                         true,
		`active eq "True"`:                                       true,
		`active eq false`:                                        false,
		`name.givenName pr`:                                      true,
		`name.familyName pr`:                                     false,
		`name.familyName eq null`:                                true,
		`nickName pr`:                                            false,
		`emails eq "ada@example.com"`:                            true,
		`emails.value co "example"`:                              true,
		`emails[type eq "work" and primary eq true]`:             true,
		`emails[type eq "home"]`:                                 false,
		`not (emails[type eq "home"]) and (userName pr)`:         true,
		`userName eq "x" or userName eq "ada@example.com"`:       true,
		`userName eq "x" and userName eq "ada@example.com"`:      false,
		scim.UserSchema + `:userName eq "ada@example.com"`:       true,
		`userName eq "x\" or userName pr or userName eq \"y"`:    false,
		`id eq "ada" and meta.resourceType eq "User"`:            true,
		`externalId eq 7`:                                        false,
		`userName eq "ada@example.com" and (active eq "false")`:  false,
		`userName eq "ada@example.com" or (active eq "neither")`: true,
	} {
		f, err := scim.ParseFilter(filter)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		if got := f.Has(o); got != want {
			t.Errorf("%s is %t; want %t", filter, got, want)
		}
	}
}

// TestPatchesChangeUsers: what each operation comes to.
func TestPatchesChangeUsers(t *testing.T) {
	t.Parallel()
	ada := scim.User{ID: "ada", ExternalID: "X1", UserName: "ada@example.com", DisplayName: "Ada Byron", GivenName: "Ada", FamilyName: "Byron", Email: "ada@example.com", Active: true}
	for operations, change := range map[string]func(*scim.User){
		`{"op":"replace","path":"active","value":false}`:                                                 func(u *scim.User) { u.Active = false },
		`{"op":"Add","path":"active","value":"FALSE"}`:                                                   func(u *scim.User) { u.Active = false },
		`{"op":"replace","value":{"Active":"False"}}`:                                                    func(u *scim.User) { u.Active = false },
		`{"op":"remove","path":"externalId"}`:                                                            func(u *scim.User) { u.ExternalID = "" },
		`{"op":"replace","path":"displayName","value":"A"}`:                                              func(u *scim.User) { u.DisplayName = "A" },
		`{"op":"replace","path":"name.familyName","value":"L"}`:                                          func(u *scim.User) { u.FamilyName, u.DisplayName = "L", "Ada L" },
		`{"op":"replace","path":"name","value":{"familyName":"L"}}`:                                      func(u *scim.User) { u.FamilyName, u.DisplayName = "L", "Ada L" },
		`{"op":"add","path":"` + scim.UserSchema + `:name.givenName","value":"B"}`:                       func(u *scim.User) { u.GivenName, u.DisplayName = "B", "B Byron" },
		`{"op":"replace","path":"userName","value":"Bo@example.com"}`:                                    func(u *scim.User) { u.UserName, u.Email = "Bo@example.com", "bo@example.com" },
		`{"op":"replace","path":"userName","value":"ada"}`:                                               func(u *scim.User) { u.UserName = "ada" },
		`{"op":"replace","path":"emails[type eq \"work\"].value","value":"bo@example.com"}`:              func(u *scim.User) { u.Email = "bo@example.com" },
		`{"op":"replace","path":"emails.value","value":"bo@example.com"}`:                                func(u *scim.User) { u.Email = "bo@example.com" },
		`{"op":"replace","path":"emails","value":[{"value":"bo@example.com"}]}`:                          func(u *scim.User) { u.Email = "bo@example.com" },
		`{"op":"add","path":"emails[type eq \"home\"].value","value":"bo@example.com"}`:                  func(*scim.User) {},
		`{"op":"add","path":"emails","value":[{"value":"bo@example.com","type":"home"}]}`:                func(*scim.User) {},
		`{"op":"replace","path":"id","value":"root"}`:                                                    func(*scim.User) {},
		`{"op":"replace","path":"title","value":"Dr"}`:                                                   func(*scim.User) {},
		`{"op":"add","path":"urn:x:2.0:User:department","value":"IT"}`:                                   func(*scim.User) {},
		`{"op":"remove","path":"externalId"},{"op":"add","path":"externalId","value":"X2"}`:              func(u *scim.User) { u.ExternalID = "X2" },
		`{"op":"replace","path":"emails[primary eq true]","value":{"value":"bo@example.com"}}`:           func(u *scim.User) { u.Email = "bo@example.com" },
		`{"op":"replace","value":{"name":{"givenName":"B"},"name.familyName":"L","displayName":"Both"}}`: func(u *scim.User) { u.GivenName, u.FamilyName, u.DisplayName = "B", "L", "Both" },
	} {
		p, err := scim.ParsePatch([]byte(`{"Operations":[` + operations + `]}`))
		if err != nil {
			t.Errorf("%s: %v", operations, err)
			continue
		}
		want := ada
		change(&want)
		got, err := ada.Patched(p, "/x")
		got.ID = want.ID // which is the caller's to keep
		if err != nil || got != want {
			t.Errorf("%s comes to\n%+v, %v; want\n%+v", operations, got, err, want)
		}
	}
}

// TestPatchesChangeMembers: by filters, by arrays and by bare values, each of which
// twice is once.
func TestPatchesChangeMembers(t *testing.T) {
	t.Parallel()
	for operations, want := range map[string]string{
		`{"op":"add","path":"members","value":[{"value":"c"},{"value":"c"}]}`:                              "a b c",
		`{"op":"add","path":"members","value":{"value":"c"}}`:                                              "a b c",
		`{"op":"add","path":"members","value":"c"}`:                                                        "a b c",
		`{"op":"add","value":{"members":[{"value":"c"}]}}`:                                                 "a b c",
		`{"op":"remove","path":"members[value eq \"a\"]"}`:                                                 "b",
		`{"op":"remove","path":"members[value eq \"a\" or value eq \"b\"]"}`:                               "",
		`{"op":"Remove","path":"members","value":[{"value":"a"},{"value":"z"}]}`:                           "b",
		`{"op":"remove","path":"members","value":"a"}`:                                                     "b",
		`{"op":"remove","path":"members[value eq \"z\"]"}`:                                                 "a b",
		`{"op":"remove","path":"members"}`:                                                                 "",
		`{"op":"replace","path":"members","value":[{"value":"d"}]}`:                                        "d",
		`{"op":"replace","value":{"members":[{"value":"d"}]}}`:                                             "d",
		`{"op":"replace","path":"members","value":[]}`:                                                     "",
		`{"op":"add","path":"members[value eq \"c\"]","value":{"display":"C"}}`:                            "a b c",
		`{"op":"remove","path":"members[value eq \"a\"]"},{"op":"add","path":"members","value":["a","e"]}`: "a b e",
	} {
		g := scim.Group{ID: "ops", DisplayName: "Ops", Members: []string{"a", "b"}}
		p, err := scim.ParsePatch([]byte(`{"Operations":[` + operations + `]}`))
		if err != nil {
			t.Errorf("%s: %v", operations, err)
			continue
		}
		for range 2 {
			if g, err = g.Patched(p, "/x"); err != nil || strings.Join(g.Members, " ") != want {
				t.Errorf("%s comes to %v, %v; want %s", operations, g.Members, err, want)
			}
		}
	}
}

// TestLargeGroupsArePatchedInTime: a thousand changes of ten thousand members.
func TestLargeGroupsArePatchedInTime(t *testing.T) {
	t.Parallel()
	g := scim.Group{ID: "ops", DisplayName: "Ops"}
	for i := range 10_000 {
		g.Members = append(g.Members, fmt.Sprintf("user_%05d_example_com", i))
	}
	operations := make([]string, 1000)
	for i := range operations {
		operations[i] = fmt.Sprintf(`{"op":"remove","path":"members[value eq \"user_%05d_example_com\"]"}`, i)
	}
	p, err := scim.ParsePatch([]byte(`{"Operations":[` + strings.Join(operations, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if g, err = g.Patched(p, "/x"); err != nil || len(g.Members) != 9000 || slices.Contains(g.Members, "user_00999_example_com") {
		t.Errorf("%d members, %v", len(g.Members), err)
	}
}
