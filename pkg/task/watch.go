package task

import "time"

// Workload is what runs pods, as a step put it or as it is in the cluster.
type Workload struct {
	Resource string   `json:"resource"` // as in Change, e.g. "apps/Deployment/guestbook/web"
	Images   []string `json:"images,omitempty"`
	// Selector finds its pods by their labels; empty if the workload doesn't say.
	Selector string `json:"selector,omitempty"`
	// Replicas is how many pods are wanted; nil if the manifest doesn't say so or
	// an autoscaler decides.
	Replicas *int64 `json:"replicas,omitempty"`
	// ReplicasBy is who set Replicas in the cluster last (a field manager); only
	// of what was found there.
	ReplicasBy string `json:"replicasBy,omitempty"`
	// Gone: it isn't in the cluster; only of what was looked for there.
	Gone bool `json:"gone,omitempty"`
}

// Place is where a release's instances are: all that a delegate needs to look
// at them again.
type Place struct {
	Cluster Cluster `json:"cluster"`
	Release string  `json:"release"`
	Pods    []Pods  `json:"pods"`
	// Script finds the instances of a custom deployment, which has no cluster.
	Script *Instances `json:"script,omitempty"`
}

// Pods are some pods of a namespace. Several of a place may have the same pod.
type Pods struct {
	Namespace string `json:"namespace"`
	Selector  string `json:"selector"` // by labels, e.g. "harness.io/release-name=web"
}

// Watched names a watch that a delegate keeps. A fence that has grown since
// means that somebody else keeps it, or that a deployment changed it.
type Watched struct {
	ID    string `json:"id"`
	Fence int64  `json:"fence"`
}

// Watching asks for releases to watch, and says which the delegate watches.
type Watching struct {
	Held []Watched `json:"held"`
}

// Watches answers Watching.
type Watches struct {
	Watch []Watch  `json:"watch,omitempty"` // to begin, or to begin anew
	Drop  []string `json:"drop,omitempty"`  // to end
}

// Watch is a release that a delegate is to watch until it is told otherwise.
type Watch struct {
	ID    string `json:"id"`
	Fence int64  `json:"fence"`
	Place Place  `json:"place"`
	// Workloads are those to report with the pods, as in Change.Resources.
	Workloads []string `json:"workloads,omitempty"`
	// Secrets are the values of the placeholders in Place.
	Secrets map[string]string `json:"secrets,omitempty"`
	// LateSecrets are as in Assignment.
	LateSecrets map[string]LateSecret `json:"lateSecrets,omitempty"`
}

// MaxInstances bounds how many instances an Observed lists.
const MaxInstances = 2000

// Observed is what runs of a watched release.
type Observed struct {
	Watched
	Instances []Instance `json:"instances"`
	Workloads []Workload `json:"workloads,omitempty"`
	// Trouble is why nothing could be found out; then the rest says nothing.
	Trouble string `json:"trouble,omitempty"`
}

// ObserveEvery is how often a delegate reports a release of which nothing
// changes, so that it is known to be watched.
const ObserveEvery = time.Hour
