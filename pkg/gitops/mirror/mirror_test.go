package mirror_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/mirror"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

// bench is a control plane without its API, in which there is the agent eu1.
type bench struct {
	*testing.T

	store   store.Store
	catalog *catalog.Catalog
	mirror  *mirror.Mirror
	told    []string // the delegates that were told of news
}

func scope() ref.Scope { return ref.Scope{Account: "acme", Org: "default", Project: "web"} }
func agent() ref.Ref   { return ref.Ref{Scope: scope(), ID: "eu1"} }
func now() time.Time   { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }

func setup(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(dir, "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	kept, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	key, err := secret.LoadKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, store: kept.Store}
	keeper := secret.New(key, kept, now)
	b.mirror = mirror.New(mirror.Config{Store: kept.Store, Secret: keeper, Options: builtin.Options(ref.Scope{}), Now: now, News: func(_ context.Context, account, delegate string) {
		b.told = append(b.told, account+"/"+delegate)
	}})
	b.catalog = catalog.New(catalog.Config{Store: kept.Store, Secret: keeper, Options: builtin.Options(ref.Scope{}), Now: now, Saved: b.mirror.Saved})
	b.save("gitopsAgent: {identifier: eu1, name: eu1, orgIdentifier: default, projectIdentifier: web}")
	return b
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) save(doc string, where ...ref.Scope) catalog.Result {
	b.Helper()
	to := append(where, scope())[0]
	r, err := b.catalog.Save(b.Context(), catalog.Draft{Scope: to, Agent: "eu1", YAML: []byte(doc), Version: catalog.AnyVersion}, audit.Author{Actor: "ann"})
	b.ok(err)
	return r
}

func hello(fence int64) protocol.Hello {
	return protocol.Hello{Lead: protocol.Lead{Agent: protocol.Agent{Org: "default", Project: "web", ID: "eu1"}, Fence: fence}, ClusterUID: "u"}
}

// documents says hello and fetches what the agent hasn't.
func (b *bench) documents(have map[string]int64) protocol.Documents {
	b.Helper()
	_, err := b.mirror.Hello(b.Context(), agent(), hello(1))
	b.ok(err)
	got, err := b.mirror.Documents(b.Context(), agent(), protocol.Have{Lead: hello(1).Lead, Versions: have})
	b.ok(err)
	return got
}

const repository = `apiVersion: v1
kind: Secret
metadata:
  name: app
  labels: {argocd.argoproj.io/secret-type: repository}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"password":"hunter2-of-ann"}}'
stringData:
  url: https://git.example.com/app.git # of the team
  username: ann
  password: PASSWORD
  pasword: hunter2-with-a-slip
`

// TestWhatOpensARepository: it is nowhere but with the agent.
func TestWhatOpensARepository(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.save(strings.Replace(repository, "PASSWORD", "hunter2-of-ann", 1))
	saved, err := b.store.Entity(t.Context(), first.Key)
	b.ok(err)
	const want = `apiVersion: v1
kind: Secret
metadata:
  name: app
  labels: {argocd.argoproj.io/secret-type: repository}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: ""
stringData:
  url: https://git.example.com/app.git # of the team
  username: ann
  password: <kept>
  pasword: <kept>
`
	if diff := cmp.Diff(want, string(saved.YAML)); diff != "" {
		t.Errorf("what is kept of the text (-want +got):\n%s", diff)
	}
	records, err := b.store.ListAudit(t.Context(), "acme", 0, 100)
	b.ok(err)
	for _, r := range records {
		if strings.Contains(r.Before+r.After, "hunter2") {
			t.Errorf("the audit trail shows it: %+v", r)
		}
	}
	given := func(password string) {
		t.Helper()
		got := b.documents(nil)
		if len(got.Upserts) != 1 || got.Upserts[0].Kind != protocol.KindRepository {
			t.Fatalf("the agent gets %+v", got)
		}
		var r access.Repository
		b.ok(json.Unmarshal(got.Upserts[0].Body, &r))
		want := access.Repository{URL: "https://git.example.com/app.git", Credentials: access.Credentials{Username: "ann", Password: password}}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("what the agent gets (-want +got):\n%s", diff)
		}
	}
	given("hunter2-of-ann")
	for _, c := range []struct {
		doc    string
		change catalog.Change
		opens  string
	}{
		{strings.Replace(repository, "PASSWORD", "hunter2-of-ann", 1), catalog.Unchanged, "hunter2-of-ann"},
		{string(saved.YAML), catalog.Unchanged, "hunter2-of-ann"},
		{strings.Replace(string(saved.YAML), "ann", "ann ", 1), catalog.Configured, "hunter2-of-ann"},
		{strings.Replace(repository, "PASSWORD", "hunter2-of-bob", 1), catalog.Configured, "hunter2-of-bob"},
	} {
		if got := b.save(c.doc); got.Change != c.change {
			t.Errorf("saved again it is %s; want %s:\n%s", got.Change, c.change, c.doc)
		}
		given(c.opens)
	}
	b.ok(b.catalog.Delete(t.Context(), first.Key, catalog.AnyVersion, audit.Author{Actor: "ann"}, catalog.Deleter{}))
	if _, err := b.store.Secret(t.Context(), first.Key); !fault.Is(err, fault.NotFound) {
		t.Errorf("what opened it is there still: %v", err)
	}
}

// TestAValueThatIsNowhere: what stands for a kept value has to have one, and what
// can't be taken out isn't saved.
func TestAValueThatIsNowhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	kept := strings.Replace(repository, "name: app", "name: kept", 1)
	b.save(strings.Replace(kept, "PASSWORD", "hunter2-of-ann", 1))
	for doc, want := range map[string]string{
		strings.Replace(repository, "PASSWORD", "<kept>", 1):                                                              "no value is kept",
		strings.Replace(strings.Replace(kept, "PASSWORD", "<kept>", 1), "example.com", "example.org", 1):                  "is kept for another address",
		strings.Replace(repository, "PASSWORD", "&it hunter2-of-ann", 1) + "  bearerToken: *it\n# hunter2-of-ann again\n": "can't be taken out",
	} {
		_, err := b.catalog.Save(t.Context(), catalog.Draft{Scope: scope(), Agent: "eu1", YAML: []byte(doc), Version: catalog.AnyVersion}, audit.Author{Actor: "ann"})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestDocumentsBesideEachOther: one agent has one application of a name and one
// cluster of a server, and a project's bounds are told when an application is saved.
func TestDocumentsBesideEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save("gitopsAgent: {identifier: all, name: all}", ref.Scope{Account: "acme"})
	app := func(name, agent, spec string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", annotations: {slipway.dev/agent: " + agent + "}}\nspec: {" +
			"source: {repoURL: https://git.example.com/a.git, path: .}, " + spec + "}\n"
	}
	cluster := func(id string) string {
		return "gitopsCluster: {identifier: " + id + ", name: " + id + ", agentIdentifier: eu1, cluster: {server: https://us, name: us}}"
	}
	const team = "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team, annotations: {slipway.dev/agent: eu1}}\n" +
		"spec: {sourceRepos: ['https://git.example.com/b.git'], destinations: [{name: us, namespace: web}]}\n"
	other := ref.Scope{Account: "acme", Org: "default", Project: "other"}
	b.save(app("web", "account.all", "destination: {name: in-cluster}"), other)
	for _, c := range []struct {
		name string
		docs []string
		want []string // codes of findings
	}{
		{"the name of another project's", []string{app("web", "account.all", "destination: {name: in-cluster}")}, []string{"SAME_NAME"}},
		{"that name of an agent of its own", []string{app("web", "eu1", "destination: {name: in-cluster}")}, nil},
		{"a project and a cluster that aren't there", []string{app("a", "eu1", "project: team, destination: {name: us}"), app("b", "eu1", "destination: {name: us}")}, []string{"NOT_PERMITTED", "NOT_PERMITTED"}},
		{"what the project hasn't", []string{app("a", "eu1", "project: team, destination: {name: us, namespace: db}"), team, cluster("us")}, []string{"NOT_PERMITTED", "NOT_PERMITTED"}},
		{"two clusters of one server", []string{cluster("us"), cluster("us2")}, []string{"SAME_SERVER", "SAME_SERVER"}},
	} {
		var set []catalog.Draft
		for _, doc := range c.docs {
			set = append(set, catalog.Draft{Scope: scope(), YAML: []byte(doc), Version: catalog.AnyVersion})
		}
		results, err := b.catalog.CheckAll(t.Context(), set)
		var got []string
		for _, r := range results {
			for _, w := range r.Warnings {
				if w.Code != "UNKNOWN_REFERENCE" {
					got = append(got, w.Code)
				}
			}
		}
		var f *fault.Error
		if errors.As(err, &f) {
			got = nil
			for _, d := range f.Details {
				got = append(got, d.Code)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// TestDocumentsOfAnAgent: each kind as its agent gets it, and only what it hasn't.
func TestDocumentsOfAnAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\n" +
		"spec: {source: {repoURL: https://git.example.com/a.git, path: .}, destination: {name: in-cluster}}\noperation: {sync: {prune: true}}\n")
	b.save("apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team}\nspec: {sourceRepos: ['*']}\n")
	b.save("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {timeout.reconciliation: 60s, url: https://argocd.example.com}\n")
	b.save("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-tls-certs-cm}\n")
	b.save("gitopsCluster: {identifier: us, name: us, agentIdentifier: eu1, cluster: {server: https://us, name: us, config: {bearerToken: abc}}}")
	got := b.documents(nil)
	bodies := map[string]string{}
	have := map[string]int64{}
	for _, d := range got.Upserts {
		bodies[d.Kind], have[d.ID] = string(d.Body), d.Version
	}
	want := map[string]string{
		protocol.KindApplication: `{"metadata":{"name":"web"},"spec":{"source":{"repoURL":"https://git.example.com/a.git","path":"."},"destination":{"name":"in-cluster"},"project":""}}`,
		protocol.KindProject:     `{"metadata":{"name":"team"},"spec":{"sourceRepos":["*"]}}`,
		protocol.KindSettings:    `{"name":"argocd-cm","data":{"timeout.reconciliation":"60s"}}`,
		protocol.KindCertificate: `null`,
		protocol.KindCluster:     `{"server":"https://us","name":"us","config":{"bearerToken":"abc"}}`,
	}
	for kind, body := range want {
		if !same(t, body, bodies[kind]) {
			t.Errorf("%s is\n%s; want\n%s", kind, bodies[kind], body)
		}
	}
	have["gone"] = 1
	got = b.documents(have)
	if len(got.Upserts) != 0 || !cmp.Equal(got.Deletes, []string{"gone"}) {
		t.Errorf("asked again it gets %+v", got)
	}
}

// same compares JSON.
func same(t *testing.T, a, b string) bool {
	t.Helper()
	var one, other any
	if json.Unmarshal([]byte(a), &one) != nil || json.Unmarshal([]byte(b), &other) != nil {
		return false
	}
	return cmp.Equal(one, other)
}

// TestHello: a name belongs to one cluster, and to who has the highest fence.
func TestHello(t *testing.T) {
	t.Parallel()
	b := setup(t)
	elsewhere := hello(9)
	elsewhere.ClusterUID = "other"
	for _, c := range []struct {
		h    protocol.Hello
		code fault.Code
	}{{hello(2), ""}, {hello(1), fault.LeaseLost}, {elsewhere, fault.Conflict}, {hello(3), ""}} {
		if _, err := b.mirror.Hello(t.Context(), agent(), c.h); fault.CodeOf(err) != c.code && (err != nil || c.code != "") {
			t.Errorf("fence %d of cluster %s: %v; want %q", c.h.Fence, c.h.ClusterUID, err, c.code)
		}
	}
	if _, err := b.mirror.Poll(t.Context(), agent(), protocol.Poll{Lead: hello(2).Lead}); !fault.Is(err, fault.LeaseLost) {
		t.Errorf("who was deposed is told %v", err)
	}
	if _, err := b.mirror.Hello(t.Context(), ref.Ref{Scope: scope(), ID: "nobody"}, hello(1)); !fault.Is(err, fault.NotFound) {
		t.Errorf("an agent that nobody saved is told %v", err)
	}
}

// TestMove: an agent is in another cluster from the next hello on, whatever its fence, and
// who is in the former one is refused, until it is moved back.
func TestMove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	by := audit.Author{Actor: "ann", Request: "r1"}
	at := func(cluster string, fence int64) error {
		h := hello(fence)
		h.ClusterUID = cluster
		_, err := b.mirror.Hello(t.Context(), agent(), h)
		return err
	}
	if err := b.mirror.Move(t.Context(), agent(), false, by); !fault.Is(err, fault.Conflict) {
		t.Errorf("an agent that nobody has heard of is moved: %v", err)
	}
	b.ok(at("one", 7))
	b.ok(b.mirror.Move(t.Context(), agent(), false, by))
	if _, err := b.mirror.Poll(t.Context(), agent(), protocol.Poll{Lead: hello(7).Lead}); !fault.Is(err, fault.LeaseLost) {
		t.Errorf("who was moved away is told %v", err)
	}
	if err := at("one", 8); !fault.Is(err, fault.Conflict) {
		t.Errorf("it comes back to the former cluster: %v", err)
	}
	b.ok(b.mirror.Move(t.Context(), agent(), false, by)) // again, which is the same
	b.ok(at("two", 1))
	for _, cluster := range []string{"one", "three"} {
		if err := at(cluster, 9); !fault.Is(err, fault.Conflict) {
			t.Errorf("cluster %s has it, too: %v", cluster, err)
		}
	}
	b.ok(b.mirror.Move(t.Context(), agent(), false, by))
	b.ok(at("one", 1))
	if err := b.mirror.Move(t.Context(), agent(), true, by); !fault.Is(err, fault.Conflict) {
		t.Errorf("one that is somewhere is moved back: %v", err)
	}
	b.ok(b.mirror.Move(t.Context(), agent(), false, by))
	b.ok(b.mirror.Move(t.Context(), agent(), true, by))
	b.ok(at("one", 1))
	records, err := b.store.ListAudit(t.Context(), scope().Account, 0, 100)
	b.ok(err)
	moves := 0
	for _, r := range records {
		if r.Action == "MOVE" && r.Actor == "ann" && r.ID == agent().ID && strings.HasPrefix(r.After, "from cluster ") {
			moves++
		}
	}
	if moves != 4 {
		t.Errorf("the trail has %d moves away; want 4", moves)
	}
}

// TestReports: one that comes again changes nothing, and long texts are cut.
func TestReports(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved := b.save("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: {source: {repoURL: https://a/b, path: .}, destination: {name: in-cluster}}\n")
	b.documents(nil)
	report := func(seq int64, s *protocol.Summary) protocol.Reported {
		t.Helper()
		got, err := b.mirror.Report(t.Context(), agent(), protocol.Report{Lead: hello(1).Lead, Seq: seq, Apps: []protocol.App{{AppKey: protocol.AppKey{Name: "web"}, Summary: s}}})
		b.ok(err)
		return got
	}
	known := func() (protocol.Summary, bool) {
		t.Helper()
		all, err := b.mirror.Known(t.Context(), saved.Key)
		b.ok(err)
		one, ok := all[saved.Key]
		return one.Summary, ok
	}
	report(1, &protocol.Summary{Health: gitops.HealthStatus{Status: gitops.Degraded, Message: strings.Repeat("é", 200)}})
	if s, _ := known(); len(s.Health.Message) > 256 || !strings.HasSuffix(s.Health.Message, "é…") {
		t.Errorf("a long message is kept as %q", s.Health.Message)
	}
	if got := report(1, nil); got.Seq != 1 {
		t.Errorf("a report that comes again is answered %+v", got)
	}
	if _, ok := known(); !ok {
		t.Error("a report that came again was taken in")
	}
	report(2, nil)
	if _, ok := known(); ok {
		t.Error("what is known of an application that is gone is kept")
	}
}

// TestRequests are open until they are answered, and audited by their words.
func TestRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app := b.save("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: {source: {repoURL: https://a/b, path: .}, destination: {name: in-cluster}}\n")
	b.documents(nil)
	asked, err := b.mirror.Ask(t.Context(), app.Key, protocol.Request{Kind: protocol.RequestSync, Operation: &gitops.Operation{Sync: &gitops.SyncRequest{}}}, audit.Author{Actor: "ann"})
	b.ok(err)
	news, err := b.mirror.Poll(t.Context(), agent(), protocol.Poll{Lead: hello(1).Lead})
	b.ok(err)
	if len(news.Open) != 1 || news.Open[0].ID != asked.ID || news.Open[0].Operation.InitiatedBy.Username != "ann" {
		t.Errorf("the agent is asked %+v", news)
	}
	b.ok(b.mirror.Answer(t.Context(), agent(), protocol.Answer{Lead: hello(1).Lead, ID: asked.ID, Result: protocol.Result{Message: "begun"}}))
	got, err := b.mirror.Asked(t.Context(), app.Key, asked.ID)
	b.ok(err)
	if got.Result == nil || got.Result.Message != "begun" {
		t.Errorf("the answer is %+v", got.Result)
	}
	other := app.Key
	other.ID = "other"
	if _, err := b.mirror.Asked(t.Context(), other, asked.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another application's request is given: %v", err)
	}
	records, err := b.store.ListAudit(t.Context(), "acme", 0, 100)
	b.ok(err)
	if last := records[len(records)-1]; last.Action != "SYNC" || last.ID != "web" {
		t.Errorf("the audit trail says %+v", last)
	}
}

// TestAgentsAreToldOfNews once for what is saved together, and of what is asked, if
// there is a delegate to tell.
func TestAgentsAreToldOfNews(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: {source: {repoURL: https://a/b, path: .}, destination: {name: in-cluster}}\n"
	b.save(app)
	b.documents(nil)
	saved := b.save(strings.ReplaceAll(app, "path: .", "path: b"))
	if len(b.told) > 0 {
		t.Errorf("told %q; no delegate is the agent", b.told)
	}
	with := hello(2)
	with.Delegate = "d1"
	welcome, err := b.mirror.Hello(t.Context(), agent(), with)
	b.ok(err)
	if welcome.PollEvery <= 0 {
		t.Errorf("the welcome is %+v", welcome)
	}
	b.save(app)
	b.ok(b.mirror.Saved(t.Context(), saved.Key, saved.Key))
	_, err = b.mirror.Ask(t.Context(), saved.Key, protocol.Request{Kind: protocol.RequestSync, Operation: &gitops.Operation{Sync: &gitops.SyncRequest{}}}, audit.Author{Actor: "ann"})
	b.ok(err)
	if want := []string{"acme/d1", "acme/d1", "acme/d1"}; !slices.Equal(b.told, want) {
		t.Errorf("told %q; want %q", b.told, want)
	}
}
