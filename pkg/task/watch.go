package task

import (
	"encoding/json"
	"time"
)

// Workload is what runs instances, such as pods, as a step put it or as it is
// in its place.
type Workload struct {
	Resource string   `json:"resource"` // as in Change, e.g. "apps/Deployment/guestbook/web"
	Images   []string `json:"images,omitempty"`
	// Traffic is where it sends its requests, where it is what does so.
	Traffic []string `json:"traffic,omitempty"`
	// State is how it was left, of what says so itself, such as a stack; empty while it
	// changes, or if it doesn't say.
	State string `json:"state,omitempty"`
	// Selector finds its instances, for the watcher of its kind: of Kubernetes
	// pods, by their labels. Empty if the workload doesn't say.
	Selector string `json:"selector,omitempty"`
	// Replicas is how many instances are wanted; nil if nobody has said so, or an
	// autoscaler decides.
	Replicas *int64 `json:"replicas,omitempty"`
	// ReplicasBy is who set Replicas last, on Kubernetes a field manager; only of
	// what was found in its place.
	ReplicasBy string `json:"replicasBy,omitempty"`
	// Gone: it isn't in its place; only of what was looked for there.
	Gone bool `json:"gone,omitempty"`
}

// Watched names a watch that a delegate keeps. A fence that has grown since
// means that somebody else keeps it, or that a deployment changed it.
type Watched struct {
	ID    string `json:"id"`
	Fence int64  `json:"fence"`
}

// Watch is a release that a delegate is to watch until it is told otherwise.
type Watch struct {
	ID    string `json:"id"`
	Fence int64  `json:"fence"`
	Kind  Kind   `json:"kind"` // of the task that put it there
	// Target is what was deployed where last, Place that task's.
	Target Target          `json:"target"`
	Place  json.RawMessage `json:"place"`
	// Workloads are those to report with the instances: Resource and Selector.
	Workloads []Workload `json:"workloads,omitempty"`
	// Secrets are the values of the placeholders in Place.
	Secrets map[string]string `json:"secrets,omitempty"`
	// LateSecrets are as in Assignment.
	LateSecrets map[string]LateSecret    `json:"lateSecrets,omitempty"`
	Tokens      map[string]IdentityToken `json:"tokens,omitempty"` // likewise
}

// MaxInstances bounds how many instances an Observed lists.
const MaxInstances = 2000

// Observed is what runs of a watched release.
type Observed struct {
	Watched
	Instances []Instance `json:"instances"`
	Workloads []Workload `json:"workloads,omitempty"`
	// News is of a watch for versions, which has nothing of the above (poll.News).
	News json.RawMessage `json:"news,omitempty"`
	// Trouble is why nothing could be found out; then the rest says nothing.
	Trouble string `json:"trouble,omitempty"`
}

// ObserveEvery is how often a delegate reports a release of which nothing
// changes, so that it is known to be watched.
const ObserveEvery = time.Hour
