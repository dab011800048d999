package api_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

const shop = "?org=default&project=shop"

// placed saves that a service runs somewhere, watched by a delegate.
func (s *server) placed(service, environment, watcher string, at time.Time) {
	s.t.Helper()
	scope, two, three := ref.Scope{Account: "default", Org: "default", Project: "shop"}, int64(2), int64(3)
	p := store.Placement{
		Key:     store.PlacementKey{Scope: scope, Service: service, Environment: environment, Infrastructure: "cluster", Target: "kubernetes:shop/" + service},
		Watcher: watcher, Fence: 1,
		Deployed: store.Deployed{
			Artifact: "web:2", Release: service, Namespace: "shop", Action: "applied", Pipeline: "deploy", Execution: "x1", Actor: "ann", At: at,
			Workloads: []task.Workload{{Resource: "apps/Deployment/shop/web", Replicas: &two}},
		},
		Look: store.Look{Kind: kubernetes.Kind, Place: json.RawMessage(`{}`)},
		Seen: store.Seen{
			At: at, Workloads: []task.Workload{{Resource: "apps/Deployment/shop/web", Replicas: &three}},
			Instances: []task.Instance{
				{Name: "old", Namespace: "shop", Images: []string{"proxy:1", "web:1"}, Since: at.Add(-time.Hour)},
				{Name: "new", Namespace: "shop", Images: []string{"web:2"}, Since: at.Add(time.Hour), Ready: true, Properties: map[string]string{"zone": "a"}},
			},
		},
	}
	m := store.Moment{Key: p.Key, At: at, ID: environment, Instances: 2, Versions: map[string]int{"web:1": 1, "web:2": 1}, Cause: "applied", Execution: "x1"}
	if _, err := s.store.SavePlacement(s.t.Context(), p, &m); err != nil {
		s.t.Fatal(err)
	}
	key := store.EntityKey{Scope: scope, Kind: ref.Service, ID: service}
	if _, err := s.store.Entity(s.t.Context(), key); err == nil {
		return
	}
	if _, err := s.store.SaveEntity(s.t.Context(), store.Entity{Key: key, YAML: []byte("x")}, audit.Record{Scope: scope}); err != nil {
		s.t.Fatal(err)
	}
}

func TestInstancesAreListed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	d := store.Delegate{ID: "d1", Name: "d1", Scope: ref.Scope{Account: "default"}, LastSeen: now}
	if err := s.store.PutDelegate(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	s.placed("web", "prod", "d1", now)
	s.placed("web", "qa", "gone", now)
	s.placed("api", "prod", "", now)
	for path, want := range map[string][]string{
		"/v1/instances" + shop:                                  {"api/prod", "web/prod", "web/qa"},
		"/v1/instances" + shop + "&limit=2":                     {"api/prod", "web/prod", "and more"},
		"/v1/instances" + shop + "&service=web":                 {"web/prod", "web/qa"},
		"/v1/instances" + shop + "&environment=prod":            {"api/prod", "web/prod"},
		"/v1/services/web/instances" + shop + "&environment=qa": {"web/qa"},
		"/v1/instances?org=default&project=other":               nil,
		"/v1/instances?org=default&service=none":                nil, // of any project
	} {
		var l api.PlacementList
		s.ask("GET", path, "").want(200, &l)
		var got []string
		for _, p := range l.Placements {
			got = append(got, p.Service+"/"+p.Environment)
		}
		if l.NextPageToken != "" {
			got = append(got, "and more")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	var l api.PlacementList
	s.ask("GET", "/v1/services/web/instances"+shop, "").want(200, &l)
	want := api.Placement{
		Org: "default", Project: "shop", Service: "web", Environment: "prod", Infrastructure: "cluster", Namespace: "shop", Release: "web", Artifact: "web:2",
		Deployed: api.Deployed{Action: "applied", Pipeline: "deploy", Execution: "x1", Actor: "ann", At: now},
		Count:    2, Versions: []api.Version{{Image: "web:1", Instances: 1}, {Image: "web:2", Instances: 1}}, Watched: true, SeenAt: now,
		Drift: []string{"Deployment/web has 3 replicas; deployed were 2"},
		Instances: []api.ServiceInstance{
			{Name: "old", Namespace: "shop", Version: "web:1", Images: []string{"proxy:1", "web:1"}, Since: now.Add(-time.Hour), DeployedBy: "ann"},
			{Name: "new", Namespace: "shop", Version: "web:2", Images: []string{"web:2"}, Since: now.Add(time.Hour), DeployedBy: "AUTO_SCALED", Ready: true, Properties: map[string]string{"zone": "a"}},
		},
	}
	if diff := cmp.Diff(want, l.Placements[0]); diff != "" {
		t.Errorf("placement (-want +got):\n%s", diff)
	}
	if l.Placements[1].Watched {
		t.Error("a delegate that is gone counts as one that watches")
	}
	s.ask("GET", "/v1/services/none/instances"+shop, "").problem(404)
	s.ask("GET", "/v1/services/web/instances"+shop+"&environment=none", "").problem(404)
	s.ask("GET", "/v1/instances"+shop+"&service=none", "").problem(404)
	s.ask("GET", "/v1/services/none/instances/history"+shop, "").problem(404)
	var h api.History
	s.ask("GET", "/v1/services/web/instances/history"+shop+"&environment=qa", "").want(200, &h)
	if len(h.Moments) != 1 || h.Moments[0].Environment != "qa" || h.Moments[0].Count != 2 {
		t.Errorf("history of qa: %+v", h.Moments)
	}
}

func TestInstancesAreForThoseOfTheScope(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.placed("web", "prod", "", time.Now())
	other := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "other"}, Name: "bo", Actor: "bo"})
	for _, path := range []string{"/v1/instances", "/v1/services/web/instances", "/v1/services/web/instances/history"} {
		if p := s.ask("GET", path+shop, "", "Authorization", "Bearer "+other).problem(403); p.Code != fault.Forbidden {
			t.Errorf("%s: %s", path, p.Code)
		}
	}
}

func TestDelegatesWatchOverHTTP(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.placed("web", "prod", "", time.Now())
	key := store.EntityKey{Scope: ref.Scope{Account: "default", Org: "default", Project: "shop"}, Kind: ref.Environment, ID: "prod"}
	if _, err := s.store.SaveEntity(t.Context(), store.Entity{Key: key, YAML: []byte("x")}, audit.Record{Scope: key.Scope}); err != nil {
		t.Fatal(err)
	}
	delegate := func(id string) (ask func(path, body string) answer) {
		token := "Bearer " + s.mint(access.Grant{Kind: store.TokenDelegate, Scope: ref.Scope{Account: "default"}, Name: id, Actor: id})
		s.ask("POST", "/v1/delegate/register", fmt.Sprintf(`{"id":%q,"name":%q,"kinds":["kubernetes"]}`, id, id), "Authorization", token).want(200, nil)
		return func(path, body string) answer {
			return s.ask("POST", "/v1/delegate/d1/"+path, body, "Authorization", token)
		}
	}
	d1, d2 := delegate("d1"), delegate("d2")
	d2("watches", `{"held":[]}`).problem(403) // it isn't d1
	d2("instances", `{}`).problem(403)
	var w protocol.Watches
	d1("watches", `{"held":[]}`).want(200, &w)
	if len(w.Watch) != 1 {
		t.Fatalf("the delegate was given %+v", w)
	}
	report := fmt.Sprintf(`{"id":%q,"fence":%d,"instances":[{"name":"a","namespace":"shop"}]}`, w.Watch[0].ID, w.Watch[0].Fence)
	d1("instances", report).want(204, nil)
	var l api.PlacementList
	s.ask("GET", "/v1/instances"+shop, "").want(200, &l)
	if p := l.Placements[0]; p.Count != 1 || p.Instances[0].Name != "a" || !p.Watched {
		t.Errorf("after the report: %+v", p)
	}
	stale := fmt.Sprintf(`{"id":%q,"fence":%d,"instances":[]}`, w.Watch[0].ID, w.Watch[0].Fence-1)
	if p := d1("instances", stale).problem(409); p.Code != fault.LeaseLost {
		t.Errorf("a report under an old fence: %s", p.Code)
	}
	d1("instances", `{"id":"nonsense","fence":1}`).problem(400)
}
