package protocol

import (
	"encoding/json"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// RequestKind is what somebody wants of an agent.
type RequestKind string

// The kinds of requests.
const (
	RequestSync      RequestKind = "sync"
	RequestRefresh   RequestKind = "refresh"
	RequestRollback  RequestKind = "rollback"
	RequestTerminate RequestKind = "terminate" // the operation under way
	RequestDelete    RequestKind = "delete"    // of an application that is no document any more: its objects
	RequestResources RequestKind = "resources" // Result.Data: []gitops.ResourceStatus
	RequestHold      RequestKind = "hold"
	RequestRelease   RequestKind = "release" // of a hold

	// By Request.Look; beside each what Result.Data is.
	RequestDiff      RequestKind = "diff"      // []Difference
	RequestManifests RequestKind = "manifests" // []Manifest
	RequestTree      RequestKind = "tree"      // Tree
	RequestLogs      RequestKind = "logs"      // Logs
	RequestEvents    RequestKind = "events"    // []Event
	RequestActions   RequestKind = "actions"   // []Action
	RequestRollout   RequestKind = "rollout"   // Rollout

	// Of a set, by its key, of which refresh and delete are asked, too.
	RequestGenerate RequestKind = "generate" // Request.Generate; Result.Data: []gitops.Application

	// By Request.Touch; Result.Data is []object.Key.
	RequestAction       RequestKind = "action"
	RequestPatch        RequestKind = "patch"
	RequestDeleteObject RequestKind = "deleteObject"
)

// Request is what somebody wants of an agent. It is given to the agent until it
// is answered: a second time it is the same request.
type Request struct {
	ID        string            `json:"id"`
	App       AppKey            `json:"app"`
	Kind      RequestKind       `json:"kind"`
	By        string            `json:"by"`
	At        time.Time         `json:"at"`
	Operation *gitops.Operation `json:"operation,omitempty"` // sync
	Hard      bool              `json:"hard,omitempty"`      // refresh
	History   int64             `json:"history,omitempty"`   // rollback: HistoryEntry.ID; 0: Steps say it
	Steps     int               `json:"steps,omitempty"`     // rollback: so many entries back that differ; 0: one
	Prune     bool              `json:"prune,omitempty"`     // rollback
	DryRun    bool              `json:"dryRun,omitempty"`    // rollback
	Cascade   bool              `json:"cascade,omitempty"`   // delete
	Look      *Look             `json:"look,omitempty"`
	Touch     *Touch            `json:"touch,omitempty"`
	Hold      *Hold             `json:"hold,omitempty"`     // hold
	Generate  json.RawMessage   `json:"generate,omitempty"` // generate: an appset.Set
}

// Result is what became of a request. Of a sync and a rollback it says that it
// was begun: the summary says how it goes on.
type Result struct {
	// Failed says that it couldn't be done; Message says why.
	Failed bool `json:"failed,omitempty"`
	// Busy says that it couldn't be begun before something else has ended.
	Busy    bool            `json:"busy,omitempty"`
	Message string          `json:"message,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Answer brings a result.
type Answer struct {
	Lead
	ID     string `json:"id"`
	Result Result `json:"result"`
}
