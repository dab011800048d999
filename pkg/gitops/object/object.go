// Package object names the objects of clusters that applications are made of, and
// what is written on them: by whom they are kept, which application they belong to,
// and how people want them treated.
//
// It holds no object: delegate/gitops has those.
package object

import "strings"

// Manager is the field manager under which every object of an application is
// applied, and by whose entry drift is seen (semantics/gitops §6).
const Manager = "slipway-gitops"

// What Slipway and Argo CD write on objects. All of our own keys begin with Prefix.
const (
	Prefix = "slipway.dev/"
	// LabelAgent says whose an object is: the first 8 hex digits of the SHA-256 of
	// NAMESPACE/ORG/PROJECT/ID, of the agent's own namespace and its reference.
	LabelAgent = Prefix + "gitops"

	AnnotationTracking       = "argocd.argoproj.io/tracking-id"
	AnnotationInstallation   = "argocd.argoproj.io/installation-id"
	AnnotationWave           = "argocd.argoproj.io/sync-wave"
	AnnotationHook           = "argocd.argoproj.io/hook"
	AnnotationHookDelete     = "argocd.argoproj.io/hook-delete-policy"
	AnnotationOptions        = "argocd.argoproj.io/sync-options"
	AnnotationCompare        = "argocd.argoproj.io/compare-options"
	AnnotationRefresh        = "argocd.argoproj.io/refresh"
	AnnotationSkipReconcile  = "argocd.argoproj.io/skip-reconcile"
	AnnotationIgnoreHealth   = "argocd.argoproj.io/ignore-healthcheck"
	AnnotationManifestPaths  = "argocd.argoproj.io/manifest-generate-paths"
	AnnotationDeleteApproved = "argocd.argoproj.io/deletion-approved"

	FinalizerForeground = "resources-finalizer.argocd.argoproj.io"
	FinalizerBackground = "resources-finalizer.argocd.argoproj.io/background"
	FinalizerHook       = "argocd.argoproj.io/hook-finalizer"
)

// Key names an object of a cluster. The version isn't part of it: the same object
// can be read in several.
type Key struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"` // empty: the kind has none
	Name      string `json:"name"`
}

// String is the key as tracking ids and messages have it: group/Kind:namespace/name.
func (k Key) String() string { return k.Group + "/" + k.Kind + ":" + k.Namespace + "/" + k.Name }

// TrackingID is the value of AnnotationTracking on an object of an application.
func TrackingID(app string, k Key) string { return app + ":" + k.String() }

// ParseTrackingID reads a value of AnnotationTracking; false if it is none.
func ParseTrackingID(id string) (app string, k Key, ok bool) {
	app, rest, ok1 := strings.Cut(id, ":")
	kind, name, ok2 := strings.Cut(rest, ":")
	group, kind, ok3 := strings.Cut(kind, "/")
	namespace, name, ok4 := strings.Cut(name, "/")
	k = Key{Group: group, Kind: kind, Namespace: namespace, Name: name}
	return app, k, ok1 && ok2 && ok3 && ok4 && app != "" && kind != "" && name != ""
}
