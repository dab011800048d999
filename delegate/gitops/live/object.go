package live

import (
	"maps"
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Object is what is kept of an object.
type Object struct {
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Observed        int64 // the generation that its status is about; only of kinds with health
	Deleting        bool
	Own             Hash
	// App is the application that the object's tracking id names. An id that is
	// another object's, as copies have, names none and is kept as Tracking.
	App      string
	Tracking string
	Health   *gitops.HealthStatus // nil: its kind has none
	Notes    map[string]string    // its other annotations of argocd.argoproj.io/; nil mostly
}

// same says whether nothing has changed that anybody goes by: what others write
// into an object moves its version and is none of our business. An object that
// shows no owners is only known by its version.
func (o *Object) same(as *Object) bool {
	healthy := o.Health == as.Health || o.Health != nil && as.Health != nil && o.Health.Status == as.Health.Status && o.Health.Message == as.Health.Message
	return healthy && o.UID == as.UID && o.Observed == as.Observed && o.Deleting == as.Deleting && o.Own == as.Own && o.App == as.App && o.Tracking == as.Tracking &&
		maps.Equal(o.Notes, as.Notes) && (o.Own != 0 || o.ResourceVersion == as.ResourceVersion)
}

// Event is a change of an object.
type Event struct {
	Key object.Key
	// Before is nil for an object that came, After for one that has gone.
	Before, After *Object
	// Stray is an object that has gone from sight only: it is in the cluster as
	// this, without our label.
	Stray *unstructured.Unstructured
}

const argo = "argocd.argoproj.io/"

// objectOf is what is kept of an object that the server shows.
func objectOf(o metav1.Object, key object.Key, namespaced bool) Object {
	kept := Object{
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration(), Deleting: o.GetDeletionTimestamp() != nil, Own: OwnHash(o),
	}
	for name, value := range o.GetAnnotations() {
		switch {
		case name == object.AnnotationTracking:
			kept.App, kept.Tracking = tracked(value, key, namespaced)
		case strings.HasPrefix(name, argo):
			if kept.Notes == nil {
				kept.Notes = map[string]string{}
			}
			kept.Notes[shared(name)] = shared(value)
		}
	}
	return kept
}

// tracked reads a tracking id. That of an object without a namespace may have the
// one of its application.
func tracked(id string, key object.Key, namespaced bool) (app, foreign string) {
	app, named, ok := object.ParseTrackingID(id)
	if !namespaced {
		named.Namespace = ""
	}
	if !ok || named != key {
		return "", id
	}
	return shared(app), ""
}

// shared gives one copy of a text that many objects have.
func shared(text string) string { return unique.Make(text).Value() }
