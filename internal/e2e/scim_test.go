package e2e_test

import (
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// A directory makes a user and a group, changes them, and ends both, on one machine
// and on AWS alike. What it does is in the audit trail, which is asked for by time.
func TestADirectoryProvisions(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) *e2e.Server{
		"one machine": func(t *testing.T) *e2e.Server { t.Helper(); return e2e.Start(t, wire.ServeConfig{}) },
		"AWS":         func(t *testing.T) *e2e.Server { t.Helper(); return e2e.StartAWS(t).Server },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			call := func(method, path string, in, out any) {
				t.Helper()
				if err := s.Call(t.Context(), method, path, in, out); err != nil {
					t.Fatalf("%s %s: %v", method, path, err)
				}
			}
			type object = map[string]any
			const users, groups = "/scim/v2/default/Users", "/gateway/ng/api/scim/account/default/Groups"
			call("POST", users, object{"userName": "bo@example.com"}, nil)
			var found struct{ TotalResults int }
			call("GET", users+"?filter=userName+eq+%22BO@example.com%22", nil, &found)
			if found.TotalResults != 1 {
				t.Errorf("%d users were found", found.TotalResults)
			}
			call("POST", groups, object{"displayName": "Ops", "members": []object{{"value": "bo_example_com"}}}, nil)
			off := object{"Operations": []object{{"op": "Replace", "path": "active", "value": "False"}}}
			var user struct{ Active bool }
			call("PATCH", users+"/bo_example_com", off, &user)
			if user.Active {
				t.Error("the user is active")
			}
			call("PATCH", groups+"/Ops", object{"Operations": []object{{"op": "remove", "path": `members[value eq "bo_example_com"]`}}}, nil)
			call("PUT", groups+"/Ops", object{"displayName": "Ops", "members": []object{{"value": "bo_example_com"}}}, nil)
			call("DELETE", users+"/bo_example_com", nil, nil)
			var group struct{ Members []any }
			call("GET", groups+"/Ops", nil, &group)
			if len(group.Members) > 0 {
				t.Errorf("the group has %v", group.Members)
			}
			call("DELETE", groups+"/Ops", nil, nil)
			wantRefused(t, s.Call(t.Context(), "GET", users+"/bo_example_com", nil, nil), "404")
			for query, want := range map[string]int{"from=2020-01-01": 4, "to=2020-01-01": 0} {
				var trail struct{ Records []struct{ Action string } }
				account := *s
				account.Org, account.Project = "", ""
				if err := account.Call(t.Context(), "GET", "/v1/audit?newest=true&kind=userGroup&id=Ops&"+query, nil, &trail); err != nil {
					t.Fatal(err)
				}
				if got := len(trail.Records); got < want || want == 0 && got > 0 {
					t.Errorf("%s gives %v; want %d at least", query, trail.Records, want)
				}
			}
		})
	}
}
