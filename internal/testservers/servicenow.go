package testservers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// ServiceNow is a ServiceNow with the tables incident, change_request and
// change_task, whose columns are number, short_description, state, priority,
// start_date, end_date, change_request and change_task_type, with the template
// "Deployment" of incidents, and with the staging table u_deployments, whose
// transform map "Deployments" wants a u_name.
//
// Source: "REST API reference", Table API and Import Set API.
type ServiceNow struct {
	base
	tables map[string][]object // rows of stored values
}

// NewServiceNow starts a ServiceNow.
func NewServiceNow(tb testing.TB) *ServiceNow {
	tb.Helper()
	s := &ServiceNow{tables: map[string][]object{
		"incident": nil, "change_request": nil, "change_task": nil, "sys_user": nil,
		"sys_template": {{"sys_id": "tmpl1", "name": "Deployment", "table": "incident", "template": "short_description=Deploy a^^b^priority=2^EQ"}},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/now/table/{table}", s.withTable(s.query))
	mux.HandleFunc("POST /api/now/table/{table}", s.withTable(s.insert))
	mux.HandleFunc("PATCH /api/now/table/{table}/{id}", s.withTable(s.patch))
	mux.HandleFunc("POST /api/now/import/u_deployments", s.load)
	s.start(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !authorized(r) {
			answer(w, http.StatusUnauthorized, object{"error": object{"message": "User Not Authenticated", "detail": "Required to provide Auth information"}, "status": "failure"})
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return s
}

// Add puts a row into a table and gives its number.
func (s *ServiceNow) Add(table string, row map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(table, row)["number"].(string)
}

// Row is a row by its number.
func (s *ServiceNow) Row(table, number string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range s.tables[table] {
		if row["number"] == number {
			return row
		}
	}
	return nil
}

func (s *ServiceNow) add(table string, row object) object {
	prefix := map[string]string{"incident": "INC", "change_request": "CHG", "change_task": "CTASK"}[table]
	n := len(s.tables[table]) + 1
	row["number"], row["sys_id"] = fmt.Sprintf("%s%07d", prefix, n), fmt.Sprintf("%s%d", table, n)
	if row["state"] == nil {
		row["state"] = "1"
	}
	s.tables[table] = append(s.tables[table], row)
	return row
}

func columns() []string {
	return strings.Fields("number sys_id short_description state priority start_date end_date change_request change_task_type name table template")
}

// view is a row with display values, all as text.
func view(row object) object {
	states := map[any]string{"1": "New", "2": "In Progress", "7": "Closed"}
	out := object{}
	for _, c := range columns() {
		value, _ := row[c].(string)
		display := value
		if c == "state" {
			display = states[value]
		}
		out[c] = object{"value": value, "display_value": display}
	}
	return out
}

func (s *ServiceNow) withTable(serve func(w http.ResponseWriter, r *http.Request, table string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		table := r.PathValue("table")
		if _, ok := s.tables[table]; !ok {
			answer(w, http.StatusBadRequest, object{"error": object{"message": "Invalid table " + table, "detail": nil}, "status": "failure"})
			return
		}
		serve(w, r, table)
	}
}

func (s *ServiceNow) query(w http.ResponseWriter, r *http.Request, table string) {
	found := []object{}
	for _, row := range s.tables[table] {
		matches := true
		for _, condition := range strings.Split(r.URL.Query().Get("sysparm_query"), "^") {
			column, value, _ := strings.Cut(condition, "=")
			matches = matches && row[column] == value
		}
		if matches {
			found = append(found, view(row))
		}
	}
	answer(w, http.StatusOK, object{"result": found})
}

// set changes a row. Columns that there aren't are ignored, as documented.
func set(w http.ResponseWriter, r *http.Request, row object) bool {
	var body map[string]string
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		answer(w, http.StatusBadRequest, object{"error": object{"message": "Exception while reading request", "detail": err.Error()}, "status": "failure"})
		return false
	}
	for _, c := range columns() {
		if v, ok := body[c]; ok {
			row[c] = v
		}
	}
	return true
}

func (s *ServiceNow) insert(w http.ResponseWriter, r *http.Request, table string) {
	row := object{}
	if set(w, r, row) {
		answer(w, http.StatusCreated, object{"result": view(s.add(table, row))})
	}
}

func (s *ServiceNow) patch(w http.ResponseWriter, r *http.Request, table string) {
	for _, row := range s.tables[table] {
		if row["sys_id"] == r.PathValue("id") {
			if set(w, r, row) {
				answer(w, http.StatusOK, object{"result": view(row)})
			}
			return
		}
	}
	answer(w, http.StatusNotFound, object{"error": object{"message": "No Record found", "detail": "Record doesn't exist or ACL restricts the record retrieval"}, "status": "failure"})
}

func (s *ServiceNow) load(w http.ResponseWriter, r *http.Request) {
	var row object
	if err := json.NewDecoder(r.Body).Decode(&row); err != nil {
		answer(w, http.StatusBadRequest, object{"error": object{"message": err.Error()}, "status": "failure"})
		return
	}
	result := object{"transform_map": "Deployments", "table": "cmdb_ci", "status": "inserted", "display_name": "name", "display_value": row["u_name"], "record_link": s.URL + "/api/now/table/cmdb_ci/1", "sys_id": "1"}
	if row["u_name"] == nil {
		result = object{"transform_map": "Deployments", "table": "cmdb_ci", "status": "error", "error_message": "u_name is mandatory"}
	}
	answer(w, http.StatusCreated, object{"import_set": "ISET0010001", "staging_table": "u_deployments", "result": []object{result}})
}
