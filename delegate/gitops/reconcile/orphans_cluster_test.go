package reconcile

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Objects of an application's namespace that belong to nobody are told, where its project
// wants that, and stay.
func TestOrphans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	commit := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one")})
	for _, name := range []string{"stray", "ignored-one", "owned"} {
		o := applying.Named(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, object.Key{Kind: "ConfigMap", Namespace: w.namespace, Name: name})
		if name == "owned" {
			o.SetAnnotations(map[string]string{object.AnnotationTracking: object.TrackingID("other", object.Key{Kind: "ConfigMap", Namespace: w.namespace, Name: name})})
		}
		if _, err := w.cluster.Create(t.Context(), o, "somebody"); err != nil {
			t.Fatal(err)
		}
	}
	project := gitops.Project{Meta: gitops.Meta{Name: "shop"}, Spec: gitops.ProjectSpec{
		SourceRepos: []string{"*"}, Destinations: []gitops.Destination{{Server: "*", Namespace: "*"}},
		OrphanedResources: &gitops.OrphanedResources{Ignore: []gitops.KindPattern{{Kind: "ConfigMap", Name: "ignored-*"}, {Kind: "Secret"}}},
	}}
	w.docs.Projects = []gitops.Project{project}
	w.start()
	w.save(w.app("web", automated, func(s *gitops.ApplicationSpec) { s.Project = "shop" }))
	w.synced("web", commit)
	w.until("web", "a warning", func(s gitops.ApplicationStatus) bool {
		return slices.ContainsFunc(s.Conditions, func(c gitops.Condition) bool {
			return c.Type == gitops.ConditionOrphanedResource && c.Message == "Application has 1 orphaned resources"
		})
	})
	v, err := w.Visit(t.Context(), Key{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	found, err := v.Orphans(t.Context())
	if err != nil || len(found) != 1 || found[0].Key.Name != "stray" || found[0].UID == "" {
		t.Errorf("found %+v, %v", found, err)
	}
	no := false
	project.Spec.OrphanedResources = &gitops.OrphanedResources{Warn: &no}
	w.docs.Projects = []gitops.Project{project}
	w.SetDocuments(w.docs)
	w.until("web", "no warning", func(s gitops.ApplicationStatus) bool { return len(s.Conditions) == 0 })
}
