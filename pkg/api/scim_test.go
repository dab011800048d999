package api_test

import (
	"testing"
)

// TestADirectoryProvisionsUsers: a user is made, found, and disabled.
func TestADirectoryProvisionsUsers(t *testing.T) {
	t.Parallel()
	l := people(t, "")
	a := l.ask("POST", "/scim/v2/default/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"bo@example.com","externalId":"x1","name":{"givenName":"Bo","familyName":"Ek"}}`)
	t.Logf("%d %v %s", a.status, a.header, a.body)
	a = l.ask("GET", `/scim/v2/default/Users?filter=userName+eq+%22bo@example.com%22`, "")
	t.Logf("%d %v %s", a.status, a.header, a.body)
	a = l.ask("PATCH", "/scim/v2/default/Users/bo_example_com", `{"Operations":[{"op":"Replace","path":"active","value":"False"}]}`)
	t.Logf("%d %v %s", a.status, a.header, a.body)
	a = l.ask("GET", `/gateway/ng/api/scim/account/default/Users/bo_example_com`, "")
	t.Logf("%d %v %s", a.status, a.header, a.body)
}
