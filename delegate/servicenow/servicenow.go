// Package servicenow makes, changes and reads tickets of ServiceNow over its
// Table API, and imports rows over its Import Set API
// (semantics/pipeline §7.9).
//
// It does one thing with one ticket and gives the ticket as it is afterwards.
// What approves or rejects is pkg/step/criteria's.
package servicenow

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
)

// Unit is the command unit of the log.
const Unit = "Execute"

// New makes the executor. Requests are sent over t; nil is a transport with
// net/http's defaults.
func New(t http.RoundTripper) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		p, err := executor.Payload[tracker.ServiceNow](a)
		if err != nil {
			return task.Result{}, err
		}
		s := &session{client: restapi.New(p.Server, t), env: env}
		r, err := s.do(ctx, p)
		if err != nil {
			fmt.Fprintln(env.LogError(Unit), err)
			return executor.Fail(fault.Failures(err), "%s", err), nil
		}
		return r, nil
	}
}

// session is one task's dealings with one ServiceNow.
type session struct {
	client *restapi.Client
	env    executor.Env
}

func (s *session) logf(format string, args ...any) {
	fmt.Fprintf(s.env.Log(Unit), format+"\n", args...)
}

func (s *session) do(ctx context.Context, p tracker.ServiceNow) (task.Result, error) {
	if p.Op == tracker.ServiceNowImport {
		return s.load(ctx, p)
	}
	var ticket record
	var err error
	switch p.Op {
	case tracker.ServiceNowCreate:
		ticket, err = s.create(ctx, p)
	case tracker.ServiceNowUpdate:
		ticket, err = s.update(ctx, p)
	case tracker.ServiceNowRead:
		if ticket, err = s.find(ctx, p.Table, p.Ticket); err == nil {
			s.logf("%s has the state %s", p.Ticket, ticket["state"].Display)
		}
	default:
		err = fault.New(fault.Unsupported, "the operation %q isn't known to this delegate", p.Op)
	}
	if err != nil {
		return task.Result{}, err
	}
	return ticket.result(s.link(p.Table, ticket))
}

// link is where people look at a record.
func (s *session) link(table string, r record) string {
	return s.client.URL() + "/nav_to.do?uri=" + url.QueryEscape(table+".do?sys_id="+r["sys_id"].Value)
}

func tablePath(table string) string { return "/api/now/table/" + url.PathEscape(table) }

// shown asks for what people see beside what is stored.
func shown() url.Values { return url.Values{"sysparm_display_value": {"all"}} }

// create makes a ticket.
func (s *session) create(ctx context.Context, p tracker.ServiceNow) (record, error) {
	fields, err := s.fields(ctx, p)
	if err != nil {
		return nil, err
	}
	var made struct{ Result record }
	r := restapi.Request{Method: http.MethodPost, Path: tablePath(p.Table), Query: shown(), JSON: fields}
	if err := s.client.JSON(ctx, r, &made); err != nil {
		return nil, err
	}
	s.logf("Created %s: %s", made.Result["number"].Value, s.link(p.Table, made.Result))
	s.ignored(p.Table, fields, made.Result)
	return made.Result, nil
}

// update changes a ticket, or the tasks of a change request.
func (s *session) update(ctx context.Context, p tracker.ServiceNow) (record, error) {
	fields, err := s.fields(ctx, p)
	if err != nil {
		return nil, err
	}
	ticket, err := s.find(ctx, p.Table, p.Ticket)
	if err != nil || !p.ChangeTasks {
		if err == nil {
			ticket, err = s.patch(ctx, p.Table, ticket, fields)
		}
		return ticket, err
	}
	query := "change_request=" + ticket["sys_id"].Value
	if p.TaskType != "" {
		if err := plain("changeTaskType", p.TaskType); err != nil {
			return nil, err
		}
		query += "^change_task_type=" + p.TaskType
	}
	tasks, err := s.records(ctx, changeTask, query)
	if err != nil {
		return nil, err
	}
	if len(tasks) == 0 {
		return nil, fault.New(fault.NotFound, "change request %s has no tasks of type %q", p.Ticket, p.TaskType).Causing(fault.Unknown)
	}
	for _, t := range tasks {
		if _, err := s.patch(ctx, changeTask, t, fields); err != nil {
			return nil, err
		}
	}
	return ticket, nil
}

// changeTask is the table of the tasks of change requests.
const changeTask = "change_task"

func (s *session) patch(ctx context.Context, table string, r record, fields map[string]string) (record, error) {
	var changed struct{ Result record }
	req := restapi.Request{
		Method: http.MethodPatch, Path: tablePath(table) + "/" + url.PathEscape(r["sys_id"].Value), Query: shown(), JSON: fields,
	}
	if err := s.client.JSON(ctx, req, &changed); err != nil {
		return nil, err
	}
	s.logf("Set %d fields of %s", len(fields), changed.Result["number"].Value)
	s.ignored(table, fields, changed.Result)
	return changed.Result, nil
}

// ignored tells of fields that ServiceNow doesn't show afterwards: it says
// nothing of columns that it doesn't have.
func (s *session) ignored(table string, fields map[string]string, got record) {
	for name := range fields {
		if _, ok := got[name]; !ok {
			fmt.Fprintf(s.env.LogError(Unit), "Table %s shows no column %q: either it has none or it may not be read.\n", table, name)
		}
	}
}

// find finds a ticket by its number.
func (s *session) find(ctx context.Context, table, number string) (record, error) {
	if err := plain("ticketNumber", number); err != nil {
		return nil, err
	}
	found, err := s.records(ctx, table, "number="+number)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fault.New(fault.NotFound, "table %s has no ticket %s, or it may not be read", table, number).Causing(fault.Unknown)
	}
	return found[0], nil
}

// plain refuses what would be more than a value in an encoded query.
func plain(key, text string) error {
	if text == "" || strings.ContainsAny(text, "^=\n") {
		return fault.New(fault.Invalid, "%s is %q; want a text without ^ and =", key, text)
	}
	return nil
}

// most is how many records one query gives.
const most = 200

func (s *session) records(ctx context.Context, table, query string) ([]record, error) {
	values := shown()
	values.Set("sysparm_query", query)
	values.Set("sysparm_limit", fmt.Sprint(most))
	var out struct{ Result []record }
	if err := s.client.Get(ctx, tablePath(table), values, &out); err != nil {
		return nil, err
	}
	return out.Result, nil
}

// fields are what is to be set: the template's, and over them the step's.
func (s *session) fields(ctx context.Context, p tracker.ServiceNow) (map[string]string, error) {
	fields := map[string]string{}
	if p.Template != "" {
		if err := plain("templateName", p.Template); err != nil {
			return nil, err
		}
		table := p.Table
		if p.ChangeTasks {
			table = changeTask
		}
		found, err := s.records(ctx, "sys_template", "name="+p.Template+"^table="+table)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fault.New(fault.NotFound, "table %s has no template %q", table, p.Template).Causing(fault.ConfigurationFailure, fault.Unknown)
		}
		fields = encoded(found[0]["template"].Value)
	}
	for _, f := range p.Fields {
		fields[f.Name] = f.Value
	}
	return fields, nil
}

// encoded reads a template: fields with their values between ^, where ^^ is a
// ^ that is meant, and EQ is the end.
func encoded(text string) map[string]string {
	const literal = "\x00"
	out := map[string]string{}
	parts := strings.Split(strings.ReplaceAll(text, "^^", literal), "^")
	for _, part := range slices.DeleteFunc(parts, func(p string) bool { return p == "EQ" || p == "" }) {
		name, value, ok := strings.Cut(part, "=")
		if ok {
			out[name] = strings.ReplaceAll(value, literal, "^")
		}
	}
	return out
}
