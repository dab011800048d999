package task

import "time"

// Instance is one running copy of a service: a pod (semantics/kubernetes §18),
// a host, or whatever else its kind has.
type Instance struct {
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"` // empty where there are none
	IP        string   `json:"ip,omitempty"`
	Release   string   `json:"release,omitempty"`
	Color     string   `json:"color,omitempty"`
	Canary    bool     `json:"canary,omitempty"`
	Images    []string `json:"images,omitempty"`
	New       bool     `json:"new,omitempty"` // wasn't there before the step
	// Phase and Ready are the pod's: one that isn't ready still counts.
	Phase string    `json:"phase,omitempty"`
	Ready bool      `json:"ready,omitempty"`
	Since time.Time `json:"since,omitzero"` // when it was made
}
