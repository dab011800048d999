// Package provision is what is known of what provisioners make, such as stacks:
// what a delegate says that it has done, and what it is told of those before
// (semantics/pipeline §7.15).
//
// Both sides import it, as they do pkg/task. Who keeps it is pkg/execution, and
// whose steps it is about is pkg/provisioner.
package provision

import (
	"encoding/json"
	"time"
)

// Provisioner names what a task makes outside by the text by which steps of a
// project find each other's work. What is kept of it belongs to the task's kind:
// the same text of another kind is another provisioner.
type Provisioner struct {
	Identifier string `json:"identifier"`
	Workspace  string `json:"workspace,omitempty"` // of tools that have such
	// Place is how a step that knows the identifier alone finds what was made. It
	// holds references, such as a connector's, and nothing that is secret.
	Place json.RawMessage `json:"place,omitempty"`
}

// Status says what an execution has done by a provisioner.
type Status string

// The statuses.
const (
	Begun      Status = "begun"      // it may have changed something
	Applied    Status = "applied"    // what its inputs say is there
	RolledBack Status = "rolledBack" // likewise, and they are those of an earlier execution
	Destroyed  Status = "destroyed"  // nothing is there
)

// MaxBytes bounds what is kept at once of what a provisioner found, or was given.
const MaxBytes = 1 << 20

// Done is what one execution has done by a provisioner.
type Done struct {
	Execution string    `json:"execution"`
	Step      string    `json:"step"` // the id of the node that was last
	Status    Status    `json:"status"`
	At        time.Time `json:"at"` // of the status
	// Before is what was there before the execution's first change.
	Before json.RawMessage `json:"before,omitempty"`
	// Inputs are what was applied last, by which it can be applied again.
	Inputs json.RawMessage `json:"inputs,omitempty"`
}

// Keep says what the task's execution does by its provisioner. It is answered by
// the Done that is kept. A task that is about to change something says so first.
type Keep struct {
	Fence  int64  `json:"fence"`
	Status Status `json:"status" enum:"begun,applied,rolledBack,destroyed"`
	// Data is what was there before of one that has begun, and the inputs of one
	// that was applied or rolled back.
	Data json.RawMessage `json:"data,omitempty"`
}

// Ask asks for what is known of the task's provisioner.
type Ask struct {
	Fence int64 `json:"fence"`
	// Alone asks to be the only one that works by the provisioner, until the task
	// ends: those who ask stand in a line.
	Alone bool `json:"alone,omitempty"`
}

// Known answers Ask.
type Known struct {
	Own *Done `json:"own,omitempty"` // of the task's execution
	// Earlier is the last of another execution that has come to an end.
	Earlier *Done `json:"earlier,omitempty"`
	// Holder is the execution that works by the provisioner, where the task has
	// asked to be alone and isn't yet.
	Holder string `json:"holder,omitempty"`
}
