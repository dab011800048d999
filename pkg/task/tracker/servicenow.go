package tracker

import (
	"encoding/json"

	"github.com/slipway-cd/slipway/pkg/task"
)

// ServiceNow does something with one ticket, or imports rows
// (semantics/pipeline §7.9).
type ServiceNow struct {
	Op       ServiceNowOp      `json:"op"`
	Server   task.Server       `json:"server"`
	Table    string            `json:"table"`            // e.g. incident; of an import, the staging table
	Ticket   string            `json:"ticket,omitempty"` // its number; not of create and import
	Fields   []task.NamedValue `json:"fields,omitempty"` // by the columns' names
	Template string            `json:"template,omitempty"`
	// ChangeTasks says that the tasks of the change request Ticket are updated
	// rather than the ticket; TaskType limits them to one type.
	ChangeTasks bool   `json:"changeTasks,omitempty"`
	TaskType    string `json:"taskType,omitempty"`
	// Import is the JSON object to import, instead of Fields.
	Import json.RawMessage `json:"import,omitempty"`
}

// ServiceNowOp is what is done.
type ServiceNowOp string

// The operations. All but the import give the ticket as it is afterwards.
const (
	ServiceNowCreate ServiceNowOp = "create"
	ServiceNowUpdate ServiceNowOp = "update"
	ServiceNowRead   ServiceNowOp = "read"
	ServiceNowImport ServiceNowOp = "import"
)
