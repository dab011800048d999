package task

import (
	"maps"
	"slices"
	"time"
)

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
	// Properties is what its kind says of it besides, at
	// most MaxProperties; see Describe.
	Properties map[string]string `json:"properties,omitempty"`
}

// MaxProperties bounds the names and values of an instance's properties, in
// bytes: there may be thousands of instances, and people read them.
const MaxProperties = 1 << 10

// Describe gives an instance those properties that fit, in the order of their
// names.
func (i *Instance) Describe(properties map[string]string) {
	i.Properties = nil
	left := MaxProperties
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		value := properties[name]
		if left -= len(name) + len(value); left < 0 {
			return
		}
		if i.Properties == nil {
			i.Properties = map[string]string{}
		}
		i.Properties[name] = value
	}
}

// Described is how much of MaxProperties an instance has.
func (i *Instance) Described() int {
	n := 0
	for name, value := range i.Properties {
		n += len(name) + len(value)
	}
	return n
}

// InstancesFound is what a step puts out that finds instances for the steps
// after it (semantics/pipeline §9.6).
type InstancesFound struct {
	List []InstanceFound `json:"serverInstanceInfoList"`
}

// InstanceFound is one instance. Both names are the same.
type InstanceFound struct {
	HostName     string            `json:"hostName"`
	InstanceName string            `json:"instanceName"`
	Properties   map[string]string `json:"properties"`
}
