// Package gitops is what GitOps is about, as values: applications and what they
// are rendered from, where they go, how they are to be synced and what came of it.
// The names and the shapes are those of Argo CD's argoproj.io/v1alpha1, which
// Harness wraps (semantics/gitops §1), so that their JSON is what the tools of
// both read.
//
// It knows no cluster, no Git and no file: what decides stands in the packages
// below it, and delegate/gitops is what looks and touches.
package gitops

// APIVersion is that of Argo CD's documents.
const APIVersion = "argoproj.io/v1alpha1"

// Meta is what documents of Argo CD have of a Kubernetes object's metadata. What a
// server writes there is neither read nor given out.
type Meta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
}

// Info is a pair that people put on an application or a sync for each other.
type Info struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
