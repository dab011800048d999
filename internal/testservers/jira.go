package testservers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
)

// Jira is a Jira with the project DEMO, whose issues of type Task have a
// summary, a description, labels, a due date, a priority and the custom
// fields Risk (a select), Points (a number), Teams (a select of several),
// Region (a select within a select) and Owner (a user). Its workflow leads
// from To Do over In Progress to Done, and back.
//
// Source: "Jira REST API reference", version 2 (createmeta, editmeta, issue,
// transitions, myself).
type Jira struct {
	base
	issues map[string]object // key -> fields
}

// NewJira starts a Jira.
func NewJira(tb testing.TB) *Jira {
	tb.Helper()
	j := &Jira{issues: map[string]object{}}
	mux := http.NewServeMux()
	const api = "/rest/api/2"
	mux.HandleFunc("GET "+api+"/myself", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, object{"name": Username}) })
	mux.HandleFunc("GET "+api+"/issue/createmeta/{project}/issuetypes", j.types)
	mux.HandleFunc("GET "+api+"/issue/createmeta/{project}/issuetypes/{type}", j.createMeta)
	mux.HandleFunc("POST "+api+"/issue", j.create)
	mux.HandleFunc("GET "+api+"/issue/{key}", j.withIssue(j.read))
	mux.HandleFunc("PUT "+api+"/issue/{key}", j.withIssue(j.edit))
	mux.HandleFunc("GET "+api+"/issue/{key}/editmeta", j.withIssue(j.editMeta))
	mux.HandleFunc("GET "+api+"/issue/{key}/transitions", j.withIssue(j.transitions))
	mux.HandleFunc("POST "+api+"/issue/{key}/transitions", j.withIssue(j.move))
	j.start(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !authorized(r) && r.Header.Get("Authorization") != "Bearer "+Password {
			answer(w, http.StatusUnauthorized, object{"message": "Client must be authenticated to access this resource."})
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return j
}

// Add puts an issue with a status into the project and gives its key.
func (j *Jira) Add(summary, status string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.add(object{"summary": summary, "status": object{"name": status}})
}

// Fields are an issue's fields by their ids.
func (j *Jira) Fields(key string) map[string]any {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.issues[key]
}

// Move gives an issue another status, as a person would.
func (j *Jira) Move(key, status string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.issues[key]["status"] = object{"name": status}
}

func (j *Jira) add(fields object) string {
	key := fmt.Sprintf("DEMO-%d", len(j.issues)+1)
	fields["issuetype"], fields["project"] = object{"name": "Task"}, object{"key": "DEMO", "name": "Demo"}
	if fields["status"] == nil {
		fields["status"] = object{"name": "To Do"}
	}
	j.issues[key] = fields
	return key
}

// jiraField is a field as createmeta tells of it.
type jiraField struct {
	ID       string         `json:"fieldId"`
	Name     string         `json:"name"`
	Required bool           `json:"required"`
	Schema   map[string]any `json:"schema"`
	Allowed  []object       `json:"allowedValues,omitempty"`
}

func options(values ...string) []object {
	var list []object
	for i, v := range values {
		list = append(list, object{"id": strconv.Itoa(100 + i), "value": v})
	}
	return list
}

func jiraFields() []jiraField {
	select1, select2 := options("Low", "High"), options("Payments", "Search, Ads", "Web")
	cascade := options("Europe", "Asia")
	cascade[0]["children"] = []object{{"id": "200", "value": "Berlin"}}
	const custom = "com.atlassian.jira.plugin.system.customfieldtypes:"
	return []jiraField{
		{"summary", "Summary", true, object{"type": "string", "system": "summary"}, nil},
		{"issuetype", "Issue Type", true, object{"type": "issuetype", "system": "issuetype"}, nil},
		{"project", "Project", true, object{"type": "project", "system": "project"}, nil},
		{"description", "Description", false, object{"type": "string", "system": "description"}, nil},
		{"labels", "Labels", false, object{"type": "array", "items": "string"}, nil},
		{"duedate", "Due date", false, object{"type": "date"}, nil},
		{"priority", "Priority", false, object{"type": "priority"}, []object{{"id": "1", "name": "Highest"}, {"id": "3", "name": "Medium"}}},
		{"customfield_10001", "Risk", false, object{"type": "option", "custom": custom + "select"}, select1},
		{"customfield_10002", "Points", false, object{"type": "number", "custom": custom + "float"}, nil},
		{"customfield_10003", "Teams", false, object{"type": "array", "items": "option", "custom": custom + "multiselect"}, select2},
		{"customfield_10004", "Region", false, object{"type": "option-with-child", "custom": custom + "cascadingselect"}, cascade},
		{"customfield_10005", "Owner", false, object{"type": "user", "custom": custom + "userpicker"}, nil},
		{"customfield_10006", "Twin", false, object{"type": "string"}, nil},
		{"customfield_10007", "Twin", false, object{"type": "string"}, nil},
	}
}

func (j *Jira) types(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("project") != "DEMO" {
		answer(w, http.StatusNotFound, object{"errorMessages": []string{"No project could be found with key '" + r.PathValue("project") + "'."}, "errors": object{}})
		return
	}
	paged(w, r, []object{{"id": "10001", "name": "Task"}, {"id": "10002", "name": "Bug"}})
}

// paged answers a part of a list, small ones so that paging is needed.
func paged[T any](w http.ResponseWriter, r *http.Request, list []T) {
	from, err := strconv.Atoi(r.URL.Query().Get("startAt"))
	if err != nil || from > len(list) {
		from = 0
	}
	part := list[from:min(from+3, len(list))]
	answer(w, http.StatusOK, object{"maxResults": 3, "startAt": from, "total": len(list), "isLast": from+3 >= len(list), "values": part})
}

func (j *Jira) createMeta(w http.ResponseWriter, r *http.Request) { paged(w, r, jiraFields()) }

func (j *Jira) create(w http.ResponseWriter, r *http.Request) {
	fields, ok := j.accepted(w, r)
	if !ok {
		return
	}
	if fields["summary"] == nil {
		answer(w, http.StatusBadRequest, object{"errorMessages": []string{}, "errors": object{"summary": "You must specify a summary of the issue."}})
		return
	}
	key := j.add(fields)
	answer(w, http.StatusCreated, object{"id": "10100", "key": key, "self": j.URL + "/rest/api/2/issue/10100"})
}

// accepted reads fields, each in the shape that its type has.
func (j *Jira) accepted(w http.ResponseWriter, r *http.Request) (object, bool) {
	var body struct{ Fields object }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		answer(w, http.StatusBadRequest, object{"errorMessages": []string{err.Error()}})
		return nil, false
	}
	wrong := object{}
	out := object{}
	for id, v := range body.Fields {
		known := false
		for _, f := range jiraFields() {
			if f.ID != id {
				continue
			}
			known = true
			if stored, ok := f.accepts(v); ok {
				out[id] = stored
			} else {
				wrong[id] = "data was not of the type " + fmt.Sprint(f.Schema["type"])
			}
		}
		if !known {
			wrong[id] = "Field '" + id + "' cannot be set. It is not on the appropriate screen, or unknown."
		}
	}
	if len(wrong) > 0 {
		answer(w, http.StatusBadRequest, object{"errorMessages": []string{}, "errors": wrong})
		return nil, false
	}
	return out, true
}

// accepts gives a value as Jira shows it afterwards.
func (f jiraField) accepts(v any) (any, bool) {
	switch f.Schema["type"] {
	case "string", "date":
		_, ok := v.(string)
		return v, ok
	case "number":
		_, ok := v.(float64)
		return v, ok
	case "project":
		m, ok := v.(object)
		return v, ok && m["key"] == "DEMO"
	case "issuetype":
		m, ok := v.(object)
		return v, ok && m["id"] == "10001"
	case "array":
		list, ok := v.([]any)
		if f.Schema["items"] == "string" {
			return v, ok
		}
		var stored []any
		for _, item := range list {
			s, fine := f.option(item)
			stored, ok = append(stored, s), ok && fine
		}
		return stored, ok
	case "priority", "option", "option-with-child":
		return f.option(v)
	}
	return nil, false
}

func (f jiraField) option(v any) (any, bool) {
	m, ok := v.(object)
	if !ok {
		return nil, false
	}
	for _, a := range f.Allowed {
		if a["id"] != m["id"] {
			continue
		}
		stored := object{"id": a["id"]}
		for _, key := range []string{"name", "value"} {
			if a[key] != nil {
				stored[key] = a[key]
			}
		}
		if child, ok := m["child"].(object); ok {
			children, _ := a["children"].([]object)
			for _, c := range children {
				if c["id"] == child["id"] {
					stored["child"] = c
				}
			}
		}
		return stored, true
	}
	return nil, false
}

func (j *Jira) withIssue(serve func(w http.ResponseWriter, r *http.Request, fields object)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fields, ok := j.issues[r.PathValue("key")]
		if !ok {
			answer(w, http.StatusNotFound, object{"errorMessages": []string{"Issue does not exist or you do not have permission to see it."}, "errors": object{}})
			return
		}
		serve(w, r, fields)
	}
}

func (j *Jira) read(w http.ResponseWriter, r *http.Request, fields object) {
	doc := object{"id": "10100", "key": r.PathValue("key"), "self": j.URL + r.URL.Path, "fields": fields}
	if r.URL.Query().Get("expand") == "names" {
		names := object{"status": "Status", "comment": "Comment"}
		for _, f := range jiraFields() {
			names[f.ID] = f.Name
		}
		doc["names"] = names
	}
	answer(w, http.StatusOK, doc)
}

func (j *Jira) edit(w http.ResponseWriter, r *http.Request, fields object) {
	changed, ok := j.accepted(w, r)
	if !ok {
		return
	}
	for id, v := range changed {
		fields[id] = v
	}
	w.WriteHeader(http.StatusNoContent)
}

func (j *Jira) editMeta(w http.ResponseWriter, _ *http.Request, _ object) {
	meta := object{}
	for _, f := range jiraFields() {
		if f.ID == "project" || f.ID == "issuetype" {
			continue
		}
		meta[f.ID] = object{"name": f.Name, "required": f.Required, "schema": f.Schema, "allowedValues": f.Allowed, "operations": []string{"set"}}
	}
	answer(w, http.StatusOK, object{"fields": meta})
}

// ways are the transitions from a status.
func ways(status any) []object {
	all := map[any][]object{
		"To Do":       {{"id": "11", "name": "Start", "to": object{"name": "In Progress"}}},
		"In Progress": {{"id": "21", "name": "Stop", "to": object{"name": "To Do"}}, {"id": "31", "name": "Resolve", "to": object{"name": "Done"}}, {"id": "32", "name": "Close", "to": object{"name": "Done"}}},
		"Done":        {},
	}
	return all[status]
}

func statusOf(fields object) any { return fields["status"].(object)["name"] }

func (j *Jira) transitions(w http.ResponseWriter, _ *http.Request, fields object) {
	answer(w, http.StatusOK, object{"expand": "transitions", "transitions": ways(statusOf(fields))})
}

func (j *Jira) move(w http.ResponseWriter, r *http.Request, fields object) {
	var body struct{ Transition struct{ ID string } }
	_ = json.NewDecoder(r.Body).Decode(&body) // what it isn't is refused below
	for _, t := range ways(statusOf(fields)) {
		if t["id"] == body.Transition.ID {
			fields["status"] = t["to"]
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	answer(w, http.StatusBadRequest, object{"errorMessages": []string{"It seems that you have tried to perform a workflow operation that is not valid for the current state of this issue."}, "errors": object{}})
}
