// Package jenkins runs jobs of Jenkins over its remote access API and follows
// their builds: the queue, the console's text and the result
// (semantics/pipeline §7.12).
//
// A build whose task is cancelled or out of time is stopped. One whose
// delegate ends goes on in Jenkins; nobody follows it any more.
package jenkins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The command units of the log.
const (
	Unit    = "Execute"
	Console = "Console" // what the build prints
)

// New makes the executor. Requests are sent over t; nil is a transport with
// net/http's defaults.
func New(t http.RoundTripper) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		p, err := executor.Payload[task.Jenkins](a)
		if err != nil {
			return task.Result{}, err
		}
		j := &session{client: restapi.New(p.Server, t), env: env, task: p, job: JobPath(p.Job)}
		r, err := j.run(ctx)
		if err != nil {
			fmt.Fprintln(env.LogError(Unit), err)
			j.stop(ctx)
			return executor.Fail(fault.Failures(err), "%s", err), nil
		}
		return r, nil
	}
}

// session is one run of a job.
type session struct {
	client *restapi.Client
	env    executor.Env
	task   task.Jenkins
	job    string // the job's path
	item   int    // in the queue; 0: not there yet
	number int    // the build's; 0: not begun yet
	read   int64  // bytes of the console
}

func (j *session) logf(format string, args ...any) {
	fmt.Fprintf(j.env.Log(Unit), format+"\n", args...)
}

// JobPath is the path of a job in folders: /job/team/job/deploy.
func JobPath(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		b.WriteString("/job/" + url.PathEscape(part))
	}
	return b.String()
}

func (j *session) run(ctx context.Context) (task.Result, error) {
	if err := j.enqueue(ctx); err != nil {
		return task.Result{}, err
	}
	for j.number == 0 {
		if err := j.leaveQueue(ctx); err != nil {
			return task.Result{}, err
		}
	}
	for {
		b, err := j.look(ctx)
		if err != nil {
			return task.Result{}, err
		}
		if !b.Building {
			return j.result(ctx, b)
		}
		if err := wait(ctx, j.task.Every); err != nil {
			return task.Result{}, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// queueItem finds the number in the address of a queue's item. Only that
// counts: Jenkins may know itself by another address than the connector.
var queueItem = regexp.MustCompile(`/queue/item/(\d+)/?$`)

// enqueue asks for a build.
func (j *session) enqueue(ctx context.Context) error {
	header, err := j.crumb(ctx)
	if err != nil {
		return err
	}
	form := url.Values{}
	for _, p := range j.task.Parameters {
		form.Set(p.Name, p.Value)
	}
	path := j.job + "/build"
	parameterized, err := j.parameterized(ctx)
	switch {
	case err != nil:
		return err
	case parameterized:
		path = j.job + "/buildWithParameters"
	case len(form) > 0:
		return fault.New(fault.Invalid, "job %s takes no parameters; found %d", j.task.Job, len(form))
	}
	a, err := j.client.Do(ctx, restapi.Request{Method: http.MethodPost, Path: path, Form: form, Header: header})
	if err != nil {
		return err
	}
	m := queueItem.FindStringSubmatch(a.Header.Get("Location"))
	if m == nil {
		return fault.New(fault.Unavailable, "Jenkins doesn't say where the build is queued: status %d, location %q", a.Status, a.Header.Get("Location")).Causing(fault.Unknown)
	}
	j.item, err = strconv.Atoi(m[1])
	j.logf("Queued job %s as item %d", j.task.Job, j.item)
	return err
}

// crumb is what proves that a request isn't forged, if Jenkins wants that. API
// tokens need none; passwords do, within a session.
func (j *session) crumb(ctx context.Context) (http.Header, error) {
	var c struct{ CrumbRequestField, Crumb string }
	err := j.client.Get(ctx, "/crumbIssuer/api/json", nil, &c)
	var s *restapi.StatusError
	if errors.As(err, &s) && s.Status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	header.Set(c.CrumbRequestField, c.Crumb)
	return header, nil
}

// parameterized says whether the job has parameters. Each that isn't given
// has its default.
func (j *session) parameterized(ctx context.Context) (bool, error) {
	var job struct {
		Property []struct {
			ParameterDefinitions []struct{ Name string }
		}
	}
	err := j.client.Get(ctx, j.job+"/api/json", url.Values{"tree": {"property[parameterDefinitions[name]]"}}, &job)
	for _, p := range job.Property {
		if len(p.ParameterDefinitions) > 0 {
			return true, err
		}
	}
	return false, err
}

// leaveQueue looks whether the build has begun, and waits if it hasn't.
func (j *session) leaveQueue(ctx context.Context) error {
	var item struct {
		Why        string
		Cancelled  bool
		Executable *struct{ Number int }
	}
	if err := j.client.Get(ctx, fmt.Sprintf("/queue/item/%d/api/json", j.item), nil, &item); err != nil {
		return err
	}
	switch {
	case item.Cancelled:
		return fault.New(fault.Conflict, "somebody cancelled item %d of the queue", j.item)
	case item.Executable != nil:
		j.number = item.Executable.Number
		j.logf("Build %d has begun", j.number)
		return nil
	}
	if item.Why != "" {
		j.logf("Waiting: %s", item.Why)
	}
	return wait(ctx, j.task.Every)
}

// build is what Jenkins says of a build.
type build struct {
	Number          int
	URL             string
	Building        bool
	Result          string // SUCCESS, UNSTABLE, FAILURE, NOT_BUILT or ABORTED
	DisplayName     string
	FullDisplayName string
}

func (j *session) path() string { return fmt.Sprintf("%s/%d", j.job, j.number) }

// look reads how the build does and what it has printed since. The state is
// read first: when it says that the build has ended, all that it printed is
// there.
func (j *session) look(ctx context.Context) (build, error) {
	var b build
	tree := url.Values{"tree": {"number,url,building,result,displayName,fullDisplayName"}}
	if err := j.client.Get(ctx, j.path()+"/api/json", tree, &b); err != nil {
		return build{}, err
	}
	for {
		more, err := j.console(ctx)
		if err != nil || !more || b.Building {
			return b, err
		}
	}
}

// console copies a part of the console's text to the log; true if there was
// one.
func (j *session) console(ctx context.Context) (bool, error) {
	a, err := j.client.Do(ctx, restapi.Request{
		Method: http.MethodGet, Path: j.path() + "/logText/progressiveText", Query: url.Values{"start": {strconv.FormatInt(j.read, 10)}},
	})
	if err != nil {
		return false, err
	}
	size, err := strconv.ParseInt(a.Header.Get("X-Text-Size"), 10, 64)
	if err != nil || size <= j.read {
		return false, nil
	}
	j.read = size
	_, err = j.env.Log(Console).Write(a.Body)
	return len(a.Body) > 0, err
}

// result makes the task's result of a build that has ended.
func (j *session) result(ctx context.Context, b build) (task.Result, error) {
	doc, err := json.Marshal(map[string]any{"build": map[string]any{
		"executionStatus": b.Result, "jobUrl": b.URL, "buildNumber": b.Number, "buildDisplayName": b.DisplayName,
		"buildFullDisplayName": b.FullDisplayName, "envVars": j.environment(ctx),
	}})
	if err != nil {
		return task.Result{}, fmt.Errorf("encode the outputs: %w", err)
	}
	j.logf("Build %d ended as %s: %s", b.Number, b.Result, b.URL)
	if b.Result == "SUCCESS" || b.Result == "UNSTABLE" && j.task.Unstable {
		return task.Result{Status: task.Succeeded, Outputs: doc}, nil
	}
	r := executor.Fail([]fault.FailureType{fault.Unknown}, "build %d of job %s ended as %s", b.Number, j.task.Job, b.Result)
	r.Outputs = doc
	return r, nil
}

// environment is the build's environment, which Jenkins tells where it has
// the plugin EnvInject; else it is empty.
func (j *session) environment(ctx context.Context) map[string]string {
	var out struct{ EnvMap map[string]string }
	err := j.client.Get(ctx, j.path()+"/injectedEnvVars/api/json", nil, &out)
	if err != nil || out.EnvMap == nil {
		return map[string]string{}
	}
	return out.EnvMap
}

// stopFor bounds the time in which a build is told to stop.
const stopFor = 20 * time.Second

// stop stops the build, or takes it out of the queue, if nobody wants it any
// more.
func (j *session) stop(ctx context.Context) {
	cause := context.Cause(ctx)
	if j.item == 0 || !errors.Is(cause, executor.ErrCancelled) && !errors.Is(cause, executor.ErrTimeout) {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
	defer done()
	r := restapi.Request{Method: http.MethodPost, Path: "/queue/cancelItem", Form: url.Values{"id": {strconv.Itoa(j.item)}}}
	if j.number != 0 {
		r.Path, r.Form = j.path()+"/stop", url.Values{}
	}
	var err error
	if r.Header, err = j.crumb(ctx); err == nil {
		_, err = j.client.Do(ctx, r)
	}
	if err != nil {
		fmt.Fprintf(j.env.LogError(Unit), "The build couldn't be stopped: %v\n", err)
		return
	}
	j.logf("Stopped the build")
}
