// Package jira makes, changes and reads issues of Jira over its REST API,
// version 2, which Jira Cloud and Jira Data Center share
// (semantics/pipeline §7.9).
//
// It does one thing with one issue and gives the issue as it is afterwards.
// What approves or rejects is pkg/step/criteria's.
package jira

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
)

// Unit is the command unit of the log.
const Unit = "Execute"

const api = "/rest/api/2"

// New makes the executor. Requests are sent over t; nil is a transport with
// net/http's defaults.
func New(t http.RoundTripper) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		p, err := executor.Payload[tracker.Jira](a)
		if err != nil {
			return task.Result{}, err
		}
		j := &session{client: restapi.New(p.Server, t), env: env}
		key, err := j.do(ctx, p)
		if err != nil {
			return j.failed(err)
		}
		return j.result(ctx, key)
	}
}

// session is one task's dealings with one Jira.
type session struct {
	client *restapi.Client
	env    executor.Env
}

func (j *session) logf(format string, args ...any) {
	fmt.Fprintf(j.env.Log(Unit), format+"\n", args...)
}

// do does what is asked for and gives the key of the issue.
func (j *session) do(ctx context.Context, p tracker.Jira) (string, error) {
	switch p.Op {
	case tracker.JiraCreate:
		return j.create(ctx, p)
	case tracker.JiraUpdate:
		return p.Issue, j.update(ctx, p)
	case tracker.JiraRead:
		return p.Issue, nil
	}
	return "", fault.New(fault.Unsupported, "the operation %q isn't known to this delegate", p.Op)
}

// failed says why in the log too. The server's "no" is a failure, anything
// else means that nobody knows.
func (j *session) failed(err error) (task.Result, error) {
	fmt.Fprintln(j.env.LogError(Unit), err)
	return executor.Fail(fault.Failures(err), "%s", err), nil
}

// create makes an issue.
func (j *session) create(ctx context.Context, p tracker.Jira) (string, error) {
	kind, err := j.issueType(ctx, p.Project, p.IssueType)
	if err != nil {
		return "", err
	}
	known, err := j.createFields(ctx, p.Project, kind)
	if err != nil {
		return "", err
	}
	fields, err := encode(p.Fields, known, fmt.Sprintf("issues of type %s in project %s", p.IssueType, p.Project))
	if err != nil {
		return "", err
	}
	fields["project"] = map[string]string{"key": p.Project}
	fields["issuetype"] = map[string]string{"id": kind}
	var made struct{ Key string }
	err = j.client.JSON(ctx, restapi.Request{Method: http.MethodPost, Path: api + "/issue", JSON: map[string]any{"fields": fields}}, &made)
	if err == nil {
		j.logf("Created %s: %s", made.Key, j.link(made.Key))
	}
	return made.Key, err
}

// update sets fields, then moves the issue to another status.
func (j *session) update(ctx context.Context, p tracker.Jira) error {
	if len(p.Fields) > 0 {
		known, err := j.editFields(ctx, p.Issue)
		if err != nil {
			return err
		}
		fields, err := encode(p.Fields, known, "issue "+p.Issue)
		if err != nil {
			return err
		}
		r := restapi.Request{Method: http.MethodPut, Path: issuePath(p.Issue), JSON: map[string]any{"fields": fields}}
		if err := j.client.JSON(ctx, r, nil); err != nil {
			return err
		}
		j.logf("Set %d fields of %s", len(fields), p.Issue)
	}
	if p.Status == "" {
		return nil
	}
	return j.transition(ctx, p)
}

func issuePath(key string) string { return api + "/issue/" + url.PathEscape(key) }

// link is where people look at an issue.
func (j *session) link(key string) string { return j.client.URL() + "/browse/" + url.PathEscape(key) }

// transition moves an issue to a status. One that is there already stays.
func (j *session) transition(ctx context.Context, p tracker.Jira) error {
	var list struct {
		Transitions []struct {
			ID, Name string
			To       struct{ Name string }
		}
	}
	if err := j.client.Get(ctx, issuePath(p.Issue)+"/transitions", nil, &list); err != nil {
		return err
	}
	var possible []string
	for _, t := range list.Transitions {
		possible = append(possible, fmt.Sprintf("%q to %q", t.Name, t.To.Name))
		if !strings.EqualFold(t.To.Name, p.Status) || p.Transition != "" && !strings.EqualFold(t.Name, p.Transition) {
			continue
		}
		body := map[string]any{"transition": map[string]string{"id": t.ID}}
		err := j.client.JSON(ctx, restapi.Request{Method: http.MethodPost, Path: issuePath(p.Issue) + "/transitions", JSON: body}, nil)
		if err == nil {
			j.logf("Moved %s to %s by %q", p.Issue, t.To.Name, t.Name)
		}
		return err
	}
	var now struct {
		Fields struct{ Status struct{ Name string } }
	}
	if err := j.client.Get(ctx, issuePath(p.Issue), url.Values{"fields": {"status"}}, &now); err != nil {
		return err
	}
	if strings.EqualFold(now.Fields.Status.Name, p.Status) {
		j.logf("%s has the status %s already", p.Issue, now.Fields.Status.Name)
		return nil
	}
	want := fmt.Sprintf("no transition leads from status %q to %q", now.Fields.Status.Name, p.Status)
	if p.Transition != "" {
		want = fmt.Sprintf("no transition %q leads from status %q to %q", p.Transition, now.Fields.Status.Name, p.Status)
	}
	return fault.New(fault.Invalid, "issue %s: %s; there are %s", p.Issue, want, orNone(possible)).Causing(fault.Unknown)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// result reads the issue for the outputs.
func (j *session) result(ctx context.Context, key string) (task.Result, error) {
	var doc issue
	if err := j.client.Get(ctx, issuePath(key), url.Values{"expand": {"names"}}, &doc); err != nil {
		return j.failed(err)
	}
	out := doc.outputs(j.link(doc.Key))
	if status, ok := out["Status"].(string); ok {
		j.logf("%s has the status %s", doc.Key, status)
	}
	outputs, err := json.Marshal(map[string]any{"issue": out})
	if err != nil {
		return task.Result{}, fmt.Errorf("encode the outputs: %w", err)
	}
	return task.Result{Status: task.Succeeded, Outputs: outputs}, nil
}
