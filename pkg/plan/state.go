package plan

import (
	"encoding/json"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// State is what has become of a node. It changes by conditional writes only.
type State struct {
	Status    Status    `json:"status"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	// Deadline is when the node's timeout ends; for a step, that of its attempt.
	Deadline time.Time `json:"deadline,omitzero"`
	Message  string    `json:"message,omitempty"` // why it failed, or what it waits for, for people
	// Inherited says that this happened in an earlier execution, which this one
	// goes on from.
	Inherited bool `json:"inherited,omitempty"`
	// Look counts how often a step has looked at something without finding an
	// answer; a container's counts for the steps in its sequence.
	Look int `json:"look,omitempty"`

	// Undecided says that it couldn't be found out whether or how the node
	// runs, e.g. by its condition. A step may be tried again; a container has
	// done nothing.
	Undecided bool `json:"undecided,omitempty"`

	// Decided is what a person decided about the node last: who comes too late
	// is told.
	Decided *Decided `json:"decided,omitempty"`
	// Answered says that a step's or a stage's inputs that are asked for while
	// the pipeline runs have been; Given is their values, as a part of its
	// document. Those without a value have their default.
	Answered bool          `json:"answered,omitempty"`
	Given    *yamldoc.Node `json:"given,omitempty"`

	// Deployment is what a stage has chosen when it started, if its plan leaves
	// that to it.
	Deployment *Deployment `json:"deployment,omitempty"`

	// A step's part.

	Attempt  int                 `json:"attempt,omitempty"` // 1 for the first
	Wait     Wait                `json:"wait,omitempty"`    // what the state machine waits for
	Token    string              `json:"token,omitempty"`   // of that wait
	Left     string              `json:"left,omitempty"`    // the token of the wait before, whose state machine may not know yet that it has ended
	Until    time.Time           `json:"until,omitzero"`    // a Wait step ends by itself then; WaitLook ends
	Outcome  *Outcome            `json:"outcome,omitempty"` // how the attempt ended, before strategies
	Failures []fault.FailureType `json:"failures,omitempty"`
	Outputs  json.RawMessage     `json:"outputs,omitempty"`  // what expressions read below the step
	Strategy *Action             `json:"strategy,omitempty"` // the one that is being carried out
	History  []Attempt           `json:"history,omitempty"`  // earlier attempts
	Base     int                 `json:"base,omitempty"`     // the attempts that were made before its group was begun again
	Approval *Approval           `json:"approval,omitempty"`
	Child    string              `json:"child,omitempty"` // the execution that a Pipeline stage's step has started

	// A container's part.

	Turn         string `json:"turn,omitempty"`         // the queue in which a stage or a Queue step stands, if it does
	Cursor       int    `json:"cursor,omitempty"`       // index of the child that is next or under way
	Rollback     bool   `json:"rollback,omitempty"`     // it has turned back: a stage is in its rollbackSteps
	Forward      Status `json:"forward,omitempty"`      // how it had ended before something around it was rolled back
	Try          int    `json:"try,omitempty"`          // how often it was begun again by RetryStepGroup
	Worst        Status `json:"worst,omitempty"`        // of the children so far
	Unwind       Unwind `json:"unwind,omitzero"`        // what a failed step below asked for
	FailedSoFar  bool   `json:"failedSoFar,omitempty"`  // something earlier in the stage (for a stage: in the pipeline) failed
	IgnoredSoFar bool   `json:"ignoredSoFar,omitempty"` // something earlier ended IgnoreFailed

	Iterations *Iterations `json:"iterations,omitempty"` // of a loop that has started
	Wave       int         `json:"wave,omitempty"`       // which of them run now
}

// Unwind is what a failed step asks of a container around it: the one that
// Action is for. The zero value asks for nothing.
type Unwind struct {
	Action ActionType `json:"action,omitempty"` // StageRollback, PipelineRollback, StepGroupRollback or RetryStepGroup
	Depth  int        `json:"depth,omitempty"`  // of the group; see Action
	// FailAll ends the other members of the parallel blocks below that container.
	FailAll bool `json:"failAll,omitempty"`
	// RetryStepGroup: how often, and the waits before each.
	RetryCount     int             `json:"retryCount,omitempty"`
	RetryIntervals []time.Duration `json:"retryIntervals,omitempty"`
}

// Stronger says whether u outranks v where siblings ask for both.
func (u Unwind) Stronger(v Unwind) bool { return u.strength() > v.strength() }

func (u Unwind) strength() int {
	switch u.Action {
	case PipelineRollback:
		return 1000
	case StageRollback:
		return 900
	case StepGroupRollback:
		return 800 - 2*u.Depth
	case RetryStepGroup:
		return 799 - 2*u.Depth
	case Ignore, MarkAsSuccess, MarkAsFailure, Abort, Retry, ManualIntervention, ProceedWithDefaultValues:
	}
	return 0
}

// Wait says what a step's state machine waits for.
type Wait string

// The waits. The zero value is the step's own work: a task, an approval or a timer.
const (
	WaitWork         Wait = ""
	WaitRetry        Wait = "retry"        // the interval before the next attempt
	WaitIntervention Wait = "intervention" // a person's decision
	WaitTurn         Wait = "turn"         // until a stage may deploy, or a Queue step pass, where only one may
	WaitBarrier      Wait = "barrier"      // until the other steps of a barrier have come
	WaitEvent        Wait = "event"        // until an event comes that the step listens to
	WaitChild        Wait = "child"        // until the execution that a Pipeline stage started has ended
	WaitInput        Wait = "input"        // inputs that a step or a stage asks for
	WaitLook         Wait = "look"         // the interval before the step looks again
	WaitPause        Wait = "pause"        // until a person resumes the execution
)

// Result are the outputs of the attempt that ended, or of those before it: a
// JSON object, or nothing.
func (s State) Result() json.RawMessage {
	if s.Outcome != nil && len(s.Outcome.Outputs) > 0 {
		return s.Outcome.Outputs
	}
	return s.Outputs
}

// Outcome is how one attempt of a step ended, before failure strategies.
type Outcome struct {
	Status   Status              `json:"status"` // Success, Failed, Errored, Expired, ApprovalRejected or Aborted
	Message  string              `json:"message,omitempty"`
	Failures []fault.FailureType `json:"failures,omitempty"`
	Outputs  json.RawMessage     `json:"outputs,omitempty"`
	// Again says that nothing is decided yet: the step's task is done again
	// after so long. The status then says nothing.
	Again time.Duration `json:"again,omitempty"`
	// Marked says that a person ended the attempt, so that its task is in the way.
	Marked bool `json:"marked,omitempty"`
	// Decision answers a manual intervention.
	Decision ActionType `json:"decision,omitempty"`
}

// Attempt is an earlier attempt of a step.
type Attempt struct {
	Number    int       `json:"number"`
	Status    Status    `json:"status"`
	Message   string    `json:"message,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

// Decided is the last decision of a person about a node.
type Decided struct {
	By   string    `json:"by"`
	What string    `json:"what"`
	At   time.Time `json:"at"`
}

// Approval is what people decided on a HarnessApproval step
// (semantics/pipeline §7.7).
type Approval struct {
	Message     string          `json:"message"`
	Groups      []string        `json:"groups,omitempty"`
	Minimum     int             `json:"minimum"`
	NotExecutor bool            `json:"notExecutor,omitempty"`
	Inputs      []ApprovalInput `json:"inputs,omitempty"`
	// ServiceAccounts are those that may answer, each as a reference.
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	// Digest is of everything that was shown; an answer must carry it.
	Digest string `json:"digest"`
	// Question is the part of it that doesn't change while people are asked, and
	// Facts are the other. Changed is what of them has, so that it was asked anew.
	Question string   `json:"question,omitempty"`
	Facts    Facts    `json:"facts,omitempty"`
	Changed  []string `json:"changed,omitempty"`
	// Refused are users who may not answer, whatever groups they are in.
	Refused []string `json:"refused,omitempty"`
	// Callback is the name by which another system finds the approval.
	Callback string `json:"callback,omitempty"`
	// RejectsOlder says that its approval rejects those of older executions that
	// wait at the same step.
	RejectsOlder bool `json:"rejectsOlder,omitempty"`
	// Auto approves at a time; nil: only people do.
	Auto       *AutoApproval      `json:"auto,omitempty"`
	Activities []ApprovalActivity `json:"activities,omitempty"`
	Links      []ApprovalLink     `json:"links,omitempty"`
}

// ApprovalLink is a link by which one person can answer once. What is here
// isn't enough to use it: the link is signed.
type ApprovalLink struct {
	ID       string    `json:"id"`
	Approver string    `json:"approver"`
	MadeBy   string    `json:"madeBy"`
	Expires  time.Time `json:"expires"`
	Used     bool      `json:"used,omitempty"`
}

// AutoApproval approves by itself at a time.
type AutoApproval struct {
	At       time.Time `json:"at"`
	Comments string    `json:"comments,omitempty"`
}

// ApprovalInput is a value that an approver is asked for.
type ApprovalInput struct {
	Name     string   `json:"name"`
	Default  string   `json:"default,omitempty"`
	Required bool     `json:"required,omitempty"`
	Allowed  []string `json:"allowed,omitempty"`
	Multiple bool     `json:"multiple,omitempty"` // several of Allowed, comma-joined
	Regex    string   `json:"regex,omitempty"`
}

// ApprovalActivity is one person's answer.
type ApprovalActivity struct {
	User     string            `json:"user"`
	Action   string            `json:"action"` // APPROVE or REJECT
	Comments string            `json:"comments,omitempty"`
	Inputs   map[string]string `json:"inputs,omitempty"`
	At       time.Time         `json:"at"`
	Link     string            `json:"link,omitempty"` // who made the one-time link by which the answer came
	// Attestation is an approval's signed statement (pkg/attest). Only who asks for
	// attestations is shown it.
	Attestation json.RawMessage `json:"attestation,omitempty"`
}
