package reconcile

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
)

// Applications go to other clusters than the agent's. One that is away stops nobody
// else, and one that is only looked into by namespace gets nothing else.
func TestOtherClusters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := w.cluster.Config
	far := access.Cluster{Server: cfg.Host, Name: "far", Namespaces: []string{w.namespace}, Config: access.ClusterConfig{BearerToken: cfg.BearerToken, TLS: access.ClusterTLS{CAData: cfg.CAData}}}
	away := access.Cluster{Server: "https://127.0.0.1:1", Name: "away", Config: access.ClusterConfig{BearerToken: "s3cret", TLS: access.ClusterTLS{Insecure: true}}}
	blue := access.Cluster{Server: "https://127.0.0.1:2", Name: "blue", Project: "blue"}
	var connections Connections
	clusters := func(docs ...access.Cluster) { w.docs.Clusters = connections.Clusters(docs) }
	clusters(far, away, blue)
	to := func(name string) func(*gitops.ApplicationSpec) {
		return func(s *gitops.ApplicationSpec) {
			s.Destination = gitops.Destination{Name: name, Namespace: w.namespace}
			s.Source.Path = "web"
		}
	}
	var apps []gitops.Application
	for i := range 2 * workers {
		apps = append(apps, w.app("lost"+strings.Repeat("x", i), to("away"), automated))
	}
	commit := w.git.Commit(map[string]string{
		"web/a.yaml": configMap("a", "one"), "wide/b.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n", "other/c.yaml": configMap("c", "one", `x: "y"`) + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, namespace: default}\n",
	})
	apps = append(apps,
		w.app("web", to("far"), automated), w.app("foreign", to("blue")),
		w.app("wide", automated, func(s *gitops.ApplicationSpec) { s.Destination.Server, s.Destination.Name = "", "far" }),
		w.app("other", automated, func(s *gitops.ApplicationSpec) { s.Destination.Server, s.Destination.Name = "", "far" }))
	w.save(apps...)
	w.start()
	w.synced("web", commit)
	if w.data("a", "a") != "one" {
		t.Error("nothing came to the other cluster")
	}
	w.edit("a", `{"data":{"a":"three"}}`)
	w.until("web", "healed", func(s gitops.ApplicationStatus) bool {
		return s.Sync.Status == gitops.Synced && w.data("a", "a") == "one"
	})
	has := func(s gitops.ApplicationStatus, words string) bool {
		return slices.ContainsFunc(s.Conditions, func(c gitops.Condition) bool { return strings.Contains(c.Message, words) })
	}
	s := w.until("lost", "told to be lost", func(s gitops.ApplicationStatus) bool { return has(s, "cluster away: it can't be reached") })
	if s.Health.Status != gitops.HealthUnknown || s.Sync.Status != gitops.SyncUnknown || has(s, "s3cret") {
		t.Errorf("an application of a cluster that is away is %s", show(s))
	}
	w.until("foreign", "refused", func(s gitops.ApplicationStatus) bool { return has(s, "the cluster blue is the project blue's alone") })
	for name, words := range map[string]string{"wide": "Namespace b is of the whole cluster", "other": "not into that of ConfigMap default/d"} {
		w.until(name, "refused", func(s gitops.ApplicationStatus) bool {
			o := s.OperationState
			return o != nil && o.SyncResult != nil && slices.ContainsFunc(o.SyncResult.Resources, func(r gitops.ResourceResult) bool { return strings.Contains(r.Message, words) })
		})
	}
	if w.data("c", "a") != "" {
		t.Error("something was applied beside an object that may not be")
	}

	clusters(away)
	w.SetDocuments(w.docs)
	w.until("web", "told that its cluster is gone", func(s gitops.ApplicationStatus) bool { return has(s, "this agent has no cluster far") })
	clusters(far, away)
	w.SetDocuments(w.docs)
	w.synced("web", commit)
	w.edit("a", `{"data":{"a":"three"}}`)
	w.until("web", "healed again", func(s gitops.ApplicationStatus) bool {
		return s.Sync.Status == gitops.Synced && w.data("a", "a") == "one"
	})
}
