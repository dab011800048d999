package grants_test

import (
	"context"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

// counted counts what is asked of a store: each is a request of DynamoDB.
type counted struct {
	store.Entities
	versions, others atomic.Int64
}

func (c *counted) AccessVersion(ctx context.Context, account string) (int64, error) {
	c.versions.Add(1)
	return c.Entities.AccessVersion(ctx, account)
}

func (c *counted) Entity(ctx context.Context, key store.EntityKey) (store.Entity, error) {
	c.others.Add(1)
	return c.Entities.Entity(ctx, key)
}

func (c *counted) ListEntities(ctx context.Context, scope ref.Scope, kind ref.Kind, env string, page store.Page) ([]store.Entity, string, error) {
	c.others.Add(1)
	return c.Entities.ListEntities(ctx, scope, kind, env, page)
}

// bench is a store with documents, and who reads them.
type bench struct {
	*testing.T
	store  *counted
	reader *grants.Reader
	now    time.Time
}

func setup(t *testing.T) *bench {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Entities: s}
	return &bench{T: t, store: c, reader: grants.New(c), now: time.Unix(1000, 0)}
}

// save saves a document over what is there.
func (b *bench) save(scope ref.Scope, kind ref.Kind, id, text string) {
	b.Helper()
	key := store.EntityKey{Scope: scope, Kind: kind, ID: id}
	old, err := b.store.Entities.Entity(b.Context(), key)
	if err != nil && !fault.Is(err, fault.NotFound) {
		b.Fatal(err)
	}
	created := b.now
	if old.Version > 0 {
		created = old.CreatedAt
	}
	_, err = b.store.SaveEntity(b.Context(), store.Entity{
		Key: key, Version: old.Version, YAML: []byte(string(kind) + ": {identifier: " + id + ", " + text + "}"), CreatedAt: created, UpdatedAt: b.now,
	}, audit.Record{Scope: scope, Action: audit.Create, Kind: string(kind), ID: id})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) remove(scope ref.Scope, kind ref.Kind, id string) {
	b.Helper()
	key := store.EntityKey{Scope: scope, Kind: kind, ID: id}
	old, err := b.store.Entities.Entity(b.Context(), key)
	if err == nil {
		err = b.store.DeleteEntity(b.Context(), key, old.Version, audit.Record{Scope: scope, Action: audit.Delete, Kind: string(kind), ID: id})
	}
	if err != nil {
		b.Fatal(err)
	}
}

var (
	account = ref.Scope{Account: "acme"}
	org     = ref.Scope{Account: "acme", Org: "o"}
	web     = ref.Scope{Account: "acme", Org: "o", Project: "web"}
	shop    = ref.Scope{Account: "acme", Org: "o", Project: "shop"}
)

// ada is a request of the user's with a token of a scope.
func (b *bench) ada(within ref.Scope) grants.Caller {
	return b.reader.Caller(store.Identity{Principal: store.EntityKey{Scope: account, Kind: ref.User, ID: "ada"}, Within: within, Since: time.Unix(1000, 0)}, "ada")
}

func (b *bench) want(may bool, who grants.Caller, do action.Action, on right.Resource) {
	b.Helper()
	d, err := who.Decide(b.Context(), do, on)
	if err != nil {
		b.Fatal(err)
	}
	if d.Allowed != may {
		b.Errorf("%s in %s is allowed: %v; want %v", do, on.Scope, d.Allowed, may)
	}
}

func TestAChangeCountsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	run := right.Resource{Scope: web, ID: "p"}
	b.want(false, b.ada(account), action.PipelineRun, run)
	b.save(account, ref.User, "ada", "name: Ada, email: ada@example.com")
	b.want(false, b.ada(account), action.PipelineRun, run)
	// A group of the organization, by her address, has a role in the project.
	b.save(org, ref.UserGroup, "devs", "name: Devs, userEmails: [ADA@example.com]")
	b.save(web, ref.RoleAssignment, "devs", "roleIdentifier: _pipeline_executor, resourceGroupIdentifier: _all_project_level_resources, "+
		"principal: {type: USER_GROUP, identifier: devs, scopeLevel: organization}")
	b.want(true, b.ada(account), action.PipelineRun, run)
	b.want(false, b.ada(account), action.PipelineRun, right.Resource{Scope: shop, ID: "p"})
	b.want(false, b.ada(account), action.PipelineRun, right.Resource{Scope: org})
	b.want(false, b.ada(account), action.SecretEdit, right.Resource{Scope: web})
	b.want(false, b.ada(shop), action.PipelineRun, run) // her token is for another project
	b.save(org, ref.UserGroup, "devs", "name: Devs, users: [bob]")
	b.want(false, b.ada(account), action.PipelineRun, run)
	b.save(org, ref.UserGroup, "devs", "name: Devs, users: [ada]")
	b.want(true, b.ada(account), action.PipelineRun, run)
	b.want(true, b.ada(account), action.ApprovalAnswer, run)
	b.save(account, ref.User, "ada", "name: Ada, disabled: true")
	b.want(false, b.ada(account), action.PipelineRun, run)
	b.want(false, b.ada(account), action.ApprovalAnswer, run)
	// Another of the same name doesn't have her tokens.
	b.remove(account, ref.User, "ada")
	b.want(false, b.ada(account), action.PipelineRun, run)
	b.now = b.now.Add(time.Second)
	b.save(account, ref.User, "ada", "name: Another Ada")
	b.want(false, b.ada(account), action.PipelineRun, run)
}

// TestWhatAskingCosts: one request to the store where nothing has changed.
func TestWhatAskingCosts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save(account, ref.User, "ada", "name: Ada")
	ask := func(versions, others int64) {
		t.Helper()
		b.store.versions.Store(0)
		b.store.others.Store(0)
		who := b.ada(account)
		for range 3 {
			b.want(false, who, action.PipelineRun, right.Resource{Scope: web, ID: "p"})
		}
		if v, o := b.store.versions.Load(), b.store.others.Load(); v != versions || o != others {
			t.Errorf("%d versions and %d others were read; want %d and %d", v, o, versions, others)
		}
	}
	ask(1, 2+3*4) // the user, how she logs in, and four kinds of documents in each scope around
	ask(1, 0)
	b.save(web, ref.Service, "s", "name: s")
	ask(1, 0)
	b.save(web, ref.Role, "r", "name: r, permissions: [core_pipeline_view]")
	ask(1, 2+3*4)
}

// TestWhatAnIPAllowlistCosts: nothing beside what is read for everybody who asks, however
// much that one asks; of a token that is nobody's the one read.
func TestWhatAnIPAllowlistCosts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save(account, ref.User, "ada", "name: Ada, email: ada@example.com")
	b.save(account, ref.IPAllowlist, "office", "name: Office, ipAddress: 203.0.113.0/24")
	office, elsewhere := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("198.51.100.7")
	ask := func(who grants.Caller, at netip.Addr, in bool, others int64) {
		t.Helper()
		b.store.versions.Store(0)
		b.store.others.Store(0)
		who = who.From(allowlist.Origin{Address: at, Source: allowlist.API})
		if err := who.Admitted(t.Context()); in != (err == nil) || err != nil && !fault.Is(err, fault.Forbidden) {
			t.Errorf("from %s: %v; want let in: %v", at, err, in)
		}
		for _, scope := range []ref.Scope{web, shop, org} {
			if _, err := who.Decide(t.Context(), action.PipelineRun, right.Resource{Scope: scope, ID: "p"}); err != nil {
				t.Error(err)
			}
		}
		if _, err := who.Active(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := who.Mail(t.Context()); err != nil {
			t.Error(err)
		}
		if v, o := b.store.versions.Load(), b.store.others.Load(); v != 1 || o != others {
			t.Errorf("%d versions and %d others were read; want 1 and %d", v, o, others)
		}
	}
	nobodys := b.reader.Caller(store.Identity{Within: account}, "x")
	ask(nobodys, office, true, 1) // the lists
	ask(b.reader.Caller(store.Identity{Within: account}, "x"), elsewhere, false, 0)
	ask(b.ada(account), office, true, 2+4*4) // and what is hers, in four scopes
	ask(b.ada(account), elsewhere, false, 0)
	ask(nobodys.Now(), office, true, 0)
	b.save(account, ref.IPAllowlist, "office", "name: Office, enabled: false, ipAddress: 203.0.113.0/24")
	ask(nobodys.Now(), elsewhere, true, 1)
	b.save(account, ref.IPAllowlist, "office", "name: Office, ipAddress: nowhere") // which no Slipway saves
	ask(nobodys.Now(), office, false, 1)
}

func TestNobodyGivesWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save(account, ref.User, "ada", "name: Ada")
	b.save(org, ref.RoleAssignment, "ada", "roleIdentifier: _organization_viewer, resourceGroupIdentifier: _all_organization_level_resources, principal: {type: USER, identifier: ada}")
	b.save(web, ref.RoleAssignment, "ada", "roleIdentifier: _project_admin, resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER, identifier: ada}")
	over := func(scope ref.Scope, children bool, only ...right.Selector) right.Right {
		return right.Right{Permissions: action.Every(), Within: []right.Extent{{Scope: scope, Children: children}}, Only: only}
	}
	for _, c := range []struct {
		name string
		who  grants.Caller
		give right.Right
		says string // empty: it may
	}{
		{"a project's admin in the project", b.ada(account), over(web, false, right.Selector{Type: "SECRET"}), "core_account_view"}, // which no project has
		{"in another", b.ada(account), over(shop, false), "in acme/o/shop"},
		{"around it", b.ada(account), over(org, true), "in acme/o and what is in it"},
		{"nobody's token in its scope", b.reader.Caller(store.Identity{Within: org}, "x"), over(web, true), ""},
		{"and around it", b.reader.Caller(store.Identity{Within: org}, "x"), over(account, false), "in acme "},
	} {
		err := c.who.Covers(t.Context(), []right.Right{c.give})
		if c.says == "" && err != nil || c.says != "" && (fault.CodeOf(err) != fault.Forbidden || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
	}
	if err := b.ada(account).Everything(t.Context()); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a project's admin may do everything: %v", err)
	}
	if err := (grants.Caller{}).Allow(t.Context(), action.PipelineRun, right.Resource{Scope: web}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("who is nobody may run pipelines: %v", err)
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind       ref.Kind
		text, name string
		want       string
	}{
		{ref.Connector, "connector: {identifier: c, name: c, type: Github, tags: {team: web}, spec: {}}", "category", "CODE_REPO"},
		{ref.Connector, "connector: {identifier: c, name: c, type: Github, tags: {team: web}, spec: {}}", "tag", "team:web"},
		{ref.Environment, "environment: {identifier: e, name: e, type: PreProduction, tags: {eu: ''}}", "type", "PreProduction"},
		{ref.Environment, "environment: {identifier: e, name: e, type: PreProduction, tags: {eu: ''}}", "tag", "eu"},
		{ref.Environment, "environment: {identifier: e, name: e, type: PreProduction}", "category", ""},
		{ref.Service, "environment: {identifier: e, name: e, type: PreProduction, tags: {eu: ''}}", "tag", ""},
		{ref.Service, "{", "tag", ""},
	} {
		if got := strings.Join(grants.AttributesOf(c.kind, []byte(c.text))(c.name), ","); got != c.want {
			t.Errorf("%s of %s is %q; want %q", c.name, c.text, got, c.want)
		}
	}
}
