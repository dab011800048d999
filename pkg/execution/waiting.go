package execution

import (
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// Waiting is a step or a stage that waits for a person.
type Waiting struct {
	For       plan.Status `json:"for" enum:"ApprovalWaiting,InputWaiting,InterventionWaiting" doc:"Its status"`
	Execution string      `json:"execution"`
	Org       string      `json:"org,omitempty"`
	Project   string      `json:"project,omitempty"`
	Pipeline  string      `json:"pipeline" doc:"The pipeline's identifier"`
	Name      string      `json:"name" doc:"The pipeline's name"`
	Sequence  int64       `json:"sequence"`
	Node      plan.NodeID `json:"node"`
	Step      string      `json:"step" doc:"The name of the step or the stage"`
	Message   string      `json:"message,omitempty" doc:"What is asked, or why it failed"`
	Since     time.Time   `json:"since,omitzero" doc:"When it began"`
}

// WaitingList is what waits in some of the executions that are under way.
type WaitingList struct {
	Waiting       []Waiting `json:"waiting" nullable:"false"`
	NextPageToken string    `json:"nextPageToken,omitempty"`
}

// PeopleDecide are the statuses of what waits for a person.
func PeopleDecide() []plan.Status {
	return []plan.Status{plan.ApprovalWaiting, plan.InputWaiting, plan.InterventionWaiting}
}

// Waiting are the nodes that wait for a person.
func (t Tree) Waiting() []Waiting {
	e := t.Execution
	var out []Waiting
	var walk func(n *TreeNode)
	walk = func(n *TreeNode) {
		if slices.Contains(PeopleDecide(), n.Status) && n.Child == "" {
			w := Waiting{
				For: n.Status, Execution: e.ID, Org: e.Scope.Org, Project: e.Scope.Project, Pipeline: e.Pipeline, Name: e.Name, Sequence: e.Sequence,
				Node: n.ID, Step: n.Name, Message: n.Message, Since: n.StartedAt,
			}
			if n.Approval != nil {
				w.Message = n.Approval.Message
			}
			out = append(out, w)
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(t.Root)
	return out
}
