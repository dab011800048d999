// Package tracker says what a delegate does with an issue of Jira or a ticket of
// ServiceNow. How is for delegate/jira and delegate/servicenow.
package tracker

import "github.com/slipway-cd/slipway/pkg/task"

// Jira does something with one issue (semantics/pipeline §7.9).
type Jira struct {
	Op        JiraOp            `json:"op"`
	Server    task.Server       `json:"server"`
	Project   string            `json:"project,omitempty"`   // its key; of JiraCreate
	IssueType string            `json:"issueType,omitempty"` // its name; of JiraCreate
	Issue     string            `json:"issue,omitempty"`     // its key; of the others
	Fields    []task.NamedValue `json:"fields,omitempty"`    // by the names that people see, or by their ids
	// Status is where JiraUpdate moves the issue to; empty: nowhere. Transition
	// is the transition's name; empty: any that leads there.
	Status     string `json:"status,omitempty"`
	Transition string `json:"transition,omitempty"`
}

// JiraOp is what is done with an issue.
type JiraOp string

// The operations. All of them give the issue as it is afterwards.
const (
	JiraCreate JiraOp = "create"
	JiraUpdate JiraOp = "update"
	JiraRead   JiraOp = "read"
)
