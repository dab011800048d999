// Package feed tells what happens in Slipway to whoever wants to know: the
// events that go onto the bus on AWS, to a webhook on one machine, and to what
// sends notifications.
//
// It is made of the store's changes, which are kept with the writes that make
// them: nothing is lost with a process, and no pipeline waits for a subscriber.
// Every event comes at least once. What becomes of it is its subscriber's.
package feed

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// Type says what happened; EventBridge calls it the detail type.
type Type string

// The types; events/README.md describes them.
const (
	ExecutionStarted    Type = "Execution Started"
	ExecutionPaused     Type = "Execution Paused"
	ExecutionResumed    Type = "Execution Resumed"
	ExecutionEnded      Type = "Execution Ended"
	StageStarted        Type = "Stage Started"
	StageEnded          Type = "Stage Ended"
	StepStarted         Type = "Step Started"
	StepEnded           Type = "Step Ended"
	ApprovalWaiting     Type = "Approval Waiting"
	InterventionWaiting Type = "Intervention Waiting"
	InputWaiting        Type = "Input Waiting"
	TriggerFailed       Type = "Trigger Failed"
	EntitySaved         Type = "Entity Saved"
	EntityDeleted       Type = "Entity Deleted"
)

// Types lists them all.
func Types() []Type {
	return []Type{
		ExecutionStarted, ExecutionPaused, ExecutionResumed, ExecutionEnded, StageStarted, StageEnded, StepStarted, StepEnded,
		ApprovalWaiting, InterventionWaiting, InputWaiting, TriggerFailed, EntitySaved, EntityDeleted,
	}
}

// Source is where all events come from.
const Source = "slipway"

// Event is something that happened.
type Event struct {
	Type   Type
	At     time.Time
	Detail Detail
}

// Detail says to what it happened. Which fields there are depends on the type.
type Detail struct {
	// ID is the same each time the event comes.
	ID      string `json:"id"`
	Account string `json:"account"`
	Org     string `json:"org,omitempty"`
	Project string `json:"project,omitempty"`
	Actor   string `json:"actor,omitempty"` // who started, paused or resumed the execution, or changed the entity

	// An execution's part, also of its stages and steps.

	Execution    string      `json:"execution,omitempty"`
	Pipeline     string      `json:"pipeline,omitempty"`
	PipelineName string      `json:"pipelineName,omitempty"`
	Sequence     int64       `json:"sequence,omitempty"`
	Stage        *Node       `json:"stage,omitempty"`
	Step         *Node       `json:"step,omitempty"`
	Status       plan.Status `json:"status,omitempty"`  // of what the type names
	Message      string      `json:"message,omitempty"` // why it failed, or what an approver is asked
	StartedAt    time.Time   `json:"startedAt,omitzero"`
	EndedAt      time.Time   `json:"endedAt,omitzero"`

	Trigger *Trigger `json:"trigger,omitempty"`
	Entity  *Entity  `json:"entity,omitempty"`
}

// Trigger is one that an event concerned.
type Trigger struct {
	ID    string `json:"id"`
	Event string `json:"event"` // the delivery, or the minute
}

// Node is a stage or a step.
type Node struct {
	Node plan.NodeID `json:"node"` // its place in the pipeline
	ID   string      `json:"id"`
	Name string      `json:"name,omitempty"`
	Type string      `json:"type,omitempty"` // as in YAML
}

// Entity is a document that was saved or deleted.
type Entity struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	New  bool   `json:"new,omitempty"` // it was saved for the first time
}

// Envelope is an event as EventBridge gives it to its targets, and as a
// webhook gets it.
type Envelope struct {
	Version string    `json:"version"`
	ID      string    `json:"id"`
	Source  string    `json:"source"`
	Type    Type      `json:"detail-type"`
	Time    time.Time `json:"time"`
	Detail  Detail    `json:"detail"`
}

// Envelope puts the event into one. On AWS EventBridge does that, with an id
// of its own.
func (e Event) Envelope() Envelope {
	return Envelope{Version: "0", ID: e.Detail.ID, Source: Source, Type: e.Type, Time: e.At.UTC().Truncate(time.Second), Detail: e.Detail}
}

// Event takes it out again.
func (e Envelope) Event() Event { return Event{Type: e.Type, At: e.Time, Detail: e.Detail} }
