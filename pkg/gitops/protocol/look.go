package protocol

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Which chooses objects. What is empty is any; "" is no group of its own.
type Which struct {
	Group     string `json:"group,omitempty" maxLength:"253"`
	Kind      string `json:"kind,omitempty" maxLength:"63"`
	Namespace string `json:"namespace,omitempty" maxLength:"63"`
	Name      string `json:"name,omitempty" maxLength:"253"`
}

// Has says whether an object is one that is chosen.
func (w Which) Has(k object.Key) bool {
	is := func(wanted, found string) bool { return wanted == "" || wanted == found }
	return is(w.Group, k.Group) && is(w.Kind, k.Kind) && is(w.Namespace, k.Namespace) && is(w.Name, k.Name)
}

// MostManifests bounds the manifests that a request brings.
const MostManifests = 512 << 10

// Look says what of an application is to be shown.
type Look struct {
	Which

	// Of a comparison, and of manifests.
	Revision  string   `json:"revision,omitempty" maxLength:"256" doc:"Of the source, in place of the application's"`
	Revisions []string `json:"revisions,omitempty" maxItems:"50" doc:"Of an application with several sources: of each"`
	Manifests string   `json:"manifests,omitempty" maxLength:"524288" doc:"What is compared in place of what the sources say: YAML"`
	Live      bool     `json:"live,omitempty" doc:"Manifests: what the cluster has, not what Git says"`

	// Of logs.
	Container string    `json:"container,omitempty" maxLength:"63" doc:"Of each pod; none means all"`
	Tail      int64     `json:"tail,omitempty" minimum:"0" doc:"Lines of each container, the newest; 0: as many as there is room for"`
	Since     int64     `json:"sinceSeconds,omitempty" minimum:"0" doc:"Lines of so many seconds"`
	After     time.Time `json:"after,omitzero" doc:"Lines later than this"`
	Until     time.Time `json:"until,omitzero" doc:"Lines not later than this"`
	Previous  bool      `json:"previous,omitempty" doc:"Of the containers before they were started again"`
	Filter    string    `json:"filter,omitempty" maxLength:"256" doc:"Lines with this text"`
	Follow    bool      `json:"follow,omitempty" doc:"Wait a while for lines if there are none"`

	// Of a Rollout.
	Seen string `json:"seen,omitempty" maxLength:"64" doc:"What is known of it: wait a while until it is something else"`
}

// Touch says what is to be done to live objects.
type Touch struct {
	Which

	All bool `json:"all,omitempty" doc:"All that are chosen; else there must be one"`
	// Ready leaves out objects that the action can't be done to as they are.
	Ready bool `json:"ready,omitempty" doc:"Of an action: leave out objects that don't have it as they are now"`
	// Action is one of Action, with its parameters.
	Action     string            `json:"action,omitempty" maxLength:"63"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Patch      string            `json:"patch,omitempty" maxLength:"524288"`
	PatchType  string            `json:"patchType,omitempty" enum:"merge,json,strategic" doc:"None means merge"`
	Orphan     bool              `json:"orphan,omitempty" doc:"Of a deletion: what the object owns stays"`
	Force      bool              `json:"force,omitempty" doc:"Of a deletion: at once; of a patch: although syncs are automated and would take it back"`
}

// Hold says how long an application is to stay what it is.
type Hold struct {
	Until  string `json:"until,omitempty" maxLength:"64" doc:"manual, newCommit or a time (RFC 3339); none means newCommit"`
	Reason string `json:"reason,omitempty" maxLength:"256"`
}

// How long a hold lasts that names no time.
const (
	HoldManual    = "manual"    // until somebody releases it
	HoldNewCommit = "newCommit" // until the sources render something else
)

// Difference is how an object is other than it is to be. It is cut, and says so, if
// there is no room for it.
type Difference struct {
	object.Key

	Text    string `json:"text,omitempty"`    // as people write it
	Message string `json:"message,omitempty"` // why it can't be told
	Prune   bool   `json:"prune,omitempty"`   // it isn't to be any more
	Cut     bool   `json:"cut,omitempty"`
}

// Manifest is an object as YAML, without what is secret.
type Manifest struct {
	object.Key

	Text string `json:"text,omitempty"`
	Cut  bool   `json:"cut,omitempty"`
}

// Tree is an application with what its objects own.
type Tree struct {
	Nodes         []Node `json:"nodes"`
	OrphanedNodes []Node `json:"orphanedNodes,omitempty"`
	Omitted       int    `json:"omitted,omitempty"` // for which there was no room
}

// Node is an object of a tree, in Argo CD's words.
type Node struct {
	object.Key

	Version         string               `json:"version,omitempty"`
	UID             string               `json:"uid,omitempty"`
	ParentRefs      []Parent             `json:"parentRefs,omitempty"`
	Info            []gitops.Info        `json:"info,omitempty"`
	ResourceVersion string               `json:"resourceVersion,omitempty"`
	Images          []string             `json:"images,omitempty"`
	Health          *gitops.HealthStatus `json:"health,omitempty"`
	CreatedAt       time.Time            `json:"createdAt,omitzero"`
	// Status and Hook are of the application's own objects.
	Status gitops.SyncCode `json:"status,omitempty"`
	Hook   bool            `json:"hook,omitempty"`
}

// Parent is who owns a node.
type Parent struct {
	object.Key

	UID string `json:"uid,omitempty"`
}

// Rollout is how a Rollout of Argo's is.
type Rollout struct {
	Health   gitops.HealthStatus `json:"health"`
	Strategy string              `json:"strategy,omitempty"` // canary or blueGreen
	Step     int64               `json:"step,omitempty"`
	Weight   int64               `json:"weight,omitempty"` // of the canary, in percent
	Sum      string              `json:"sum"`              // of all of that
}

// Line is one of a log.
type Line struct {
	At        time.Time `json:"timeStamp"`
	Pod       string    `json:"podName"`
	Container string    `json:"container"`
	Text      string    `json:"content"`
}

// Logs are lines by time. What there is no room for is left out from the oldest on.
type Logs struct {
	Lines   []Line   `json:"lines"`
	Cut     bool     `json:"cut,omitempty"`
	Pods    int      `json:"pods"`              // that were read
	Omitted int      `json:"omitted,omitempty"` // pods that weren't
	Notices []string `json:"notices,omitempty"` // of pods that have no logs
}

// Event is what the cluster says about an object.
type Event struct {
	object.Key

	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int64     `json:"count,omitempty"`
	At      time.Time `json:"lastTimestamp"`
}

// Action is what can be done to an object by its name.
type Action struct {
	object.Key

	Name       string   `json:"action"`
	Disabled   bool     `json:"disabled,omitempty"` // not as the object is now
	Parameters []string `json:"params,omitempty"`
}
