package gitops

import (
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Operation is a request to change the cluster.
type Operation struct {
	Sync        *SyncRequest `json:"sync,omitempty"`
	InitiatedBy Initiator    `json:"initiatedBy,omitzero"`
	Info        []Info       `json:"info,omitempty"`
	Retry       Retry        `json:"retry,omitzero"`
}

// Initiator is who asked.
type Initiator struct {
	Username  string `json:"username,omitempty"`
	Automated bool   `json:"automated,omitempty"`
}

// SyncRequest is what is to be synced, and how. Empty fields are the application's
// own.
type SyncRequest struct {
	Revision     string        `json:"revision,omitempty"`
	Revisions    []string      `json:"revisions,omitempty"` // beside Sources
	Prune        bool          `json:"prune,omitempty"`
	DryRun       bool          `json:"dryRun,omitempty"`
	SyncStrategy *SyncStrategy `json:"syncStrategy,omitempty"`
	Resources    []object.Key  `json:"resources,omitempty"` // those alone
	// Filter chooses Resources among the application's objects when the sync begins.
	Filter      *ObjectFilter `json:"filter,omitempty"`
	Source      *Source       `json:"source,omitempty"`
	Sources     []Source      `json:"sources,omitempty"`
	Manifests   []string      `json:"manifests,omitempty"`
	SyncOptions []string      `json:"syncOptions,omitempty"` // in place of the application's
}

// ObjectFilter takes objects of which all that it says is true. What it doesn't say is
// empty.
type ObjectFilter struct {
	object.Key

	Label string `json:"label,omitempty"` // key=value
}

// Takes says whether a filter takes an object with some labels.
func (f *ObjectFilter) Takes(k object.Key, labels map[string]string) bool {
	for _, part := range [][2]string{{f.Group, k.Group}, {f.Kind, k.Kind}, {f.Namespace, k.Namespace}, {f.Name, k.Name}} {
		if part[0] != "" && part[0] != part[1] {
			return false
		}
	}
	key, value, _ := strings.Cut(f.Label, "=")
	has, there := labels[key]
	return f.Label == "" || there && has == value
}

// SyncStrategy is with hooks, as it is if nothing is said, or without.
type SyncStrategy struct {
	Apply *SyncStrategyForce `json:"apply,omitempty"`
	Hook  *SyncStrategyForce `json:"hook,omitempty"`
}

// SyncStrategyForce says whether what can't be changed is made anew.
type SyncStrategyForce struct {
	Force bool `json:"force,omitempty"`
}

// OperationPhase is how far an operation is.
type OperationPhase string

// The phases of operations, and of hooks. Failed: the world said no; Error: it
// couldn't be found out.
const (
	OperationRunning     OperationPhase = "Running"
	OperationTerminating OperationPhase = "Terminating"
	OperationSucceeded   OperationPhase = "Succeeded"
	OperationFailed      OperationPhase = "Failed"
	OperationError       OperationPhase = "Error"
)

// Ended says whether nothing more comes.
func (p OperationPhase) Ended() bool {
	return p == OperationSucceeded || p == OperationFailed || p == OperationError
}

// OperationState is an operation and what came of it.
type OperationState struct {
	Operation  Operation      `json:"operation"`
	Phase      OperationPhase `json:"phase"`
	Message    string         `json:"message,omitempty"`
	SyncResult *SyncResult    `json:"syncResult,omitempty"`
	StartedAt  time.Time      `json:"startedAt"`
	FinishedAt *time.Time     `json:"finishedAt,omitempty"`
	RetryCount int64          `json:"retryCount,omitempty"`
}

// SyncResult is what a sync did to each object.
type SyncResult struct {
	Revision                 string             `json:"revision"`
	Revisions                []string           `json:"revisions,omitempty"`
	Source                   *Source            `json:"source,omitempty"`
	Sources                  []Source           `json:"sources,omitempty"`
	Resources                []ResourceResult   `json:"resources,omitempty"`
	ManagedNamespaceMetadata *NamespaceMetadata `json:"managedNamespaceMetadata,omitempty"`
}

// SyncPhase is the part of a sync in which an object or a hook has its turn.
type SyncPhase string

// The phases of a sync. PreDelete and PostDelete are those of a deletion.
const (
	PreSync    SyncPhase = "PreSync"
	Sync       SyncPhase = "Sync"
	PostSync   SyncPhase = "PostSync"
	SyncFail   SyncPhase = "SyncFail"
	PreDelete  SyncPhase = "PreDelete"
	PostDelete SyncPhase = "PostDelete"
)

// ResultCode is what a sync did to an object.
type ResultCode string

// What a sync does to objects.
const (
	ResultSynced       ResultCode = "Synced"
	ResultSyncFailed   ResultCode = "SyncFailed"
	ResultPruned       ResultCode = "Pruned"
	ResultPruneSkipped ResultCode = "PruneSkipped"
)

// ResourceResult is what a sync did to one object or hook.
type ResourceResult struct {
	object.Key
	Version   string         `json:"version"`
	Status    ResultCode     `json:"status,omitempty"`
	Message   string         `json:"message,omitempty"`
	HookType  SyncPhase      `json:"hookType,omitempty"`  // empty: no hook
	HookPhase OperationPhase `json:"hookPhase,omitempty"` // of an object: how its apply went
	SyncPhase SyncPhase      `json:"syncPhase,omitempty"`
	Images    []string       `json:"images,omitempty"`
}
