package plan

import "strings"

// Status is the state of an execution or of one node, spelled as in Harness's
// API (semantics/pipeline §8.1).
type Status string

// The statuses in use. NotStarted is what a node without a record has.
const (
	NotStarted          Status = "NotStarted"
	Queued              Status = "Queued"
	QueuedConcurrency   Status = "QueuedExecutionConcurrencyReached" // it begins when others have ended
	Running             Status = "Running"
	TaskWaiting         Status = "TaskWaiting" // a delegate has or will get it
	ApprovalWaiting     Status = "ApprovalWaiting"
	InterventionWaiting Status = "InterventionWaiting"
	InputWaiting        Status = "InputWaiting"    // for inputs that are asked for while the pipeline runs
	ResourceWaiting     Status = "ResourceWaiting" // for its turn, or for others
	WaitStepRunning     Status = "WaitStepRunning"
	Pausing             Status = "Pausing" // nothing new starts, something still runs
	Paused              Status = "Paused"
	Success             Status = "Success"
	IgnoreFailed        Status = "IgnoreFailed"
	Skipped             Status = "Skipped"
	Failed              Status = "Failed"
	Errored             Status = "Errored"
	Expired             Status = "Expired"
	ApprovalRejected    Status = "ApprovalRejected"
	AbortedByFreeze     Status = "AbortedByFreeze" // a deployment freeze was active when a stage was to begin
	Aborted             Status = "Aborted"
)

// Statuses lists them all.
func Statuses() []Status {
	return []Status{
		NotStarted, Queued, QueuedConcurrency, Running, TaskWaiting, ApprovalWaiting, InterventionWaiting, InputWaiting, ResourceWaiting, WaitStepRunning,
		Pausing, Paused,
		Success, IgnoreFailed, Skipped, Failed, Errored, Expired, ApprovalRejected, AbortedByFreeze, Aborted,
	}
}

// StatusNames is all of them for a message.
func StatusNames() string {
	var names []string
	for _, s := range Statuses() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// Terminal says whether a node with this status has ended.
func (s Status) Terminal() bool { return s.Good() || s.Bad() }

// Good says whether the node has ended as success or like one.
func (s Status) Good() bool { return s == Success || s == IgnoreFailed || s == Skipped }

// Bad says whether the node has ended otherwise.
func (s Status) Bad() bool { return s.severity() > 2 }

// Worse says whether s outranks t when the end of a container is made from
// the ends of its children (semantics/pipeline §8.2).
func (s Status) Worse(t Status) bool { return s.severity() > t.severity() }

func (s Status) severity() int {
	switch s {
	case Success:
		return 1
	case IgnoreFailed:
		return 2
	case Expired:
		return 3
	case ApprovalRejected:
		return 4
	case Failed:
		return 5
	case Errored:
		return 6
	case AbortedByFreeze:
		return 7
	case Aborted:
		return 8
	case Skipped, NotStarted, Queued, QueuedConcurrency, Running, TaskWaiting, ApprovalWaiting, InterventionWaiting, InputWaiting, ResourceWaiting, WaitStepRunning, Pausing, Paused:
		return 0
	}
	return 0
}

// Expression is how expressions spell a status (semantics/pipeline §3.7).
func (s Status) Expression() string {
	switch s {
	case Success:
		return "SUCCEEDED"
	case IgnoreFailed:
		return "IGNORE_FAILED"
	case Skipped:
		return "SKIPPED"
	case Failed:
		return "FAILED"
	case Errored:
		return "ERRORED"
	case Expired:
		return "EXPIRED"
	case ApprovalRejected:
		return "APPROVAL_REJECTED"
	case AbortedByFreeze:
		return "ABORTED_BY_FREEZE"
	case Aborted:
		return "ABORTED"
	case NotStarted:
		return "NOT_STARTED"
	case Queued:
		return "QUEUED"
	case QueuedConcurrency:
		return "QUEUED_EXECUTION_CONCURRENCY_REACHED"
	case Running:
		return "RUNNING"
	case TaskWaiting:
		return "TASK_WAITING"
	case ApprovalWaiting:
		return "APPROVAL_WAITING"
	case InterventionWaiting:
		return "INTERVENTION_WAITING"
	case InputWaiting:
		return "INPUT_WAITING"
	case ResourceWaiting:
		return "RESOURCE_WAITING"
	case WaitStepRunning:
		return "WAIT_STEP_RUNNING"
	case Pausing:
		return "PAUSING"
	case Paused:
		return "PAUSED"
	}
	return string(s)
}
