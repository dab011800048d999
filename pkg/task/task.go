// Package task is the contract between the control plane and delegates: what
// a delegate is asked to do, what it answers, and under which lease.
//
// Both sides import it, so it holds types only: no client, no server, no
// heavy library. The payload of each kind of task is in the file of its name;
// that of all that deploy is Work, whose Spec and Place are types of the lane
// below pkg/swimlane. What several lanes need, such as stores of files and
// access to clusters and clouds, stands here.
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

// MaxTasks bounds a delegate's capacity, and so the tasks that it claims or
// names at once.
const MaxTasks = 1000

// Register is a delegate's first message.
type Register struct {
	ID       string   `json:"id"` // random, new at each start
	Name     string   `json:"name"`
	Host     string   `json:"host"`
	Tags     []string `json:"tags"`
	Version  string   `json:"version"`
	Kinds    []Kind   `json:"kinds"`
	Capacity int      `json:"capacity"` // tasks at once
	// Machine is the same for all processes of delegates that share a folder of
	// sessions; Tools are programs on it, each as name=version.
	Machine string   `json:"machine,omitempty"`
	Tools   []string `json:"tools,omitempty"`
}

// Registered answers Register.
type Registered struct {
	HeartbeatEvery time.Duration `json:"heartbeatEvery"` // of the delegate itself
	PollEvery      time.Duration `json:"pollEvery"`      // covers a lost wake-up
	// Quiet is how long a delegate may be silent that holds no task and whose
	// socket is open: its polls are its heartbeats. 0: it has to beat.
	Quiet time.Duration `json:"quiet,omitempty"`
	// Socket is where to open the WebSocket, if not at the API; the query
	// parameter delegate gets the delegate's id, line the socket's number: 1 for
	// the delegate's first, and so on.
	Socket string `json:"socket,omitempty"`
}

// Claim asks for work.
type Claim struct {
	Max     int `json:"max"`     // free places
	Running int `json:"running"` // tasks under way
	// Number counts the delegate's claims, from 1 on. It makes one at a time.
	Number int64 `json:"number,omitempty"`
	// Lost are the numbers of claims whose answers never came. The delegate hasn't
	// begun what they got it and never will, so it is given back. It says so for a
	// while: the server may come to such a claim late.
	Lost []int64 `json:"lost,omitempty"`
	// Replaces are earlier processes of the delegate that were killed, at most
	// MaxReplaced: what they claimed and hadn't begun is given back, and the rest is
	// lost at once. They are named for a while, as Lost are.
	Replaces []Replaced `json:"replaces,omitempty"`
	// Quiet makes the claim a heartbeat: the delegate will be silent that long.
	Quiet time.Duration `json:"quiet,omitempty"`
	// Line is the number of the socket that Quiet relies on: that it closes would
	// be seen.
	Line int64 `json:"line,omitempty"`
}

// MaxReplaced bounds how many processes a delegate names at once.
const MaxReplaced = 100

// Replaced is a process of a delegate that has ended without a goodbye. It
// registered with the token that speaks for it.
type Replaced struct {
	ID    string `json:"id"`
	Begun []Held `json:"begun,omitempty"` // what it may have had an effect by
}

// Heartbeat renews the leases of running tasks and says that the delegate lives.
type Heartbeat struct {
	Running  []Held `json:"running"`
	Draining bool   `json:"draining"`
	// Quiet is how long the delegate will be silent; 0: until the next beat.
	Quiet time.Duration `json:"quiet,omitempty"`
	Line  int64         `json:"line,omitempty"` // as in Claim
}

// Held is a task that the delegate holds.
type Held struct {
	ID    ID    `json:"id"`
	Fence int64 `json:"fence"`
}

// HeartbeatAnswer lists the tasks to stop: cancelled, or lost to their lease.
type HeartbeatAnswer struct {
	Cancel []ID `json:"cancel,omitempty"`
}

// Wake is what the server says over the WebSocket: there is work, there is
// something new to watch, or stop a task. It never carries work itself.
type Wake struct {
	Type string `json:"type"` // "work", "watch" or "cancel"
	Task ID     `json:"task,omitempty"`
}

// LogBatch carries log chunks of a running task.
type LogBatch struct {
	Fence  int64    `json:"fence"`
	First  int64    `json:"first"`  // number of the first chunk
	Chunks [][]byte `json:"chunks"` // whole lines, see pkg/logstream
}

// Resolve asks the control plane to resolve the expressions of texts that
// only the delegate has, such as values files (semantics/kubernetes §4.1).
type Resolve struct {
	Fence int64             `json:"fence"`
	Texts map[string]string `json:"texts"` // name -> text
}

// Resolved answers Resolve. Secrets are placeholders in the texts, with their
// values beside them.
type Resolved struct {
	Texts       map[string]string        `json:"texts"`
	Secrets     map[string]string        `json:"secrets,omitempty"`
	LateSecrets map[string]LateSecret    `json:"lateSecrets,omitempty"` // as in Assignment
	LateTexts   map[string]LateText      `json:"lateTexts,omitempty"`
	Tokens      map[string]IdentityToken `json:"tokens,omitempty"`
}

// Report posts a result.
type Report struct {
	Fence  int64  `json:"fence"`
	Result Result `json:"result"`
}
