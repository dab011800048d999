package task

// Jira does something with one issue (pipeline spec §7.9).
type Jira struct {
	Op        JiraOp       `json:"op"`
	Server    Server       `json:"server"`
	Project   string       `json:"project,omitempty"`   // its key; of JiraCreate
	IssueType string       `json:"issueType,omitempty"` // its name; of JiraCreate
	Issue     string       `json:"issue,omitempty"`     // its key; of the others
	Fields    []NamedValue `json:"fields,omitempty"`
	// Status is where JiraUpdate moves the issue to; empty: nowhere. Transition
	// is the transition's name; empty: any that leads there.
	Status     string    `json:"status,omitempty"`
	Transition string    `json:"transition,omitempty"`
	Approval   *Approval `json:"approval,omitempty"` // of JiraApproval
}

// JiraOp is what is done; it is named like the step type that asks for it.
type JiraOp string

// The operations.
const (
	JiraCreate   JiraOp = "JiraCreate"
	JiraUpdate   JiraOp = "JiraUpdate"
	JiraApproval JiraOp = "JiraApproval"
)
