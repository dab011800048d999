package store

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
)

// PlacementKey says which service was put where.
type PlacementKey struct {
	Scope          ref.Scope // of the execution
	Service        string    // as the stage names it, e.g. "account.web"
	Environment    string    // likewise
	Infrastructure string
	Target         string // task.Change.Target, e.g. "kubernetes:guestbook/release-1a2b3c"
}

// String names the placement for a message.
func (k PlacementKey) String() string {
	return fmt.Sprintf("service %q in environment %q (%s) of %s", k.Service, k.Environment, k.Target, k.Scope)
}

// Placement is a service's release in a place and what runs of it.
type Placement struct {
	Key     PlacementKey
	Version int64
	// Watcher is the delegate that reports what runs, for as long as it is
	// connected; empty: nobody. Fence grows when the watch changes hands and
	// when a deployment changes what to watch.
	Watcher string
	Fence   int64

	Deployed Deployed
	Look     Look
	Seen     Seen
}

// Deployed is what the last step did to a placement.
type Deployed struct {
	Artifact  string      `json:"artifact,omitempty"`
	Previous  string      `json:"previous,omitempty"` // the artifact that a rollback goes back to
	Release   string      `json:"release"`
	Namespace string      `json:"namespace"`
	Revision  string      `json:"revision,omitempty"`
	Action    string      `json:"action"` // task.Change.Action
	Pipeline  string      `json:"pipeline"`
	Execution string      `json:"execution"`
	Before    string      `json:"before,omitempty"` // the execution that deployed there before this one
	Stage     plan.NodeID `json:"stage"`
	Node      plan.NodeID `json:"node"` // the step
	Actor     string      `json:"actor,omitempty"`
	At        time.Time   `json:"at"`
	Task      task.ID     `json:"task"` // what came of it; the same one again is no change
	TaskAt    time.Time   `json:"taskAt"`
	// Workloads are as they were deployed; what runs is compared with them.
	Workloads []task.Workload `json:"workloads,omitempty"`
	// Adopt are those of them that a step changed in place, such as by scaling:
	// the next report says how they are meant to be.
	Adopt []string `json:"adopt,omitempty"`
}

// Look is what a delegate needs to look at a placement. Secrets are
// references: values are opened when a delegate takes the watch.
type Look struct {
	Kind    task.Kind         `json:"kind"`              // whose watcher knows Place
	Place   json.RawMessage   `json:"place"`             // task.Work's; holds placeholders where secrets go
	Secrets map[string]string `json:"secrets,omitempty"` // placeholder -> scoped secret reference
	// Made are those of the place that the delegate makes, as in Task.
	Made map[string]task.LateSecret `json:"made,omitempty"`
	// Identities are those that the place names, as in Task.
	Identities map[string]identity.Identity `json:"identities,omitempty"`
	Selectors  []string                     `json:"selectors,omitempty"`
}

// Seen is what runs.
type Seen struct {
	Instances []task.Instance `json:"instances,omitempty"`
	Workloads []task.Workload `json:"workloads,omitempty"` // as they are in their place; none until a watch began
	At        time.Time       `json:"at"`
	// Trouble is why the place couldn't be looked at since then; the rest is the
	// last that is known.
	Trouble string `json:"trouble,omitempty"`
	// EmptySince is when the last instance left; zero while there are some.
	EmptySince time.Time `json:"emptySince,omitzero"`
}

// PlacementsKept is how long a placement without instances is kept
// (semantics/entities §14).
const PlacementsKept = 14 * 24 * time.Hour

// Expires is when the placement is forgotten; zero: not while something runs.
func (p Placement) Expires() time.Time {
	if p.Seen.EmptySince.IsZero() {
		return time.Time{}
	}
	return p.Seen.EmptySince.Add(PlacementsKept)
}

// WatchedPlacement is a placement in the list of those to watch.
type WatchedPlacement struct {
	Key     PlacementKey
	Watcher string
	Fence   int64
}

// Moment is a change of what runs of a service: of the number of its
// instances in a place, of their versions, or of both.
type Moment struct {
	Key       PlacementKey
	At        time.Time
	ID        string // tells moments of one time apart
	Instances int
	Versions  map[string]int // image of the artifact -> instances
	Artifact  string
	Cause     string // the deployment's action, or "observed"
	Execution string // of a deployment
}

// MomentsKept is how long a service's history is kept.
const MomentsKept = 30 * 24 * time.Hour
