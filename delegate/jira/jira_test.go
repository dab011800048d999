package jira_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/jira"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
)

func run(t *testing.T, server *testservers.Jira, p tracker.Jira) (task.Result, *executortest.Env) {
	t.Helper()
	if p.Server.URL == "" {
		p.Server = task.Server{URL: server.URL + "/", Auth: task.AuthBasic, Username: testservers.Username, Password: testservers.Password}
	}
	env := executortest.New(t, nil)
	r, err := jira.New(nil)(t.Context(), executortest.Assignment(t, task.KindJira, p), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	return r, env
}

// issue reads the outputs of a task that succeeded.
func issue(t *testing.T, r task.Result) map[string]any {
	t.Helper()
	if r.Status != task.Succeeded {
		t.Fatalf("the task is %s: %s", r.Status, r.Message)
	}
	var out struct{ Issue map[string]any }
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		t.Fatal(err)
	}
	return out.Issue
}

func values(pairs ...string) []task.NamedValue {
	var list []task.NamedValue
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, task.NamedValue{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

// Fields are named as people see them, whatever their case, or by their ids;
// each is sent in the shape of its type and shown again as a text.
func TestCreate(t *testing.T) {
	t.Parallel()
	server := testservers.NewJira(t)
	r, env := run(t, server, tracker.Jira{
		Op: tracker.JiraCreate, Project: "DEMO", IssueType: "Task",
		Fields: values("Summary", "Deploy 1.2", "description", "a\nb", "Labels", "ci, cd", "Due date", "2026-01-31", "Priority", "Highest",
			"risk", "High", "customfield_10002", "3.5", "Teams", "Payments,Web", "Region", "Europe - Berlin"),
	})
	want := map[string]any{
		"key": "DEMO-1", "id": "10100", "url": server.URL + "/browse/DEMO-1", "Summary": "Deploy 1.2", "Description": "a\nb",
		"Labels": []any{"ci", "cd"}, "Due date": "2026-01-31", "Priority": "Highest", "Risk": "High", "Points": 3.5,
		"Teams": []any{"Payments", "Web"}, "Region": "Europe - Berlin", "Status": "To Do", "Issue Type": "Task", "Project": "Demo",
	}
	if diff := cmp.Diff(want, issue(t, r)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if log := env.Text(jira.Unit, executor.Info); !strings.Contains(log, "Created DEMO-1: "+server.URL+"/browse/DEMO-1\n") {
		t.Errorf("the log doesn't tell of the issue: %q", log)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, from string
		change     tracker.Jira
		status     any
		done       []string // what changes the issue
	}{
		{"fields, then the status", "To Do", tracker.Jira{Fields: values("Risk", "Low"), Status: "in progress"}, "In Progress",
			[]string{"PUT /rest/api/2/issue/DEMO-1", "POST /rest/api/2/issue/DEMO-1/transitions"}},
		{"fields alone", "Done", tracker.Jira{Fields: values("Risk", "Low")}, "Done", []string{"PUT /rest/api/2/issue/DEMO-1"}},
		{"a transition by its name", "In Progress", tracker.Jira{Status: "Done", Transition: "Close"}, "Done", []string{"POST /rest/api/2/issue/DEMO-1/transitions"}},
		{"a status that it has already", "Done", tracker.Jira{Status: "Done"}, "Done", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := testservers.NewJira(t)
			p := tt.change
			p.Op, p.Issue = tracker.JiraUpdate, server.Add("x", tt.from)
			r, _ := run(t, server, p)
			if got := issue(t, r)["Status"]; got != tt.status {
				t.Errorf("the status is %v, want %v", got, tt.status)
			}
			var done []string
			for _, r := range server.Requests() {
				if !strings.HasPrefix(r, "GET ") {
					done = append(done, r)
				}
			}
			if diff := cmp.Diff(tt.done, done); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	create := func(pairs ...string) tracker.Jira {
		return tracker.Jira{Op: tracker.JiraCreate, Project: "DEMO", IssueType: "Task", Fields: values(pairs...)}
	}
	wrong := fault.ConfigurationFailure
	tests := []struct {
		name string
		task tracker.Jira
		says string
		typ  fault.FailureType
	}{
		{"no such project", tracker.Jira{Op: tracker.JiraCreate, Project: "NONE", IssueType: "Task"}, "No project could be found with key 'NONE'.", fault.Unknown},
		{"no such type", tracker.Jira{Op: tracker.JiraCreate, Project: "DEMO", IssueType: "Epic"}, `project DEMO has no issue type "Epic"; it has Task, Bug`, wrong},
		{"no such field", create("Summary", "x", "Riks", "High"), `issues of type Task in project DEMO have no field "Riks" that can be set; there are Summary,`, wrong},
		{"two fields of a name", create("Twin", "x"), `2 fields "Twin"; say which by its id: customfield_10006, customfield_10007`, wrong},
		{"no such value", create("Summary", "x", "Risk", "Huge"), `field "Risk" is "Huge"; want one of Low, High`, wrong},
		{"no number", create("Points", "many"), `field "Points" is "many"; want a number`, wrong},
		{"a user", create("Owner", "jane"), `field "Owner" is of type user, which can't be set`, wrong},
		{"a field that is required", create("Risk", "High"), "status 400 Bad Request: summary: You must specify a summary of the issue.", fault.Unknown},
		{"no such issue", tracker.Jira{Op: tracker.JiraRead, Issue: "DEMO-9"}, "Issue does not exist or you do not have permission to see it.", fault.Unknown},
		{"no way to a status", tracker.Jira{Op: tracker.JiraUpdate, Issue: "DEMO-1", Status: "Done"}, `issue DEMO-1: no transition leads from status "To Do" to "Done"; there are "Start" to "In Progress"`, fault.Unknown},
		{"no way of that name", tracker.Jira{Op: tracker.JiraUpdate, Issue: "DEMO-1", Status: "In Progress", Transition: "Begin"}, `no transition "Begin" leads from status "To Do"`, fault.Unknown},
		{"wrong credentials", tracker.Jira{Op: tracker.JiraRead, Issue: "DEMO-1", Server: task.Server{Auth: task.AuthBearer, Token: "nonsense"}}, "status 401 Unauthorized: Client must be authenticated", fault.Authentication},
		{"another operation", tracker.Jira{Op: "delete", Issue: "DEMO-1"}, `the operation "delete" isn't known to this delegate`, wrong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := testservers.NewJira(t)
			server.Add("x", "To Do")
			if tt.task.Server.Auth != "" {
				tt.task.Server.URL = server.URL
			}
			r, env := run(t, server, tt.task)
			if r.Status != task.Failed || !strings.Contains(r.Message, tt.says) || r.FailureTypes[0] != tt.typ {
				t.Errorf("%s %v: %s; want Failed, %s: …%s", r.Status, r.FailureTypes, r.Message, tt.typ, tt.says)
			}
			if !strings.Contains(env.Text(jira.Unit, executor.Error), tt.says) {
				t.Error("the log doesn't say why")
			}
			if len(server.Fields("DEMO-2")) > 0 {
				t.Error("an issue was made")
			}
		})
	}
}

// A look outlasts a server that is busy for a moment.
func TestReadTriesAgain(t *testing.T) {
	t.Parallel()
	server := testservers.NewJira(t)
	key := server.Add("x", "Done")
	server.Break(2)
	r, _ := run(t, server, tracker.Jira{Op: tracker.JiraRead, Issue: key, Server: task.Server{URL: server.URL, Auth: task.AuthBearer, Token: testservers.Password}})
	if got := issue(t, r)["Status"]; got != "Done" {
		t.Errorf("the status is %v", got)
	}
}

// What can't be kept whole is cut: texts, then the largest fields.
func TestLargeIssue(t *testing.T) {
	t.Parallel()
	server := testservers.NewJira(t)
	key := server.Add("short", "Done")
	fields := server.Fields(key)
	fields["description"] = strings.Repeat("ä", 20<<10)
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "k", "l", "m"} {
		fields[id] = strings.Repeat("x", 16<<10)
	}
	r, _ := run(t, server, tracker.Jira{Op: tracker.JiraRead, Issue: key})
	if out := issue(t, r); len(r.Outputs) > 180<<10 || out["Summary"] != "short" || out["key"] != key {
		t.Errorf("%d bytes of outputs with the summary %v", len(r.Outputs), out["Summary"])
	}
}
