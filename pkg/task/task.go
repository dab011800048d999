// Package task is the contract between the control plane and delegates: what
// a delegate is asked to do, what it answers, and under which lease.
//
// Both sides import it, so it holds types only: no client, no server, no
// heavy library. What a task is and how it ends stands here, and what several
// kinds of task need, such as stores of files and access to clusters and
// clouds. The payload of a kind is in a file or a folder here; that of all that
// deploy is Work, whose Spec and Place are types of the lane below
// pkg/swimlane. The messages of the two sides are pkg/task/protocol's.
package task

import (
	"encoding/json"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// ID names a task. It is made from execution, node and attempt, so that
// creating a task twice creates one.
type ID string

// Kind says which executor of the delegate runs a task.
type Kind string

// The kinds of task that are no deployment type's. Those are in the lanes below
// pkg/swimlane.
const (
	KindShell      Kind = "shell"
	KindHTTP       Kind = "http"
	KindJira       Kind = "jira"
	KindMail       Kind = "mail"
	KindServiceNow Kind = "servicenow"
	KindJenkins    Kind = "jenkins"
	KindBamboo     Kind = "bamboo"
	KindArtifact   Kind = "artifact"
	KindProbe      Kind = "probe"
	KindSession    Kind = "session"
)

// General lists those: all texts of their tasks come with them.
func General() []Kind {
	return []Kind{KindShell, KindHTTP, KindJira, KindMail, KindServiceNow, KindJenkins, KindBamboo, KindArtifact, KindProbe, KindSession}
}

// Assignment is a claimed task as the delegate gets it. Secrets are in it
// only now, because only a claim opens them.
type Assignment struct {
	ID      ID                `json:"id"`
	Fence   int64             `json:"fence"`
	Kind    Kind              `json:"kind"`
	Payload json.RawMessage   `json:"payload"`
	Secrets map[string]string `json:"secrets,omitempty"` // placeholder -> value; replace in every string of the payload, mask in logs
	// LateSecrets are made on the delegate: placeholder -> how. Strings in them
	// hold placeholders of Secrets.
	LateSecrets map[string]LateSecret `json:"lateSecrets,omitempty"`
	LateTexts   map[string]LateText   `json:"lateTexts,omitempty"` // likewise
	// Tokens are those of the identities that the payload and LateSecrets name.
	Tokens    map[string]IdentityToken `json:"tokens,omitempty"`
	Timeout   time.Duration            `json:"timeout"` // nanoseconds, from now on
	Lease     time.Duration            `json:"lease"`   // renew well before it ends
	LogStream string                   `json:"logStream"`
	Execution string                   `json:"execution"`
	Node      string                   `json:"node"`
	Attempt   int                      `json:"attempt"`
	// Traceparent continues the execution's trace (W3C trace context).
	Traceparent string `json:"traceparent,omitempty"`
}

// Status is how a task ended. Failed: the target said no. Errored: the
// delegate couldn't find out.
type Status string

// The ways in which a task ends.
const (
	Succeeded Status = "Succeeded"
	Failed    Status = "Failed"
	Errored   Status = "Errored"
	Aborted   Status = "Aborted" // stopped on request
)

// MaxResult bounds a Report, with its Result, as JSON, in bytes.
const MaxResult = 256 << 10

// Result is a delegate's answer: at most MaxResult with its fence.
type Result struct {
	Status       Status              `json:"status"`
	Message      string              `json:"message,omitempty"` // for people, masked
	FailureTypes []fault.FailureType `json:"failureTypes,omitempty"`
	// Outputs is what expressions read below the step, e.g.
	// {"output":{"outputVariables":{"x":"1"}}}.
	Outputs json.RawMessage `json:"outputs,omitempty"`
	// SecretOutputs are output values that are kept encrypted, by their path
	// below Outputs, e.g. "output.outputVariables.token".
	SecretOutputs map[string]string `json:"secretOutputs,omitempty"`
	// Changes is the instance ledger's part: what was put where.
	Changes []Change `json:"changes,omitempty"`
}

// Change says what a step put where.
type Change struct {
	Target    string     `json:"target"`              // e.g. "kubernetes:guestbook/release-1a2b3c"
	Action    string     `json:"action"`              // "applied", "deleted", "scaled", "switched", "found"
	Resources []string   `json:"resources,omitempty"` // e.g. "apps/Deployment/guestbook/web"
	Revision  string     `json:"revision,omitempty"`  // e.g. the release number
	Instances []Instance `json:"instances,omitempty"`
	// Counted: the instances are all that there are, none if the list is empty.
	// Else an empty list says nothing.
	Counted bool `json:"counted,omitempty"`
	// Cut: there are more than fit into a report, so lists are left out. Who
	// watches the release reports its instances by themselves.
	Cut bool `json:"cut,omitempty"`
	// Workloads are those among Resources that run instances, as they were put.
	Workloads []Workload `json:"workloads,omitempty"`
	// Whole: the workloads are all that the release has now.
	Whole bool `json:"whole,omitempty"`
}
