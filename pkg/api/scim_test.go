package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// directory is a server with what a directory has there: a service account that may
// do with users and groups what it likes, and nothing else.
type provisioner struct {
	*lobby
	key string // its token
}

const rightsOfSCIM = "serviceAccount: {identifier: scim, name: SCIM}\n---\n" +
	"role: {identifier: scim, name: SCIM, permissions: [core_user_view, core_user_invite, core_user_manage, core_usergroup_view, core_usergroup_manage, core_authsetting_edit]}\n---\n" +
	"roleAssignment: {identifier: scim, roleIdentifier: scim, resourceGroupIdentifier: _all_account_level_resources, principal: {type: SERVICE_ACCOUNT, identifier: scim}}"

func newDirectory(t *testing.T) *provisioner {
	t.Helper()
	d := &provisioner{lobby: people(t, "")}
	for doc := range strings.SplitSeq(rightsOfSCIM, "---\n") {
		d.put("", doc)
	}
	account := ref.Scope{Account: "default"}
	d.key = d.mint(access.Grant{
		Kind: store.TokenUser, Scope: account, Name: "scim", Actor: "service account default/scim", Principal: store.EntityKey{Scope: account, Kind: ref.ServiceAccount, ID: "scim"},
	})
	return d
}

// scim is a request of the directory.
func (d *provisioner) scim(method, path, body string) answer {
	d.t.Helper()
	return d.ask(method, "/scim/v2/default"+path, body, "Authorization", "Bearer "+d.key, "Content-Type", "application/scim+json")
}

// scimError is the body of an error.
type scimError struct {
	Schemas                  []string
	Status, ScimType, Detail string
}

// refused checks an error and gives it.
func (a answer) refused(status int, scimType string) scimError {
	a.t.Helper()
	var p scimError
	a.want(status, &p)
	if p.Status != fmt.Sprint(status) || p.ScimType != scimType || p.Detail == "" {
		a.t.Errorf("the error is %+v; want the status %d and the type %q", p, status, scimType)
	}
	if got := a.header.Get("Content-Type"); got != "application/scim+json" {
		a.t.Errorf("the type of the error is %q", got)
	}
	return p
}

// version is how often a document was written.
func (d *provisioner) version(kind ref.Kind, id string) int64 {
	d.t.Helper()
	saved, err := d.store.Entity(d.t.Context(), store.EntityKey{Scope: ref.Scope{Account: "default"}, Kind: kind, ID: id})
	if err != nil {
		d.t.Fatal(err)
	}
	return saved.Version
}

// TestRecordedDirectories: what Okta, Entra and the standard show of requests gets
// the answers that are kept.
func TestRecordedDirectories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scim/*.txt")
	if err != nil || len(files) != 3 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := d.replay(string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("the answers differ; see what go test ./pkg/api -run TestRecordedDirectories -update changes. They are\n%s", got)
			}
		})
	}
}

// replay sends the requests of a file, each a second after the other, and gives the
// file with the answers.
func (d *provisioner) replay(text string) string {
	d.t.Helper()
	d.now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	d.key = d.mint(access.Grant{
		Kind: store.TokenUser, Scope: ref.Scope{Account: "default"}, Name: "scim", Actor: "scim", ExpiresAt: d.now.Add(time.Hour),
		Principal: store.EntityKey{Scope: ref.Scope{Account: "default"}, Kind: ref.ServiceAccount, ID: "scim"},
	})
	var out strings.Builder
	for _, block := range strings.Split(text, "\n> ") {
		first := out.Len() == 0
		if first {
			out.WriteString(block)
			continue
		}
		asked, notes := cutNotes(block)
		request, _, _ := strings.Cut(asked, "\n< ")
		line, body, _ := strings.Cut(request, "\n")
		method, path, _ := strings.Cut(line, " ")
		d.now = d.now.Add(time.Second)
		a := d.scim(method, path, body)
		fmt.Fprintf(&out, "\n> %s\n< %d", strings.TrimSpace(request), a.status)
		if to := a.header.Get("Location"); to != "" {
			fmt.Fprintf(&out, " %s", to)
		}
		out.WriteString("\n")
		if len(a.body) > 0 {
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, bytes.TrimSpace(a.body), "", "  "); err != nil {
				d.t.Fatalf("%s: %v", a.body, err)
			}
			out.WriteString(pretty.String() + "\n")
		}
		out.WriteString(notes)
	}
	return out.String()
}

// cutNotes takes the comments off that stand behind an answer: they are about the
// next request.
func cutNotes(block string) (string, string) {
	if i := strings.Index(block, "\n# "); i >= 0 {
		return block[:i], block[i:]
	}
	return block, ""
}

// TestADirectoryProvisionsUsers: a user is made, found by the name, disabled and made
// active again; whoever is disabled has no token and no session any more.
func TestADirectoryProvisionsUsers(t *testing.T) {
	t.Parallel()
	for _, off := range []string{
		`{"Operations":[{"op":"replace","path":"active","value":false}]}`,
		`{"Operations":[{"op":"Replace","path":"active","value":"False"}]}`,
		`{"Operations":[{"op":"replace","value":{"active":false}}]}`,
	} {
		t.Run(off, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t)
			d.scim("POST", "/Users", `{"userName":"bo@example.com","name":{"givenName":"Bo","familyName":"Ek"}}`).want(201, nil)
			for _, filter := range []string{"userName+eq+%22BO%40example.com%22", "emails.value+eq+%22bo%40example.com%22", "emails+eq+%22bo%40example.com%22"} {
				if found := d.found("/Users?filter=" + filter); len(found) != 1 || found[0] != "bo_example_com" {
					t.Errorf("%s finds %v", filter, found)
				}
			}
			user := store.EntityKey{Scope: ref.Scope{Account: "default"}, Kind: ref.User, ID: "bo_example_com"}
			token := d.mint(access.Grant{Kind: store.TokenUser, Scope: user.Scope, Name: "bo", Actor: "bo", Principal: user})
			as := func() answer { return d.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+token) }
			as().want(200, nil)
			d.scim("PATCH", "/Users/bo_example_com", off).want(200, nil)
			as().want(401, nil)
			d.scim("PATCH", "/Users/bo_example_com", `{"Operations":[{"op":"replace","path":"active","value":"True"}]}`).want(200, nil)
			as().want(401, nil) // it doesn't come back
		})
	}
}

// TestWhatBrokeOffGoesOn: when the tokens of who is disabled couldn't be ended, the
// directory is told, and its next try ends them. Who is disabled stays so when all else
// is said anew.
func TestWhatBrokeOffGoesOn(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	told := d.cfg.Catalog.Saved
	broken := true
	d.cfg.Catalog.Saved = func(ctx context.Context, keys ...store.EntityKey) error {
		if broken {
			return errors.New("no power")
		}
		return told(ctx, keys...)
	}
	broken = false
	d.scim("POST", "/Users", `{"userName":"bo@example.com"}`).want(201, nil)
	user := store.EntityKey{Scope: ref.Scope{Account: "default"}, Kind: ref.User, ID: "bo_example_com"}
	d.mint(access.Grant{Kind: store.TokenUser, Scope: user.Scope, Name: "bo", Actor: "bo", Principal: user})
	live := func() bool {
		all, err := d.store.ListTokens(t.Context(), "default", store.TokenUser)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(t store.AccessToken) bool { return t.Principal == user && !t.Revoked })
	}
	const off = `{"Operations":[{"op":"replace","path":"active","value":false}]}`
	broken = true
	d.scim("PATCH", "/Users/bo_example_com", off).refused(500, "")
	broken = false
	if !live() {
		t.Fatal("the token has ended although nobody was told")
	}
	before := d.version(ref.User, "bo_example_com")
	d.scim("PATCH", "/Users/bo_example_com", off).want(200, nil)
	if live() || d.version(ref.User, "bo_example_com") != before {
		t.Errorf("the token lives: %t; the document was written %d times", live(), d.version(ref.User, "bo_example_com")-before)
	}
	var u map[string]any
	d.scim("PUT", "/Users/bo_example_com", `{"userName":"bo@example.com","displayName":"Bo"}`).want(200, &u)
	if u["active"] != false {
		t.Errorf("the user is %v", u)
	}
}

// found are the ids that a search gives.
func (d *provisioner) found(path string) []string {
	d.t.Helper()
	var list struct {
		Schemas                                []string
		TotalResults, StartIndex, ItemsPerPage int
		Resources                              []map[string]any
	}
	d.scim("GET", path, "").want(200, &list)
	var ids []string
	for _, r := range list.Resources {
		ids = append(ids, r["id"].(string))
	}
	return ids
}

// TestNothingIsWrittenTwice: a request that comes again changes nothing.
func TestNothingIsWrittenTwice(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.scim("POST", "/Users", `{"userName":"bo@example.com"}`).want(201, nil)
	d.scim("POST", "/Groups", `{"displayName":"Ops"}`).want(201, nil)
	for _, c := range []struct {
		method, path, body string
		kind               ref.Kind
		id                 string
		status             int
	}{
		{"PUT", "/Users/bo_example_com", `{"userName":"bo@example.com","displayName":"Bo","externalId":"7"}`, ref.User, "bo_example_com", 200},
		{"PATCH", "/Users/bo_example_com", `{"Operations":[{"op":"add","path":"name.givenName","value":"Bo"}]}`, ref.User, "bo_example_com", 200},
		{"PUT", "/Groups/Ops", `{"displayName":"Ops","members":[{"value":"bo_example_com"},{"value":"bo_example_com"}]}`, ref.UserGroup, "Ops", 200},
		{"PATCH", "/Groups/Ops", `{"Operations":[{"op":"remove","path":"members[value eq \"bo_example_com\"]"}]}`, ref.UserGroup, "Ops", 204},
		{"PATCH", "/Groups/Ops", `{"Operations":[{"op":"add","path":"members","value":[{"value":"bo_example_com"}]}]}`, ref.UserGroup, "Ops", 204},
		{"PATCH", "/Groups/Ops", `{"Operations":[{"op":"Remove","path":"members","value":[{"value":"bo_example_com"}]}]}`, ref.UserGroup, "Ops", 204},
	} {
		before := d.version(c.kind, c.id)
		first := d.scim(c.method, c.path, c.body).want(c.status, nil)
		again := d.scim(c.method, c.path, c.body).want(c.status, nil)
		if got := d.version(c.kind, c.id); got != before+1 {
			t.Errorf("%s %s %s twice writes %d times", c.method, c.path, c.body, got-before)
		}
		if !bytes.Equal(first.body, again.body) {
			t.Errorf("%s %s answers %s, and then %s", c.method, c.path, first.body, again.body)
		}
	}
}

// TestGroupsAreCalledAsHarnessDoes: identifiers come from names.
func TestGroupsAreCalledAsHarnessDoes(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.put("", "userGroup: {identifier: ops, name: ops, users: [eve]}")
	for _, c := range []struct{ display, id string }{
		{"Harness.Group?Next#Gen-First", "Harness_GroupNextGen_First"},
		{"123#One.$Two.$Three.123", "One_$Two_$Three_123"},
		{"Team Blue", "Team_Blue"},
		{"team.blue", "team_blue"},
		{"Team-Blue", "Team_Blue_scim"},
		{"Team_Blue", "Team_Blue_scim2"},
		{"-account-all-users", "account_all_users"},
		{"ops", "ops_scim"},
		{"new", "group_new"},
		{"日本", "group_10e4f1d4a5b0"},
	} {
		body, err := json.Marshal(map[string]any{"displayName": c.display})
		if err != nil {
			t.Fatal(err)
		}
		var made map[string]any
		d.scim("POST", "/Groups", string(body)).want(201, &made)
		if made["id"] != c.id && c.display != "日本" || made["displayName"] != c.display {
			t.Errorf("%q is %v, called %v; want %s", c.display, made["id"], made["displayName"], c.id)
		}
		d.scim("POST", "/Groups", string(body)).refused(409, "uniqueness")
	}
	// Renamed, it keeps its identifier; what isn't managed stays as it was.
	d.scim("PATCH", "/Groups/Team_Blue", `{"Operations":[{"op":"replace","path":"displayName","value":"Team Red"}]}`).want(204, nil)
	d.scim("PATCH", "/Groups/Team_Blue", `{"Operations":[{"op":"replace","path":"displayName","value":"team.blue"}]}`).refused(409, "uniqueness")
	if found := d.found("/Groups?filter=displayName+eq+%22team+red%22"); len(found) != 1 || found[0] != "Team_Blue" {
		t.Errorf("found %v", found)
	}
	if got := d.version(ref.UserGroup, "ops"); got != 1 {
		t.Errorf("the group ops has version %d", got)
	}
	d.scim("GET", "/Groups/ops", "").refused(404, "")
}

// TestSearchesAreBounded: a filter is what it says and nothing else, and an answer
// has 200 at most.
func TestSearchesAreBounded(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	for i := range 203 {
		d.scim("POST", "/Users", fmt.Sprintf(`{"userName":"u%03d@example.com"}`, i)).want(201, nil)
	}
	for path, want := range map[string]int{
		"/Users": 100, "/Users?count=500": 200, "/Users?count=0": 0, "/Users?count=-1": 0, "/Users?startIndex=201&count=200": 3, "/Users?startIndex=-7&count=1": 1, "/Users?startIndex=900": 0,
		"/Users?filter=userName+eq+%22%22": 0, "/Users?filter=userName+eq+%22*%22": 0, "/Users?filter=userName+eq+%22x%5C%22+or+userName+pr+or+userName+eq+%5C%22%22": 0,
		"/Users?filter=userName+eq+%22u001%40example.com%22+or+userName+eq+%22u002%40example.com%22": 2,
	} {
		if got := d.found(path); len(got) != want {
			t.Errorf("%s finds %d; want %d", path, len(got), want)
		}
	}
	for _, filter := range []string{"userName", "userName+eq+x", "%27+or+1%3D1", strings.Repeat("%28", 500), "userName+eq+%22a%22+and"} {
		d.scim("GET", "/Users?filter="+filter, "").refused(400, "invalidFilter")
	}
	d.scim("GET", "/Users?filter="+strings.Repeat("x", 3000), "").refused(400, "")
}

// TestListsOfLargeGroupsComeInParts: an answer has 10,000 members at most, unless they
// are of one group.
func TestListsOfLargeGroupsComeInParts(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	var members strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&members, "user_%d, ", i)
	}
	for _, id := range []string{"a", "b", "c"} {
		d.put("", "userGroup: {identifier: "+id+", name: "+id+", externallyManaged: true, users: ["+members.String()+"]}")
	}
	for path, want := range map[string]string{"/Groups": "a", "/Groups?startIndex=2": "b", "/Groups?excludedAttributes=members": "a b c", "/Groups?attributes=displayName": "a b c"} {
		if got := strings.Join(d.found(path), " "); got != want {
			t.Errorf("%s finds %s; want %s", path, got, want)
		}
	}
}

// TestBodiesAreBounded: what is too large, too deep or no object is refused.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.scim("POST", "/Users", `{"userName":"bo@example.com"}`).want(201, nil)
	d.scim("POST", "/Groups", `{"displayName":"Ops"}`).want(201, nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		scimType           string
	}{
		{"POST", "/Users", `{"userName":"` + strings.Repeat("x", 70<<10) + `"}`, 413, ""},
		{"POST", "/Groups", `{"displayName":"` + strings.Repeat("x", 6<<20) + `"}`, 413, ""},
		{"POST", "/Users", strings.Repeat("[", 50_000), 400, "invalidSyntax"},
		{"POST", "/Users", `{"a":` + strings.Repeat(`{"a":`, 12) + "1" + strings.Repeat("}", 13), 400, "invalidSyntax"},
		{"POST", "/Users", "", 400, ""},
		{"POST", "/Users", "[]", 400, "invalidSyntax"},
		{"POST", "/Users", "null", 400, "invalidSyntax"},
		{"POST", "/Users", `{"userName":"a@example.com"} {}`, 400, "invalidSyntax"},
		{"POST", "/Users", `{"userName":7}`, 400, "invalidValue"},
		{"POST", "/Users", `{}`, 400, "invalidValue"},
		{"POST", "/Users", `{"userName":"ada"}`, 400, "invalidValue"},
		{"POST", "/Users", `{"userName":"Ada <a@example.com>"}`, 400, "invalidValue"},
		{"POST", "/Users", `{"userName":"a@example.com","active":"maybe"}`, 400, "invalidValue"},
		{"POST", "/Users", `{"userName":"a@example.com","displayName":"<+secrets.getValue(\"account.idp\")>"}`, 400, "invalidValue"},
		{"POST", "/Users", `{"userName":"a@example.com","externalId":"` + strings.Repeat("x", 600) + `"}`, 400, "invalidValue"},
		{"POST", "/Groups", `{"displayName":"A","members":[{"value":"nobody"}]}`, 400, "invalidValue"},
		{"POST", "/Groups", `{"displayName":"A","members":[{"value":"Ops","type":"Group"}]}`, 400, "invalidValue"},
		{"POST", "/Groups", `{"displayName":"A","members":[7]}`, 400, "invalidValue"},
		{"PATCH", "/Groups/Ops", `{"Operations":[{"op":"add","path":"members","value":[{"value":"../x"}]}]}`, 400, "invalidValue"},
		{"PATCH", "/Groups/Ops", `{"Operations":[{"op":"remove"}]}`, 400, "noTarget"},
		{"PATCH", "/Groups/Ops", `{"Operations":[{"op":"move","path":"members"}]}`, 400, "invalidSyntax"},
		{"PATCH", "/Groups/Ops", `{"Operations":[` + strings.Repeat(`{"op":"remove","path":"members"},`, 1000) + `{"op":"remove","path":"members"}]}`, 400, "invalidSyntax"},
		{"PATCH", "/Users/bo_example_com", `{"Operations":[{"op":"replace","path":"userName","value":""}]}`, 400, "invalidValue"},
		{"PATCH", "/Users/bo_example_com", `{"Operations":[{"op":"replace","path":"active.x","value":true}]}`, 400, "invalidPath"},
	} {
		if p := d.scim(c.method, c.path, c.body).refused(c.status, c.scimType); strings.Contains(p.Detail, "getValue") {
			t.Errorf("%s %s says %s", c.method, c.path, p.Detail)
		}
	}
}

// TestWhoIsThereIsTakenOver: a user who was made by hand becomes the directory's, and
// what the directory doesn't say of the user stays.
func TestWhoIsThereIsTakenOver(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.put("", "# made by hand\nuser: {identifier: bo, name: Bo, email: Bo@example.com, tags: {team: blue}}")
	d.scim("GET", "/Users/bo", "").refused(404, "")
	d.scim("PATCH", "/Users/bo", `{"Operations":[{"op":"replace","path":"active","value":false}]}`).refused(404, "")
	d.scim("DELETE", "/Users/bo", "").refused(404, "")
	var made map[string]any
	d.scim("POST", "/Users", `{"userName":"bo@example.com","externalId":"7"}`).want(201, &made)
	if made["id"] != "bo" {
		t.Errorf("made %v", made)
	}
	var e api.Entity
	d.ask("GET", "/v1/entities/user/bo", "").want(200, &e)
	for _, want := range []string{"# made by hand", "team: blue", "externallyManaged: true", `externalId: "7"`, "email: bo@example.com"} {
		if !strings.Contains(e.YAML, want) {
			t.Errorf("the document has no %q:\n%s", want, e.YAML)
		}
	}
	d.scim("POST", "/Users", `{"userName":"bo@example.com","externalId":"8"}`).refused(409, "uniqueness")
	// Who may do everything is nobody's to become, nor is who was disabled by hand.
	d.put("", "user: {identifier: boss, name: Boss, email: boss@example.com}")
	d.put("", "roleAssignment: {identifier: boss, roleIdentifier: _account_admin, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER, identifier: boss}}")
	if p := d.scim("POST", "/Users", `{"userName":"boss@example.com"}`).refused(409, ""); !strings.Contains(p.Detail, "may do everything in the account") {
		t.Errorf("an administrator: %s", p.Detail)
	}
	d.put("", "user: {identifier: gone, name: Gone, email: gone@example.com, disabled: true}")
	if p := d.scim("POST", "/Users", `{"userName":"gone@example.com","active":true}`).refused(409, ""); !strings.Contains(p.Detail, "is disabled, and not by the directory") {
		t.Errorf("who was disabled: %s", p.Detail)
	}
	// By the mail address of somebody else nobody becomes that one.
	d.put("", "user: {identifier: root, name: Root, email: root@example.com}")
	d.scim("PATCH", "/Users/bo", `{"Operations":[{"op":"replace","path":"userName","value":"root@example.com"}]}`).refused(409, "uniqueness")
	d.scim("PATCH", "/Users/bo", `{"Operations":[{"op":"replace","path":"emails[type eq \"work\"].value","value":"ROOT@example.com"}]}`).refused(409, "uniqueness")
}

// TestWhoIsRemovedIsGoneEverywhere: assignments and memberships go with a user, in
// all scopes; the trail keeps the name.
func TestWhoIsRemovedIsGoneEverywhere(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.scim("POST", "/Users", `{"userName":"bo@example.com"}`).want(201, nil)
	d.scim("POST", "/Users", `{"userName":"al@example.com"}`).want(201, nil)
	d.scim("POST", "/Groups", `{"displayName":"Ops","members":[{"value":"bo_example_com"},{"value":"al_example_com"}]}`).want(201, nil)
	d.put(scope, "userGroup:\n  identifier: web # theirs\n  name: Web\n  users: [eve, bo_example_com]\n  userEmails: [BO@example.com]")
	d.put(scope, "roleAssignment: {identifier: bo, roleIdentifier: _project_viewer, resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER, identifier: bo_example_com}}")
	d.scim("DELETE", "/Users/bo_example_com", "").want(204, nil)
	d.scim("DELETE", "/Users/bo_example_com", "").refused(404, "")
	d.ask("GET", "/v1/entities/user/bo_example_com", "").want(404, nil)
	d.ask("GET", "/v1/entities/roleAssignment/bo"+scope, "").want(404, nil)
	for _, path := range []string{"/v1/entities/userGroup/Ops", "/v1/entities/userGroup/web" + scope} {
		var e api.Entity
		d.ask("GET", path, "").want(200, &e)
		if strings.Contains(strings.ToLower(e.YAML), "bo") || !strings.Contains(e.YAML, "al_example_com") && !strings.Contains(e.YAML, "eve") {
			t.Errorf("%s is\n%s", path, e.YAML)
		}
	}
	var trail api.AuditList
	d.ask("GET", "/v1/audit?limit=100", "").want(200, &trail)
	actions := map[string]int{}
	for _, r := range trail.Records {
		if r.ID == "bo_example_com" && r.Actor == "service account default/scim" {
			actions[string(r.Action)]++
		}
	}
	if actions["CREATE"] != 1 || actions["UPDATE"] != 1 || actions["DELETE"] != 1 {
		t.Errorf("the trail has %v of the user", actions)
	}
	d.scim("POST", "/Users", `{"userName":"bo@example.com"}`).want(201, nil)
}

// TestAGroupThatIsNamedStaysEmpty: what an approval asks isn't deleted under it, and
// nobody answers as one of the group any more.
func TestAGroupThatIsNamedStaysEmpty(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.scim("POST", "/Users", `{"userName":"bo@example.com"}`).want(201, nil)
	d.scim("POST", "/Groups", `{"displayName":"Ops","members":[{"value":"bo_example_com"}]}`).want(201, nil)
	d.put("", "roleAssignment: {identifier: ops, roleIdentifier: _account_viewer, resourceGroupIdentifier: _all_account_level_resources, principal: {type: USER_GROUP, identifier: Ops}}")
	d.save(asksOps)
	if p := d.scim("DELETE", "/Groups/Ops", "").refused(409, ""); !strings.Contains(p.Detail, "approve") {
		t.Errorf("it says %s", p.Detail)
	}
	d.ask("GET", "/v1/entities/roleAssignment/ops", "").want(404, nil)
	var g map[string]any
	d.scim("GET", "/Groups/Ops", "").want(200, &g)
	if members, _ := g["members"].([]any); len(members) != 0 {
		t.Errorf("the group has %v", g["members"])
	}
	d.ask("DELETE", "/v1/entities/pipeline/approve"+scope+"&version=1", "").want(204, nil)
	d.scim("DELETE", "/Groups/Ops", "").want(204, nil)
	d.scim("GET", "/Groups/Ops", "").refused(404, "")
}

const asksOps = `pipeline:
  identifier: approve
  name: approve
  stages:
    - stage:
        identifier: s
        name: s
        type: Approval
        spec:
          execution:
            steps:
              - step:
                  identifier: a
                  name: a
                  type: HarnessApproval
                  timeout: 1d
                  spec:
                    approvalMessage: Go on?
                    includePipelineExecutionHistory: true
                    approvers: {minimumCount: 1, disallowPipelineExecutor: false, userGroups: [account.Ops]}
`

// TestOnlyTheDirectoryChangesWhatItManages: others who may edit users and groups are
// told so in a sentence, and who may do everything has a way out.
func TestOnlyTheDirectoryChangesWhatItManages(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.scim("POST", "/Users", `{"userName":"bo@example.com"}`).want(201, nil)
	d.scim("POST", "/Groups", `{"displayName":"Ops","members":[{"value":"bo_example_com"}]}`).want(201, nil)
	d.put("", "role: {identifier: manager, name: Manager, permissions: [core_user_view, core_user_invite, core_user_manage, core_usergroup_view, core_usergroup_manage]}")
	d.put("", "user: {identifier: eve, name: Eve}")
	d.put("", "roleAssignment: {identifier: eve, roleIdentifier: manager, resourceGroupIdentifier: _all_account_level_resources, principal: {type: USER, identifier: eve}}")
	account := ref.Scope{Account: "default"}
	eve := d.mint(access.Grant{Kind: store.TokenUser, Scope: account, Name: "eve", Actor: "eve", Principal: store.EntityKey{Scope: account, Kind: ref.User, ID: "eve"}})
	as := func(method, path, doc string) answer {
		return d.ask(method, path, doc, "Content-Type", "application/yaml", "Authorization", "Bearer "+eve)
	}
	user := func(more string) string {
		return "user: {identifier: bo_example_com, name: bo.example.com, email: bo@example.com, " + more + "}"
	}
	var kept api.Entity
	d.ask("GET", "/v1/entities/user/bo_example_com", "").want(200, &kept)
	for name, c := range map[string]struct {
		method, path, doc string
		status            int
	}{
		"disables":              {"PUT", "/v1/entities", user("disabled: true, externallyManaged: true"), 409},
		"takes the flag out":    {"PUT", "/v1/entities", user(""), 409},
		"deletes the user":      {"DELETE", "/v1/entities/user/bo_example_com?version=1", "", 409},
		"joins the group":       {"PUT", "/v1/entities", "userGroup: {identifier: Ops, name: Ops, externallyManaged: true, users: [bo_example_com, eve]}", 409},
		"renames the group":     {"PUT", "/v1/entities", "userGroup: {identifier: Ops, name: Oops, externallyManaged: true, users: [bo_example_com]}", 409},
		"frees the group":       {"PUT", "/v1/entities", "userGroup: {identifier: Ops, name: Ops, users: [bo_example_com]}", 409},
		"links the group":       {"PUT", "/v1/entities", "userGroup: {identifier: Ops, name: Ops, ssoLinked: true, linkedSsoId: corp, linkedSsoType: OIDC, ssoGroupId: x}", 409},
		"deletes the group":     {"DELETE", "/v1/entities/userGroup/Ops?version=1", "", 409},
		"makes a managed user":  {"PUT", "/v1/entities", "user: {identifier: fresh, name: New, externallyManaged: true}", 409},
		"makes a managed group": {"PUT", "/v1/entities", "userGroup: {identifier: fresh, name: New, externallyManaged: true}", 409},
		"says what counts not":  {"PUT", "/v1/entities", "userGroup: {identifier: fresh, name: New, scim: {externalId: x}}", 400},
		"has the group told":    {"PUT", "/v1/entities", "userGroup: {identifier: Ops, name: Ops, externallyManaged: true, users: [bo_example_com], notificationConfigs: [{type: EMAIL, groupEmail: ops@example.com}]}", 200},
		"saves what there is":   {"PUT", "/v1/entities", kept.YAML, 200},
		"says more of the user": {"PUT", "/v1/entities", kept.YAML + "  description: On call\n", 200},
		"checks it only":        {"POST", "/v1/entities:validate", user("disabled: true, externallyManaged: true"), 409},
	} {
		a := as(c.method, c.path, c.doc)
		if a.status != c.status {
			t.Errorf("who %s gets %d %s; want %d", name, a.status, a.body, c.status)
		}
		if c.status == 409 && !strings.Contains(string(a.body), "directory") {
			t.Errorf("who %s is told %s", name, a.body)
		}
	}
	// Who may do everything in the account may, and by that has a way out.
	d.put("", "userGroup: {identifier: Ops, name: Ops, users: [bo_example_com]}")
	d.scim("GET", "/Groups/Ops", "").refused(404, "")
	as("PUT", "/v1/entities", "userGroup: {identifier: Ops, name: Ops, users: [eve]}").want(200, nil)
}

// TestTheLastAdministratorStays: a directory can't take the account its last one.
func TestTheLastAdministratorStays(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.scim("POST", "/Users", `{"userName":"bo@example.com"}`).want(201, nil)
	d.put("", "roleAssignment: {identifier: bo, roleIdentifier: _account_admin, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER, identifier: bo_example_com}}")
	for _, c := range [][]string{
		{"PATCH", "/Users/bo_example_com", `{"Operations":[{"op":"replace","path":"active","value":false}]}`},
		{"PUT", "/Users/bo_example_com", `{"userName":"bo@example.com","active":false}`},
		{"DELETE", "/Users/bo_example_com", ""},
	} {
		if p := d.scim(c[0], c[1], c[2]).refused(409, ""); !strings.Contains(p.Detail, "administrator") {
			t.Errorf("%v says %s", c, p.Detail)
		}
	}
	d.ask("GET", "/v1/entities/roleAssignment/bo", "").want(200, nil)
}

// TestWhoMayProvision: each request needs its permission, and to say who people are
// needs one more.
func TestWhoMayProvision(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.scim("POST", "/Users", `{"userName":"bo@example.com"}`).want(201, nil)
	d.scim("POST", "/Groups", `{"displayName":"Ops"}`).want(201, nil)
	for _, c := range []struct {
		permissions string
		want        [6]int // GET users, POST users, PATCH user, GET groups, PATCH group, DELETE group
	}{
		{"core_pipeline_view", [6]int{403, 403, 403, 403, 403, 403}},
		{"core_user_view", [6]int{200, 403, 403, 403, 403, 403}},
		{"core_usergroup_view", [6]int{403, 403, 403, 200, 403, 403}},
		{"core_user_view, core_user_manage, core_usergroup_view, core_usergroup_manage", [6]int{200, 403, 403, 200, 403, 403}},
		{"core_user_view, core_user_invite, core_authsetting_edit", [6]int{200, 201, 403, 403, 403, 403}},
	} {
		d.put("", "role: {identifier: scim, name: SCIM, permissions: ["+c.permissions+"]}")
		for i, r := range [6][3]string{
			{"GET", "/Users", ""}, {"POST", "/Users", `{"userName":"new@example.com"}`}, {"PATCH", "/Users/bo_example_com", `{"Operations":[{"op":"replace","path":"displayName","value":"x"}]}`},
			{"GET", "/Groups", ""}, {"PATCH", "/Groups/Ops", `{"Operations":[{"op":"replace","path":"displayName","value":"x"}]}`}, {"DELETE", "/Groups/Ops", ""},
		} {
			if a := d.scim(r[0], r[1], r[2]); a.status != c.want[i] && (c.want[i] != 403 || a.status != 404) {
				t.Errorf("with %s: %s %s is %d %s; want %d", c.permissions, r[0], r[1], a.status, a.body, c.want[i])
			}
		}
	}
	r := d.ask("GET", "/scim/v2/other/Users", "", "Authorization", "Bearer "+d.key)
	r.refused(403, "")
	d.ask("GET", "/gateway/ng/api/scim/account/default/Users", "", "Authorization", "Bearer nobody").refused(401, "")
	if r := d.ask("GET", "/gateway/ng/api/scim/account/default/Users", ""); r.status != http.StatusOK {
		t.Errorf("the alias answers %d %s", r.status, r.body)
	}
}
