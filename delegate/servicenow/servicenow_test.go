package servicenow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/servicenow"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
)

func run(t *testing.T, server *testservers.ServiceNow, p tracker.ServiceNow) (task.Result, *executortest.Env) {
	t.Helper()
	if p.Server.URL == "" {
		p.Server = task.Server{URL: server.URL, Auth: task.AuthBasic, Username: testservers.Username, Password: testservers.Password}
	}
	env := executortest.New(t, nil)
	r, err := servicenow.New(nil)(t.Context(), executortest.Assignment(t, task.KindServiceNow, p), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	return r, env
}

func outputs(t *testing.T, r task.Result) map[string]any {
	t.Helper()
	if r.Status != task.Succeeded {
		t.Fatalf("the task is %s: %s", r.Status, r.Message)
	}
	var out map[string]map[string]any
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		t.Fatal(err)
	}
	for _, v := range out {
		return v
	}
	return nil
}

func cell(value, display string) map[string]any {
	return map[string]any{"value": value, "displayValue": display}
}

// A template gives fields, over which the step's own go.
func TestCreate(t *testing.T) {
	t.Parallel()
	server := testservers.NewServiceNow(t)
	r, env := run(t, server, tracker.ServiceNow{
		Op: tracker.ServiceNowCreate, Table: "incident", Template: "Deployment",
		Fields: []task.NamedValue{{Name: "priority", Value: "1"}, {Name: "urgencyy", Value: "1"}},
	})
	want := map[string]any{
		"ticketNumber": "INC0000001", "ticketUrl": server.URL + "/nav_to.do?uri=incident.do%3Fsys_id%3Dincident1",
		"fields": map[string]any{
			"number": cell("INC0000001", "INC0000001"), "sys_id": cell("incident1", "incident1"), "state": cell("1", "New"),
			"priority": cell("1", "1"), "short_description": cell("Deploy a^b", "Deploy a^b"),
		},
	}
	if diff := cmp.Diff(want, outputs(t, r)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if log := env.Text(servicenow.Unit, executor.Error); !strings.Contains(log, `Table incident shows no column "urgencyy"`) {
		t.Errorf("nobody is told of the column that there isn't: %q", log)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	server := testservers.NewServiceNow(t)
	number := server.Add("incident", map[string]any{"short_description": "x"})
	r, _ := run(t, server, tracker.ServiceNow{Op: tracker.ServiceNowUpdate, Table: "incident", Ticket: number, Fields: []task.NamedValue{{Name: "state", Value: "2"}}})
	fields := outputs(t, r)["fields"].(map[string]any)
	if diff := cmp.Diff(cell("2", "In Progress"), fields["state"]); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// All tasks of a change request, or those of one type, change together.
func TestUpdateChangeTasks(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]any{"": {"7", "7", "1"}, "testing": {"1", "7", "1"}} {
		server := testservers.NewServiceNow(t)
		change := server.Add("change_request", map[string]any{})
		id := server.Row("change_request", change)["sys_id"]
		numbers := []string{
			server.Add("change_task", map[string]any{"change_request": id, "change_task_type": "planning"}),
			server.Add("change_task", map[string]any{"change_request": id, "change_task_type": "testing"}),
			server.Add("change_task", map[string]any{"change_request": "another", "change_task_type": "testing"}),
		}
		r, _ := run(t, server, tracker.ServiceNow{
			Op: tracker.ServiceNowUpdate, Table: "change_request", Ticket: change, ChangeTasks: true, TaskType: kind,
			Fields: []task.NamedValue{{Name: "state", Value: "7"}},
		})
		if got := outputs(t, r)["ticketNumber"]; got != change {
			t.Errorf("the ticket is %v, want the change request %s", got, change)
		}
		var states []any
		for _, n := range numbers {
			states = append(states, server.Row("change_task", n)["state"])
		}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("type %q: states of the tasks (-want +got):\n%s", kind, diff)
		}
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	server := testservers.NewServiceNow(t)
	for _, p := range []tracker.ServiceNow{{Import: json.RawMessage(`{"u_name":"web"}`)}, {Fields: []task.NamedValue{{Name: "u_name", Value: "web"}}}} {
		p.Op, p.Table = tracker.ServiceNowImport, "u_deployments"
		r, _ := run(t, server, p)
		want := map[string]any{"importSetNumber": "ISET0010001", "stagingTable": "u_deployments", "transformMapOutcomes": []any{map[string]any{
			"transformMap": "Deployments", "targetTable": "cmdb_ci", "targetDisplayName": "name", "targetDisplayValue": "web",
			"targetRecordURL": server.URL + "/api/now/table/cmdb_ci/1", "status": "inserted",
		}}}
		if diff := cmp.Diff(want, outputs(t, r)); diff != "" {
			t.Errorf("outputs (-want +got):\n%s", diff)
		}
	}
	r, _ := run(t, server, tracker.ServiceNow{Op: tracker.ServiceNowImport, Table: "u_deployments"})
	if r.Status != task.Failed || !strings.Contains(r.Message, `the transform map "Deployments" failed: u_name is mandatory`) {
		t.Errorf("a row that can't be transformed: %s: %s", r.Status, r.Message)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		task tracker.ServiceNow
		says string
		typ  fault.FailureType
	}{
		{"no such table", tracker.ServiceNow{Op: tracker.ServiceNowCreate, Table: "nothing"}, "Invalid table nothing", fault.Unknown},
		{"no such ticket", tracker.ServiceNow{Op: tracker.ServiceNowRead, Table: "incident", Ticket: "INC9"}, "table incident has no ticket INC9", fault.Unknown},
		{"more than a number", tracker.ServiceNow{Op: tracker.ServiceNowRead, Table: "incident", Ticket: "INC9^ORstate=1"}, "want a text without ^ and =", fault.ConfigurationFailure},
		{"no such template", tracker.ServiceNow{Op: tracker.ServiceNowCreate, Table: "incident", Template: "T"}, `table incident has no template "T"`, fault.ConfigurationFailure},
		{"no tasks", tracker.ServiceNow{Op: tracker.ServiceNowUpdate, Table: "change_request", Ticket: "CHG0000001", ChangeTasks: true, TaskType: "x"}, `change request CHG0000001 has no tasks of type "x"`, fault.Unknown},
		{"wrong credentials", tracker.ServiceNow{Op: tracker.ServiceNowRead, Table: "incident", Ticket: "INC1", Server: task.Server{Auth: task.AuthNone}}, "User Not Authenticated", fault.Authentication},
		{"another operation", tracker.ServiceNow{Op: "delete"}, `the operation "delete"`, fault.ConfigurationFailure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := testservers.NewServiceNow(t)
			server.Add("change_request", map[string]any{})
			if tt.task.Server.Auth != "" {
				tt.task.Server.URL = server.URL
			}
			r, env := run(t, server, tt.task)
			if r.Status != task.Failed || !strings.Contains(r.Message, tt.says) || r.FailureTypes[0] != tt.typ {
				t.Errorf("%s %v: %s; want Failed, %s: …%s", r.Status, r.FailureTypes, r.Message, tt.typ, tt.says)
			}
			if !strings.Contains(env.Text(servicenow.Unit, executor.Error), tt.says) {
				t.Error("the log doesn't say why")
			}
		})
	}
}
